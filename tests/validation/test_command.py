"""``fmident validate``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from fmident.cli import main

from ..fmu.exchange import Exchange, Signal, build_exchange, build_twin, states
from ..study import Study

Capture = pytest.CaptureFixture[str]
BuildFlawed = Callable[..., Path]

CATALOG = """\
[libraries.Lib]
sources = ["Lib.mo"]

[[fmus]]
class = "Lib.Good"
inputs = { u = "N" }
outputs = { x = "m" }
identifiable = { k = "1" }
smoke.inputs = { u = { offset = 1.0, sines = [[0.5, 1.0, 0.0]] } }

[[fmus]]
class = "Lib.Missing"
"""


@pytest.fixture
def folder(tmp_path: Path, flawed: BuildFlawed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a working directory with a catalogue and the FMU of one of its two entries."""
    (tmp_path / "fmus").mkdir()
    (tmp_path / "fmus" / "Lib.mo").write_text("package Lib end Lib;")
    (tmp_path / "fmus" / "catalog.toml").write_text(CATALOG)
    (tmp_path / "fmus" / "Lib.Good.fmu").write_bytes(flawed().read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_catalogue_beside_the_fmu_counts(folder: Path, capsys: Capture) -> None:
    assert main(["validate", "fmus/Lib.Good.fmu", "--resets", "20"]) == 0
    assert "1 identifiable parameter as in the catalogue" in capsys.readouterr().out
    catalog = folder / "fmus" / "catalog.toml"
    catalog.write_text(CATALOG.replace('x = "m"', 'x = "m", y = "m"'))
    assert main(["validate", "fmus/Lib.Good.fmu", "--resets", "20"]) == 1
    assert "output 'y' is missing" in capsys.readouterr().out


def test_an_entry_without_a_class_is_an_fmu_of_another_tool(
    folder: Path, capsys: Capture, embedded_compiler: object
) -> None:
    place = folder / "fmus" / "catalog.toml"
    place.write_text('[[fmus]]\nfile = "Lib.Good.fmu"\nstep_tube = 0.2\n')
    assert main(["validate", "--all", "--resets", "20"]) == 0
    shown = capsys.readouterr().out
    assert "allowed 2e-01" in shown
    assert "interface" not in shown
    place.write_text('[[fmus]]\nfile = "Lib.Good.fmu"\n[[fmus]]\nfile = "pump.fmu"\n')
    capsys.readouterr()
    assert main(["validate", "--all", "--resets", "20"]) == 1
    assert "pump.fmu; it is not built here" in capsys.readouterr().err
    assert main(["build", "--all"]) == 2
    assert "has a class: there is nothing to build" in capsys.readouterr().err


def test_all_names_what_is_missing(
    folder: Path, capsys: Capture, embedded_compiler: object
) -> None:
    assert main(["validate", "--all", "--resets", "20", "--junit", "out/j.xml"]) == 1
    shown = capsys.readouterr()
    assert "Lib.Missing.fmu" in shown.err
    assert "fmident build --all" in shown.err
    root = ElementTree.parse(folder / "out" / "j.xml").getroot()
    assert [s.get("name") for s in root] == ["Lib.Good"]
    assert root.get("failures") == "0"


def test_users_own_reference(folder: Path, capsys: Capture) -> None:
    times = np.linspace(0.0, 1.0, 51)
    rows = [f"{t},{float(2 * (1 - np.exp(-t)))!r}" for t in times]
    (folder / "x.csv").write_text("\n".join(["time,x", *rows]))
    command = ["validate", "fmus/Lib.Good.fmu", "--resets", "20", "--reference", "x.csv"]
    assert main(command) == 0
    assert "reference x" in capsys.readouterr().out
    changed = (folder / "x.csv").read_text().replace("\n0.5,", "\n0.5,1")
    (folder / "x.csv").write_text(changed)
    assert main(command) == 1
    assert "at t = 0.5 s" in capsys.readouterr().out


def test_many_fmus_make_one_table(folder: Path, flawed: BuildFlawed, capsys: Capture) -> None:
    bad = folder / "bad.fmu"
    bad.write_text("no zip")
    names = [str(flawed(f)) for f in ("NOTHING", "EULER", "CRASHES")]
    assert main(["validate", *names, str(bad), "--resets", "20"]) == 2
    shown = capsys.readouterr().out
    table, _, rest = shown.partition("\n\n")
    assert table.splitlines()[0].split() == [
        "FMU", "checks", "findings", "reference", "step", "sizes", "s", "result",
    ]  # fmt: skip
    assert len(table.splitlines()) == 6
    assert "SIGABRT" in rest
    assert "zip" in rest
    assert rest.rstrip().endswith("0 of 4 FMUs passed; deviations are over a signal's range") or (
        "1 of 4 FMUs passed" in rest
    )


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        ([], "--all"),
        (["--all", "x.fmu"], "--all"),
        (["x.fmu", "--resets", "0"], "--resets"),
        (["x.fmu", "--tube", "-1"], "tube"),
        (["x.fmu", "--catalog", "none.toml"], "none.toml"),
        (["x.fmu", "--reference", "none.csv"], "none.csv"),
    ],
)
def test_mistakes(
    arguments: list[str],
    fragment: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["validate", *arguments]) == 2
    assert fragment in capsys.readouterr().err


@pytest.mark.parametrize("version", [2, 3])
def test_model_exchange_alone(tmp_path: Path, capsys: Capture, version: int) -> None:
    """What Co-Simulation states of its accuracy is missing there."""
    fixture = Exchange("faulty.c", (*states("x"), Signal("rate", 2, "parameter", 1.0)), 1)
    path = build_exchange(fixture, version, tmp_path)
    assert main(["validate", str(path), "--resets", "20"]) == 0
    assert "step sizes" in capsys.readouterr().out


@pytest.mark.each_time("hold", "mean")
@pytest.mark.parametrize("course", ["hold", "linear", "mean"])
def test_a_simulation_with_other_interpolation_is_a_reference(
    study: Study, capsys: Capture, course: str
) -> None:
    rows = "".join(f"{k / 20},{k // 5 % 2}\n" for k in range(41))
    Path("in.csv").write_text(f"time [s],F\n{rows}")
    run = ["simulate", str(study.fmu), "--data", "in.csv", "-o", "made.csv"]
    assert main([*run, "--interpolation", course]) == 0
    assert Path("made.csv").read_text().startswith(f"# interpolation: {course}\n")
    capsys.readouterr()
    check = ["validate", str(study.fmu), "--reference", "made.csv", "--resets", "20"]
    assert main(check) == 0
    assert "deviates most: 0.0e+00" in capsys.readouterr().out


def test_an_interpolation_that_is_none(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "made.csv"
    path.write_text("# interpolation: spline\ntime [s],u,y\n0,0,0\n1,1,1\n")
    assert main(["validate", str(build_twin(tmp_path)), "--reference", str(path)]) == 2
    said = capsys.readouterr().err
    assert "made.csv:1" in said
    assert "'spline'" in said
