"""Classes that a library has renamed: by name in commands, problem files and catalogues."""

from __future__ import annotations

from pathlib import Path

import pytest

from fmident.api import builds
from fmident.api.problems import plugins_of
from fmident.catalog import CatalogError, read_catalog
from fmident.compilers.conversions import conversions, renamed_class
from fmident.errors import CompilationError, Diagnostic

from ..api.test_builds import Recorder, host

__all__ = ["host"]

LIBRARY = """\
within ;
package Lib
  annotation (version="2.0.0", conversion(
    from(version={"0.1.0", "0.2.0"}, to="1.0.0",
      script="modelica://Lib/Resources/Scripts/ConvertFromLib_0.2.0.mos"),
    from(version="1.0.0", script="modelica://Lib/Resources/Scripts/ConvertFromLib_1.0.0.mos"),
    from(version="1.5.0", to="1.6.0", change={convertClass("Lib.Draft", "Lib.New.Cart")}),
    from(version="1.9.0", script="modelica://Lib/Resources/Scripts/Lost.mos"),
    noneFromVersion="1.9.9"));
end Lib;
"""
EARLIEST = """\
convertClass("Lib.Wagon", "Lib.Old.Cart");
convertElement({"Lib.Wagon"}, "m", "mass");
"""
LATEST = """\
convertClass("Lib.Old", "Lib.New"); // all that no other line names
convertClass("Lib.Old.Pole", "Lib.New.Rod");
convertClass({"Lib.Left", "Lib.Right"}, "Lib.New.Side");
convertClass({"Lib.One", "Lib.Two"}, {"Lib.New.Cart", "Lib.New.Rod"});
convertClass("Lib.Shaft", "Lib.New.Shaft");
convertClass("Lib.Gone", "Lib.New.NotThere");
convertClass("Lib.A", "Lib.B");
convertClass("Lib.B", "Lib.A");
convertClass("Merged.Cart", "Lib.New.Cart");
convertMessage("Lib.Hand", "set it by hand");
"""


def library(folder: Path) -> Path:
    place = folder / "Lib"
    scripts = place / "Resources" / "Scripts"
    scripts.mkdir(parents=True)
    (place / "package.mo").write_text(LIBRARY)
    (scripts / "ConvertFromLib_0.2.0.mos").write_text(EARLIEST)
    (scripts / "ConvertFromLib_1.0.0.mos").write_text(LATEST)
    (place / "Shaft.mo").write_text("within Lib;\nmodel Shaft\nend Shaft;\n")
    (place / "New").mkdir()
    (place / "New" / "package.mo").write_text("within Lib;\npackage New\nend New;\n")
    for name in ("Cart", "Rod", "Side", "Shaft"):
        text = f"within Lib.New;\nmodel {name}\nend {name};\n"
        (place / "New" / f"{name}.mo").write_text(text)
    return place


@pytest.mark.parametrize(
    ("old", "new", "since"),
    [
        ("Lib.Old.Cart", "Lib.New.Cart", "2.0.0"),
        ("Lib.Old.Pole", "Lib.New.Rod", "2.0.0"),
        ("Lib.Right", "Lib.New.Side", "2.0.0"),
        ("Lib.Two", "Lib.New.Rod", "2.0.0"),
        ("Lib.Wagon", "Lib.New.Cart", "2.0.0"),  # through both scripts
        ("Lib.Draft", "Lib.New.Cart", "1.6.0"),
        ("Merged.Cart", "Lib.New.Cart", "2.0.0"),
    ],
)
def test_present_name(tmp_path: Path, old: str, new: str, since: str) -> None:
    renamed = renamed_class(old, [library(tmp_path)])
    assert renamed is not None
    assert renamed.name == new
    assert renamed.note.message == f"{old} is called {new} since Lib {since}"


@pytest.mark.parametrize(
    "name", ["Lib.New.Cart", "Lib.Gone", "Lib.A", "Lib.Hand", "Lib.Olden", "Merged.Other", "Li"]
)
def test_other_names_stay(tmp_path: Path, name: str) -> None:
    assert renamed_class(name, [library(tmp_path)]) is None


def test_old_name_of_another_class_is_pointed_out(tmp_path: Path) -> None:
    renamed = renamed_class("Lib.Shaft", [library(tmp_path)])
    assert renamed is not None
    assert renamed.name == "Lib.Shaft"
    assert renamed.note.message == (
        "Lib.Shaft is another class since Lib 2.0.0; the former one is called Lib.New.Shaft"
    )


