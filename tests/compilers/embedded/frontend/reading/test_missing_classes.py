"""Classes that are found in other files and folders, and what is said of those that are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.compilers.embedded.frontend import load_model
from fmident.errors import CompilationError

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


@pytest.mark.parametrize("statement", ["SI = Modelica.Units.SI", "Modelica.Units.SI"])
def test_import_of_standard_library_units_is_told_once(tmp_path: Path, statement: str) -> None:
    source = (
        f"model M\n  import {statement};\n  parameter SI.Mass m = 1;\n  SI.Force f = 2;\nend M;\n"
    )
    (found,) = refused(tmp_path / "M.mo", source).diagnostics
    assert found.rule == "unsupported-msl"
    assert found.hint is not None
    assert "import SI = Mechanisms.Units" in found.hint


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
