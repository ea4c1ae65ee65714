"""``build``, ``validate``, ``simulate``, ``plugins`` and ``doctor`` on FMUs of the library."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fmident
from fmident.cli import main, start
from fmident.data import read_table

pytestmark = pytest.mark.slow  # many builds or whole runs

Capture = pytest.CaptureFixture[str]
BuildFmu = Callable[[str], Path]

OSCILLATOR = "Mechanisms.FMUs.MassSpringDamper"

DECAY = """within ;
package Tiny "Smallest library"
  model Decay "Exponential decay"
    parameter Real rate(unit="1/s") = 2 "Rate";
    Real x(start=1, fixed=true) "State";
    output Real y = x "Output";
  equation
    der(x) = -rate*x;
    annotation(experiment(StopTime=1));
  end Decay;
end Tiny;
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_compiler: object) -> Path:
    """Return a working directory with modelica/Tiny.mo and fmus/."""
    (tmp_path / "modelica").mkdir()
    (tmp_path / "modelica" / "Tiny.mo").write_text(DECAY)
    (tmp_path / "fmus").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_build_simulate_validate(project: Path, capsys: Capture) -> None:
    assert main(["build", "Tiny.Decay"]) == 0
    assert "fmus/Tiny.Decay.fmu built by fmident embedded" in capsys.readouterr().out
    fmu = "fmus/Tiny.Decay.fmu"

    assert main(["validate", fmu]) == 0
    assert "FAILED" not in capsys.readouterr().out

    run = ["simulate", fmu, "--step", "0.1", "--set", "rate=3", "-o", "out/y.csv"]
    assert main([*run, "--plot", "out/y.png"]) == 0
    table = read_table("out/y.csv").frame
    assert list(table.columns) == ["time", "y"]
    np.testing.assert_allclose(table["y"], np.exp(-3 * table["time"]), rtol=1e-5)
    assert Path("out/y.png").read_bytes().startswith(b"\x89PNG")


def test_build_prints_the_equations_and_builds_nothing(project: Path, capsys: Capture) -> None:
    assert main(["build", "Tiny.Decay", "--print", "equations"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "Tiny.Decay"
    assert "states" in printed
    assert not list(project.rglob("*.fmu"))
    assert main(["build", "--all", "--print", "equations"]) == 2
    assert "without --all" in capsys.readouterr().err


def test_build_again_only_when_something_changed(project: Path, capsys: Capture) -> None:
    assert main(["build", "Tiny.Decay"]) == 0
    fmu = Path("fmus/Tiny.Decay.fmu")
    before = fmu.stat().st_mtime_ns
    assert main(["build", "Tiny.Decay"]) == 0
    assert "is up to date" in capsys.readouterr().out
    assert fmu.stat().st_mtime_ns == before
    assert main(["build", "Tiny.Decay", "--tolerance", "1e-9"]) == 0
    assert "built by" in capsys.readouterr().out
    assert main(["build", "Tiny.Decay", "--tolerance", "1e-9", "--force"]) == 0
    assert "built by" in capsys.readouterr().out
    source = project / "modelica" / "Tiny.mo"
    source.write_text(source.read_text().replace("= 2", "= 4"))
    assert main(["build", "Tiny.Decay", "--tolerance", "1e-9"]) == 0
    assert "built by" in capsys.readouterr().out


def test_build_makes_the_folder_fmus(project: Path, capsys: Capture) -> None:
    (project / "fmus").rmdir()
    assert main(["build", "Tiny.Decay", "--source", "modelica/Tiny.mo"]) == 0
    assert capsys.readouterr().out.startswith("fmus/Tiny.Decay.fmu built by")


def test_build_finds_the_library_that_comes_with_fmident(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded_compiler: object
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["build", OSCILLATOR]) == 0
    assert (tmp_path / "fmus" / f"{OSCILLATOR}.fmu").exists()


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["Tyny.Decay"], ["no Modelica package 'Tyny'", "'Tiny'"]),
        (["Tiny.Deca"], ["Tiny.mo", "no class 'Tiny.Deca'", "'Tiny.Decay'"]),
        (["Tiny.Decay", "--source", "nowhere"], ["no source 'nowhere'"]),
        (["Tiny.Decay", "--source", "fmus"], ["'fmus' holds no Modelica package"]),
        (["Tiny.Decay", "--compiler", "embeded"], ["no compiler 'embeded'", "'embedded'"]),
    ],
)
def test_build_errors(
    project: Path, arguments: list[str], fragments: list[str], capsys: Capture
) -> None:
    assert main(["build", *arguments]) == 2
    shown = capsys.readouterr().err
    for fragment in fragments:
        assert fragment in shown
    assert "Traceback" not in shown
    assert list((project / "fmus").iterdir()) == []


