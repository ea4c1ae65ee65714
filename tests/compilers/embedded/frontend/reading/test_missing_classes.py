"""Classes that are found in other files and folders, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.compilers.embedded.frontend.reading.names import Names
from fmident.compilers.embedded.frontend.reading.rumoca import diagnose
from fmident.compilers.sources import read_tree
from fmident.errors import CompilationError, Location

from ..refusals import refused


def test_missing_class_names_the_nearest(tmp_path: Path) -> None:
    source = "package L\n  model MassSpring\n    Real x = 1;\n  end MassSpring;\nend L;\n"
    found = refused(tmp_path / "L.mo", source, "L.MasSpring").diagnostics[0]
    assert found.rule == "missing-class"
    assert found.hint is not None
    assert "'L.MassSpring'" in found.hint


def test_a_broken_file_beside_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "other.mo").write_text("model M\n  this is not Modelica\nend M;\n")
    file = tmp_path / "M.mo"
    file.write_text("model M\n  output Real y = time;\nend M;\n")
    model, _ = load_model("M", [file])
    assert [v.name for v in model.outputs] == ["y"]


def test_error_in_a_package_of_folders_names_the_file(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Good.mo").write_text("within Lib;\nmodel Good\n  Real x = 1;\nend Good;\n")
    (package / "Bad.mo").write_text(
        "within Lib;\nmodel Bad\n  Real x = 1;\n  output Real y = delay(x, 0.5);\nend Bad;\n"
    )
    load_model("Lib.Good", [package])
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.Bad", [package])
    place = caught.value.diagnostics[0].location
    assert place is not None
    assert (place.file, place.line, place.column) == (str(package / "Bad.mo"), 4, 19)


def test_model_in_a_file_uses_a_package(tmp_path: Path) -> None:
    package = tmp_path / "Lib"
    package.mkdir()
    (package / "package.mo").write_text("package Lib\nend Lib;\n")
    (package / "Lag.mo").write_text(
        "within Lib;\nmodel Lag\n  parameter Real T = 2;\n  Real x;\nequation\n  T*der(x) = -x;\n"
        "end Lag;\n"
    )
    file = tmp_path / "User.mo"
    file.write_text("model User\n  extends Lib.Lag(T=3);\n  output Real y = x;\nend User;\n")
    model, _ = load_model("User", [file, package])
    assert {v.name: v.start for v in model.parameters} == {"T": 3.0}


@pytest.mark.parametrize("statement", ["R = Modelica.Mechanics.MultiBody", "Modelica.Fluid.*"])
def test_an_import_of_the_standard_library_is_told_once(tmp_path: Path, statement: str) -> None:
    name = "R" if "=" in statement else "Rotational"
    source = f"model M\n  import {statement};\n  {name}.A a;\n  {name}.B b;\nend M;\n"
    (found, *_) = refused(tmp_path / "M.mo", source).diagnostics
    assert found.rule == "unsupported-msl"
    assert found.location is not None
    assert found.location.line == 2
    assert found.hint is not None
    assert "MODELICAPATH" in found.hint


def test_a_class_that_the_stand_in_lacks_is_of_the_standard_library(tmp_path: Path) -> None:
    source = (
        "model M\n  import R = Modelica.Mechanics.Rotational;\n  R.Components.Brake b;\nend M;\n"
    )
    (found, *_) = refused(tmp_path / "M.mo", source).diagnostics
    assert found.rule == "unsupported-msl"
    assert "MODELICAPATH" in (found.hint or "")


def test_an_older_standard_library_is_named(tmp_path: Path) -> None:
    library = tmp_path / "Modelica"
    library.mkdir()
    text = 'package Modelica annotation(version="3.2.3"); end Modelica;'
    (library / "package.mo").write_text(text)
    file = tmp_path / "M.mo"
    file.write_text("model M\n  Modelica.Units.SI.Mass a;\n  Modelica.Units.SI.Length b;\nend M;\n")
    with pytest.raises(CompilationError) as caught:
        load_model("M", [file, library])
    assert [d.rule for d in caught.value.diagnostics] == ["unsupported-msl"] * 2
    assert str(caught.value).count("this is version 3.2.3: get the Modelica Standard Library") == 1


@pytest.mark.parametrize(("error", "panic"), [("", False), ("index out of bounds", True)])
def test_what_is_compiled_is_named_when_rumoca_says_nothing_of_it(
    tmp_path: Path, error: str, panic: bool
) -> None:
    file = tmp_path / "M.mo"
    file.write_text("model M\nend M;\n")
    tree = read_tree(file)
    (found,) = diagnose("M", error, [], tree, Names([tree]), panic=panic)
    assert "'M'" in found.message
    assert found.location == Location(str(file), 1, 7)


def test_the_library_that_a_library_lacks_is_named_first(tmp_path: Path) -> None:
    """Not what follows from it, in the depth of a library that the user did not write."""
    library = tmp_path / "Lib"
    library.mkdir()
    (library / "package.mo").write_text(
        'package Lib\n  annotation(uses(Machine(version="1.0")));\nend Lib;\n'
    )
    (library / "Numbers.mo").write_text(
        "within Lib;\npackage Numbers\n  constant Real a = Machine.a;\n"
        "  constant Real b = Machine.b;\nend Numbers;\n"
    )
    file = tmp_path / "M.mo"
    file.write_text(
        "model M\n  parameter Real a = Lib.Numbers.a, b = Lib.Numbers.b;\n"
        "  output Real y = a + b;\nend M;\n"
    )
    with pytest.raises(CompilationError) as caught:
        load_model("M", [file, library])
    (found,) = caught.value.diagnostics
    assert found.rule == "missing-library"
    assert "'Lib' needs the library 'Machine'" in found.message
    assert found.location == Location(str(library / "package.mo"), 2, 19)


@pytest.mark.parametrize("folder", [False, True])
def test_an_unused_import_of_what_is_not_there_does_not_matter(
    tmp_path: Path, folder: bool
) -> None:
    text = (
        "{within}package Lib\n  import N = No.Such.Thing;\n  model M\n    import Other.Thing;\n"
        "    output Real y = x;\n  end M;\nend Lib;\n"
    )
    place = tmp_path / "Lib" / "package.mo" if folder else tmp_path / "Lib.mo"
    place.parent.mkdir(exist_ok=True)
    good = text.format(within="").replace("= x", "= time")
    place.write_text(good)
    model, _ = load_model("Lib.M", [place])
    assert [v.name for v in model.outputs] == ["y"]
    place.write_text(text.format(within=""))
    with pytest.raises(CompilationError) as caught:  # at its place in the user's own file
        load_model("Lib.M", [place])
    assert caught.value.diagnostics[0].location == Location(str(place), 5, 21)
    place.write_text(good.replace("y = time", "y = Thing.x"))
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.M", [place])
    assert caught.value.diagnostics[0].rule == "missing-class"


def test_consequences_of_a_missing_import_are_left_out(tmp_path: Path) -> None:
    source = "model M\n  import F = Foo.Bar;\n  F.A a;\n  Other.B b;\nend M;\n"
    found = refused(tmp_path / "M.mo", source).diagnostics
    assert [d.rule for d in found] == ["missing-class", "missing-class"]
    assert [d.location.line for d in found if d.location is not None] == [2, 4]
    assert "'Foo'" in (found[0].hint or "")


def test_library_that_no_annotation_names(tmp_path: Path) -> None:
    for name, text in (
        ("Units", 'package Units\n  type Mass = Real(unit="kg");\nend Units;\n'),
        ("Broken", "package Broken\n  this is not Modelica\nend Broken;\n"),
        ("Lib", "package Lib\nend Lib;\n"),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / "package.mo").write_text(text)
    (tmp_path / "Lib" / "M.mo").write_text(
        "within Lib;\nmodel M\n  import U = Units;\n  parameter U.Mass m = 2;\n"
        "  output Real y = m;\nend M;\n"
    )
    model, _ = load_model("Lib.M", [tmp_path / n for n in ("Lib", "Units", "Broken")])
    assert [v.unit for v in model.parameters] == ["kg"]
    (tmp_path / "Lib" / "M.mo").write_text(
        "within Lib;\nmodel M\n  parameter Units.Mass m = 2;\n  output Real y = m;\n"
        "equation\n  y = 2*m;\nend M;\n"
    )
    with pytest.raises(CompilationError) as caught:
        load_model("Lib.M", [tmp_path / n for n in ("Lib", "Units")])
    assert caught.value.diagnostics[0].rule == "too-many-equations"


def test_a_folder_without_package_mo_inside_a_package_does_not_matter(tmp_path: Path) -> None:
    """Nor does it when another class of the package mentions a library."""
    package = tmp_path / "Lib"
    (package / "Rest").mkdir(parents=True)
    (package / "package.mo").write_text(
        "package Lib\n  model M\n    output Real y = time;\n  end M;\n"
        "  model N\n    Modelica.Units.SI.Mass m;\n  end N;\nend Lib;\n"
    )
    (package / "Rest" / "Old.mo").write_text("within Lib.Rest;\nmodel Old\nend Old;\n")
    model, _ = load_model("Lib.M", [package])
    assert [v.name for v in model.outputs] == ["y"]