def test_libraries_without_conversions_or_that_cannot_be_read(tmp_path: Path) -> None:
    plain = tmp_path / "Plain.mo"
    plain.write_text("model Plain\n  Real conversion(start=1);\nend Plain;\n")
    foreign = tmp_path / "Foreign.mo"
    foreign.write_bytes(b'model Foreign "\xe4" end Foreign;')
    assert conversions(plain) == conversions(foreign) == conversions(tmp_path / "None") == ()


def test_library_in_one_file(tmp_path: Path) -> None:
    place = library(tmp_path)
    text = LIBRARY.replace("  annotation", "  model M\n  end M;\n  annotation", 1)
    (place / "Lib.mo").write_text(text)
    script = place / "Resources" / "Scripts" / "ConvertFromLib_1.0.0.mos"
    script.write_text('convertClass("Lib.N", "Lib.M");\n')
    renamed = renamed_class("Lib.N", [place / "Lib.mo"])
    assert renamed is not None
    assert renamed.name == "Lib.M"


def test_build_is_of_the_present_class(host: builds.Host, tmp_path: Path) -> None:
    library(tmp_path / "modelica")
    own = builds.build(host, "Lib.Old.Cart")
    merged = builds.resolve_class(host, "Merged.Cart", {}, tmp_path)
    named = builds.build(host, "Merged.Cart", sources=[tmp_path / "modelica"])
    assert [r.class_name for r in Recorder.requests] == ["Lib.New.Cart"]  # then it is up to date
    assert own.fmu.name == merged.fmu.name == named.fmu.name == "Lib.New.Cart.fmu"
    assert [n.message for n in own.notes] == ["Lib.Old.Cart is called Lib.New.Cart since Lib 2.0.0"]
    assert [n.message for n in merged.notes] == [n.message for n in named.notes]
    assert merged.notes[0].message == "Merged.Cart is called Lib.New.Cart since Lib 2.0.0"
    assert builds.build(host, "Lib.New.Cart").notes == ()
    with pytest.raises(CompilationError, match="no Modelica package 'Merge'"):
        builds.build(host, "Merge.Cart")


def test_problem_file_is_told_once(host: builds.Host, tmp_path: Path) -> None:
    library(tmp_path / "modelica")
    told: list[Diagnostic] = []
    find = plugins_of(host, told.extend).model
    assert find is not None
    assert find("Lib.Old.Cart", {}, tmp_path).name == "Lib.New.Cart.fmu"
    wanted = "Lib.Old.Cart is called Lib.New.Cart since Lib 2.0.0"
    assert [note.message for note in told].count(wanted) == 1


def test_merged_library_among_the_installed_ones(
    host: builds.Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = library(tmp_path / "installed")
    monkeypatch.setenv("MODELICAPATH", str(place.parent))
    built = builds.build(host, "Merged.Cart")
    assert built.fmu.name == "Lib.New.Cart.fmu"
    assert Recorder.requests[0].sources == (place,)


def test_catalogue(tmp_path: Path) -> None:
    library(tmp_path)
    file = tmp_path / "catalog.toml"
    head = '[libraries.Lib]\nsources = ["."]\n\n'
    file.write_text(
        head + '[[fmus]]\nclass = "Lib.Old.Cart"\n[[fmus]]\nclass = "Merged.Cart"\nfile = "m.fmu"\n'
    )
    with pytest.raises(CatalogError, match=r"'Lib\.New\.Cart' has an entry already, in line 4"):
        read_catalog(file)
    file.write_text(
        head + '[[fmus]]\nclass = "Lib.Old.Pole"\n[[fmus]]\nclass = "Merged.Cart"\nfile = "m.fmu"\n'
    )
    catalog = read_catalog(file)
    assert [(e.class_name, e.file) for e in catalog.entries] == [
        ("Lib.New.Rod", "Lib.New.Rod.fmu"),
        ("Lib.New.Cart", "m.fmu"),
    ]
    assert [str(n) for n in catalog.notes] == [
        f"{file}:5: note: Lib.Old.Pole is called Lib.New.Rod since Lib 2.0.0",
        f"{file}:7: note: Merged.Cart is called Lib.New.Cart since Lib 2.0.0",
    ]