def test_a_failing_build_leaves_the_good_fmu(project: Path, capsys: Capture) -> None:
    assert main(["build", "Tiny.Decay"]) == 0
    good = Path("fmus/Tiny.Decay.fmu").read_bytes()
    source = project / "modelica" / "Tiny.mo"
    source.write_text(source.read_text().replace("-rate*x", "-rte*x"))
    assert main(["build", "Tiny.Decay"]) == 2
    assert "rte" in capsys.readouterr().err
    assert Path("fmus/Tiny.Decay.fmu").read_bytes() == good


def test_validate_says_what_is_wrong(tmp_path: Path, build_fmu: BuildFmu, capsys: Capture) -> None:
    good = build_fmu(OSCILLATOR)
    broken = tmp_path / "broken.fmu"
    broken.write_text("not a zip")
    assert main(["validate", str(good), str(broken)]) == 2
    shown = capsys.readouterr().out
    assert f"{good}\ncheck " in shown
    assert "zip" in shown.split(str(broken), 1)[1]


def test_simulate_takes_times_and_inputs_from_data(
    tmp_path: Path, build_fmu: BuildFmu, capsys: Capture
) -> None:
    times = np.linspace(0.0, 2.0, 41)
    data = tmp_path / "data.csv"
    pd.DataFrame({"t": times, "push": np.ones_like(times)}).to_csv(data, index=False)
    result = tmp_path / "x.csv"
    fmu = str(build_fmu(OSCILLATOR))
    (force,) = [v.name for v in open_description(fmu).inputs]
    run = ["simulate", fmu, "--data", str(data), "--time", "t", "--outputs", "x"]
    assert main([*run, "--inputs", f"{force}=push", "--stop-time", "1", "-o", str(result)]) == 0
    from_column = read_table(result)
    assert from_column.units == {"time": "s", force: "N", "x": "m"}
    assert from_column.columns["time"][-1] == 1.0
    assert from_column.columns["x"][-1] > 0.0
    assert main([*run, "--inputs", f"{force}=1.0", "--stop-time", "1", "-o", str(result)]) == 0
    pd.testing.assert_frame_equal(read_table(result).frame, from_column.frame)


def test_simulate_reads_units_as_estimate_does(tmp_path: Path, build_fmu: BuildFmu) -> None:
    """Milliseconds and millinewtons in one file, seconds and newtons in the other."""
    fmu = str(build_fmu(OSCILLATOR))
    (force,) = [v.name for v in open_description(fmu).inputs]
    times = np.linspace(0.0, 2.0, 41)
    push = np.sin(3.0 * times)
    found = []
    for t, u, scale in (("t [s]", "push [N]", 1.0), ("t [ms]", "push [mN]", 1000.0)):
        data, result = tmp_path / "data.csv", tmp_path / "x.csv"
        pd.DataFrame({t: scale * times, u: scale * push}).to_csv(data, index=False)
        run = ["simulate", fmu, "--data", str(data), "--inputs", f"{force}=push"]
        assert main([*run, "--outputs", "x", "-o", str(result)]) == 0
        found.append(read_table(result).frame)
    assert found[0]["time"].iloc[-1] == 2.0
    # Not to the last bit: the converted instants are rounded.
    size = np.max(np.abs(found[0]["x"]))
    assert np.max(np.abs(found[1]["x"] - found[0]["x"])) < 1e-5 * size


def test_what_simulate_writes_is_data_and_a_reference(
    tmp_path: Path, build_fmu: BuildFmu, capsys: Capture
) -> None:
    fmu = build_fmu(OSCILLATOR)
    (force,) = [v.name for v in open_description(str(fmu)).inputs]
    times = np.linspace(0.0, 2.0, 201)
    data, made = tmp_path / "data.csv", tmp_path / "made.csv"
    pd.DataFrame({"t": times, "push [mN]": 1e3 * np.sin(3.0 * times)}).to_csv(data, index=False)
    truth = {"m": 3.0, "d": 4.0, "k": 400.0}
    given = [word for n, v in truth.items() for word in ("--set", f"{n}={v!r}")]
    run = ["simulate", str(fmu), "--data", str(data), "--inputs", f"{force}=push"]
    assert main([*run, *given, "-o", str(made)]) == 0
    problem = tmp_path / "problem.toml"
    problem.write_text(
        f'[model]\nfmu = "{fmu}"\n'
        + "".join(f"[parameters.{n}]\ninitial = {0.9 * v}\n" for n, v in truth.items())
        + f'[[experiments]]\ndata = "made.csv"\n[experiments.inputs]\n{force} = "{force}"\n'
        + '[experiments.outputs]\nx = "x"\n[estimator]\nname = "least-squares"\n'
    )
    found = fmident.estimate(fmident.load_problem(problem))
    assert [found.values[n] for n in truth] == pytest.approx(list(truth.values()), rel=1e-6)
    capsys.readouterr()
    assert main(["validate", str(fmu), "--reference", str(made), "-v"]) == 0
    assert "deviates most: 0.0e+00 of its range" in " ".join(capsys.readouterr().out.split())
    alone = tmp_path / "alone.csv"  # as a file without inputs would be
    table = read_table(made).frame.drop(columns=force)
    table.rename(columns={"time": "time [s]"}).to_csv(alone, index=False)
    assert main(["validate", str(fmu), "--reference", str(alone)]) == 1
    assert f"inputs keep their start values: {force}" in " ".join(capsys.readouterr().out.split())


