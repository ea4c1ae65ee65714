"""Libraries that OpenModelica has installed: each loaded once, by name and version."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from fmident.api.builds import build as build_class
from fmident.api.builds import find_library
from fmident.compilers.base import BuildResult
from fmident.compilers.libraries import own_source
from fmident.compilers.openmodelica.availability import omc_folders
from fmident.compilers.openmodelica.messages import Message, to_diagnostic
from fmident.compilers.openmodelica.sources import plan_loading
from fmident.errors import CompilationError
from fmident.plugins import load_plugins

Build = Callable[..., BuildResult]

DRIVE = """\
model Drive "Uses the standard library"
  Modelica.Blocks.Interfaces.RealInput u;
  Modelica.Blocks.Interfaces.RealOutput y = u;
  annotation(uses(Modelica(version = "4.0.0")), experiment(StopTime = 4));
end Drive;
"""


def standard_library(folder: Path, version: str, *, metadata: str = "+maint.om") -> Path:
    """Write a Modelica whose parts use one another, as the real ones do."""
    uses = {
        "Modelica": ("Complex", "ModelicaServices"),
        "Complex": ("Modelica",),
        "ModelicaServices": ("Modelica",),
    }
    for name, used in uses.items():
        named = ", ".join(f'{other}(version="{version}")' for other in used)
        place = folder / f"{name} {version}{metadata}"
        place.mkdir(parents=True)
        (place / "package.mo").write_text(
            f"within;\npackage {name}\n  model Pendulum\n    annotation(experiment(StopTime=5));\n"
            f"  end Pendulum;\n"
            f'  annotation(version="{version}", uses({named}));\nend {name};\n'
        )
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's home with the standard library installed by OpenModelica."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("MODELICAPATH", "OPENMODELICALIBRARY"):
        monkeypatch.delenv(name, raising=False)
    libraries = tmp_path / "home" / ".openmodelica" / "libraries"
    standard_library(libraries, "4.0.0")
    standard_library(libraries, "4.1.0")
    return libraries


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    file = tmp_path / "own" / "Drive.mo"
    file.parent.mkdir()
    file.write_text(DRIVE)
    return file


def test_libraries_that_use_each_other(home: Path, drive: Path) -> None:
    """Modelica and ModelicaServices do: there was no end to following them."""
    own = own_source(drive)
    assert own.notes == ()
    assert {p.name for p in own.sources} == {
        "Drive.mo",
        "Modelica 4.0.0+maint.om",
        "ModelicaServices 4.0.0+maint.om",
        "Complex 4.0.0+maint.om",
    }
    plan = plan_loading("Drive", own.sources)
    assert plan.missing == {}
    assert plan.has_class
    assert plan.files[-1] == drive
    assert [f.parent.name.partition(" ")[0] for f in plan.files[:-1]] == [
        "Complex", "ModelicaServices", "Modelica",
    ]  # fmt: skip


@pytest.mark.parametrize("variable", ["MODELICAPATH", "OPENMODELICALIBRARY"])
def test_where_omc_looks(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """omc reads OPENMODELICALIBRARY, which replaces its own folders, and no MODELICAPATH."""
    other = standard_library(tmp_path / "other", "4.0.0")
    monkeypatch.setenv(variable, f"{other}{os.pathsep}/nowhere")
    assert (other in omc_folders()) == (variable == "OPENMODELICALIBRARY")
    assert (home in omc_folders()) == (variable == "MODELICAPATH")


def test_another_version_than_asked_for(home: Path, drive: Path) -> None:
    drive.write_text(DRIVE.replace("4.0.0", "4.0.7"))
    own = own_source(drive)
    (note,) = own.notes
    assert "Modelica 4.0.7 is asked for; Modelica 4.1.0 in" in note.message
    assert str(home) in note.message
    assert 'installPackage(Modelica, "4.0.7"' in (note.hint or "")
    assert plan_loading("Drive", own.sources).files[-2].parent.name == "Modelica 4.1.0+maint.om"


def test_the_nearest_is_of_the_same_major_version(home: Path, drive: Path) -> None:
    standard_library(home, "3.2.2")
    drive.write_text(DRIVE.replace("4.0.0", "3.2.3+build.1"))
    names = {p.name for p in own_source(drive).sources}
    assert "Modelica 3.2.2+maint.om" in names


def test_the_hint_names_the_version_that_was_loaded() -> None:
    message = Message("notification", "Automatically loaded package Modelica 4.1.0 due to usage.")
    found = to_diagnostic(message)
    assert found.rule == "library-loaded"
    assert 'uses(Modelica(version="4.1.0"))' in (found.hint or "")


@pytest.mark.slow
@pytest.mark.parametrize("user", [1000, 0])
@pytest.mark.usefixtures("fake_omc")
def test_nothing_is_loaded_twice(
    home: Path,
    drive: Path,
    tmp_path: Path,
    omc_log: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: int,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    built = build_class(
        load_plugins(),
        "Drive",
        sources=(drive,),
        output=tmp_path / "Drive.fmu",
        compiler="openmodelica",
        options={"ramp_inputs": False},
    )
    assert built.result is not None
    assert not [d for d in built.result.diagnostics if "loaded package" in d.message]
    lines = omc_log.read_text().splitlines()
    first = lines[: 1 + lines.index(next(li for li in lines if li.startswith("checkModel")))]
    assert [li for li in first if li.startswith("load")] == [
        *(
            f'loadFile("{home}/{name} 4.0.0+maint.om/package.mo", uses=false)'
            for name in ("Complex", "ModelicaServices", "Modelica")
        ),
        f'loadFile("{drive}", uses=false)',
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("fake_omc", "as_root")
def test_a_class_of_an_installed_library(
    home: Path, tmp_path: Path, omc_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    found = find_library("Modelica.Pendulum", [empty])
    assert found.sources[0] == home / "Modelica 4.1.0+maint.om"
    built = build_class(load_plugins(), "Modelica.Pendulum", compiler="openmodelica")
    assert built.fmu.resolve() == empty / "fmus" / "Modelica.Pendulum.fmu"
    assert built.result is not None
    notes = [d for d in built.result.diagnostics if d.rule == "library-version"]
    assert ["version 4.1.0" in d.message for d in notes] == [True]
    assert "loadModel" not in omc_log.read_text()


def test_a_library_that_is_nowhere(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CompilationError) as caught:
        find_library("Modelico.Blocks.Thing", [tmp_path])
    assert "nor where OpenModelica keeps libraries" in caught.value.message
    assert "'Modelica'" in (caught.value.hint or "")