def test_simulate_names_the_line_of_a_time_that_appears_twice(
    tmp_path: Path, build_fmu: BuildFmu, capsys: Capture
) -> None:
    data = tmp_path / "data.csv"
    data.write_text("time,u\n0,1\n1,1\n1,2\n", encoding="utf-8")
    assert main(["simulate", str(build_fmu(OSCILLATOR)), "--data", str(data)]) == 2
    assert f"{data}:4: time 1 appears twice" in capsys.readouterr().err


@pytest.mark.parametrize(("step", "count"), [("0.35", 4), ("0.4", 4), ("0.25", 5), ("0.1", 11)])
def test_simulate_ends_at_the_stop_time(
    tmp_path: Path, build_fmu: BuildFmu, step: str, count: int
) -> None:
    result = tmp_path / "x.csv"
    run = ["simulate", str(build_fmu(OSCILLATOR)), "--stop-time", "1", "--step", step]
    assert main([*run, "-o", str(result)]) == 0
    times = read_table(result).frame["time"]
    assert times.iloc[-1] == 1.0
    assert len(times) == count


def open_description(fmu: str) -> object:
    from fmident.fmu import read_description

    return read_description(fmu)


def test_simulate_prints_a_table_when_no_file_is_asked_for(
    build_fmu: BuildFmu, capsys: Capture
) -> None:
    assert main(["simulate", str(build_fmu(OSCILLATOR)), "--stop-time", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["output", "first", "last", "smallest", "largest", "unit"]
    assert lines[2].split()[0] == "x"


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["--stop-time", "-1"], ["stop time -1 s must lie after"]),
        (["--stop-time", "soon"], ["'soon' is not a number"]),
        (["--inputs", "nothing=1"], ["no input 'nothing'"]),
        (["--set", "masss=1"], ["no variable 'masss'", "nearest"]),
        (["--outputs", "xx"], ["no variable 'xx'", "'x'"]),
        (["--data", "nowhere.csv"], ["nowhere.csv"]),
        (["--plot", "x.pgn"], ["'x.pgn' is none of .png, .svg, .pdf"]),
    ],
)
def test_simulate_errors(
    build_fmu: BuildFmu,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    fragments: list[str],
    capsys: Capture,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["simulate", str(build_fmu(OSCILLATOR)), *arguments]) == 2
    shown = capsys.readouterr().err
    for fragment in fragments:
        assert fragment in shown
    assert "Traceback" not in shown


def test_plugins_lists_what_is_built_in(capsys: Capture) -> None:
    assert main(["plugins"]) == 0
    shown = capsys.readouterr().out
    for name in ("least-squares", "embedded", "json", "html"):
        assert name in shown
    (embedded,) = [x for x in shown.splitlines() if x.startswith("embedded") and "compiler" in x][
        1:
    ]
    assert "FMI 2.0 or 3.0" in embedded
    assert "LEFT OUT" not in shown


def test_plugins_can_be_left_out(capsys: Capture) -> None:
    assert main(["plugins", "--no-plugin", "least-squares"]) == 0
    assert "least-squares" not in capsys.readouterr().out


def test_doctor_without_any_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    code = main(["doctor"])
    shown = capsys.readouterr().out
    assert "fmident" in shown
    if shutil.which("cc", path=os.defpath) is None:
        assert code == 1
    assert "cannot run" in shown


def test_doctor_tells_what_is_needed_from_what_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def absent(name: str) -> str:
        if name in ("cma", "distributed"):
            raise PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(start, "version", absent)
    main(["doctor"])
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert "missing, but needed" in lines["cma"]
    assert "not installed" in lines["distributed"]
    assert "fmident[dask]" in lines["distributed"]
    assert "1.2.3" in lines["numba"]
