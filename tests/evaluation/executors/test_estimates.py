"""Whole estimations: the executor does not matter, and faults end where they should."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import fmident
from fmident.cli import main
from fmident.errors import FmidentError
from fmident.evaluation import AutoExecutor, InProcessExecutor, ProcessExecutor, make_executor
from fmident.evaluation.executors.registry import runs_in_this_process

from . import faults
from .faults import BuildFaults, make_problem, write_study

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_plots")]


def estimated(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "result.json").read_text())
    return found


def run(problem: Path) -> dict[str, Any]:
    assert main(["estimate", str(problem), "-o", str(problem.parent / "out"), "-q"]) == 0
    return estimated(problem.parent)


def test_the_same_estimate_from_inline_and_processes(fmu: Path, tmp_path: Path) -> None:
    found = []
    for executor in ("inline", "processes"):
        folder = tmp_path / executor
        folder.mkdir()
        result = run(write_study(folder, fmu, evaluation=f'executor = "{executor}"\nworkers = 2'))
        settings = result["settings"].pop("evaluation")
        assert settings["executor"] == executor
        assert settings["workers"] == {"inline": 1, "processes": 2}[executor]
        found.append((result["parameters"], result["cost"], result["simulations"]))
    assert found[0] == found[1]
    for name, value in faults.TRUE.items():
        assert found[0][0][name]["value"] == pytest.approx(value, abs=2e-3)


def test_the_same_searches_from_inline_and_processes(fmu: Path, tmp_path: Path) -> None:
    """With several starts the whole history agrees, whoever simulates and with how many workers."""
    found = []
    for k, settings in enumerate(
        (
            'executor = "inline"',
            'executor = "processes"\nworkers = 1',
            'executor = "processes"\nworkers = 3',
        )
    ):
        folder = tmp_path / str(k)
        folder.mkdir()
        problem = write_study(folder, fmu, evaluation=settings)
        starts = 'name = "least-squares"\nstarts = 7'
        problem.write_text(problem.read_text().replace('name = "least-squares"', starts))
        result = run(problem)
        del result["wall_time_s"]
        served = result["settings"].pop("evaluation")
        with (folder / "out" / "history.csv").open(newline="") as stream:
            history = list(csv.DictReader(stream))
        for row in history:
            assert float(row.pop("seconds")) > 0.0
        assert len({row["start"] for row in history}) == 7
        found.append((result, history, served["simulated"], served["cached"]))
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("executor", ["inline", "processes"])
def test_precision_thrown_away_is_measured_as_noise(
    fmu: Path, tmp_path: Path, executor: str
) -> None:
    exact, rough = tmp_path / "exact", tmp_path / "rough"
    for folder in (exact, rough):
        folder.mkdir()
    settings = f'executor = "{executor}"'
    reference = run(write_study(exact, fmu, evaluation=settings))
    result = run(write_study(rough, fmu, kind=faults.SINGLE, evaluation=settings))
    # Outputs of size 1 in single precision, weighted by 1/sigma = 1000.
    assert 1e-6 < result["settings"]["simulation_noise"] < 1e-3
    assert reference["settings"]["simulation_noise"] < 1e-8
    for name, told in reference["parameters"].items():
        found = result["parameters"][name]
        assert found["value"] == pytest.approx(told["value"], abs=0.05 * told["standard_error"])
        assert found["standard_error"] == pytest.approx(told["standard_error"], rel=0.05)


def test_an_estimation_survives_crashes_on_its_way(fmu: Path, tmp_path: Path) -> None:
    problem = write_study(tmp_path, fmu, kind=faults.CRASH, threshold=1.9)
    text = problem.read_text().replace("initial = 0.7", "initial = 1.8")
    problem.write_text(text.replace('name = "least-squares"', 'name = "least-squares"\nstarts = 6'))
    result = run(problem)
    assert result["parameters"]["a"]["value"] == pytest.approx(faults.TRUE["a"], abs=2e-3)
    settings = result["settings"]["evaluation"]
    assert settings["crashes"] >= 1
    assert any("ended a worker process" in note for note in result["notes"])


def test_a_crash_at_the_initial_point_is_a_message(
    fmu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    problem = write_study(tmp_path, fmu, kind=faults.CRASH)
    assert main(["estimate", str(problem), "-o", str(tmp_path / "out"), "-q"]) == 2
    said = capsys.readouterr().err
    assert "the simulation at the initial parameters fails" in said
    assert "SIGSEGV" in said
    assert "a=0.7" in said


@pytest.mark.parametrize("executor", ["auto", "processes"])
def test_an_fmu_that_cannot_be_loaded(
    faulty: BuildFaults, tmp_path: Path, executor: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = faulty("CRASH_AT_LOAD")
    problem = write_study(tmp_path, path, evaluation=f'executor = "{executor}"')
    assert main(["estimate", str(problem), "-o", str(tmp_path / "out"), "-q"]) == 2
    assert "no worker process can load the FMU" in capsys.readouterr().err


def test_who_runs_what(fmu: Path) -> None:
    kinds = {"inline": InProcessExecutor, "processes": ProcessExecutor, "auto": ProcessExecutor}
    for name, kind in kinds.items():
        problem = make_problem(fmu, executor=name)
        assert runs_in_this_process(problem) == (kind is InProcessExecutor)
        with make_executor(problem) as executor:
            assert type(executor) is kind
            assert executor.isolated != runs_in_this_process(problem)


def test_an_fmu_of_the_embedded_compiler_begins_here(build_fmu: Any, tmp_path: Path) -> None:
    from dataclasses import replace

    import numpy as np

    from fmident.data.experiment import Experiment, Measurement
    from fmident.problem.model import Parameter

    path = build_fmu("Mechanisms.FMUs.MassSpringDamper")
    times = np.linspace(0.0, 1.0, 101)
    measured = Measurement("x", "x", "x", np.sin(times), None)
    problem = replace(
        make_problem(path),
        parameters=(Parameter("k", 100.0, variable="k"),),
        experiments=(Experiment("e", times, {"F": np.cos(times)}, (measured,)),),
    )
    assert runs_in_this_process(problem)
    with make_executor(problem) as executor:
        assert type(executor) is AutoExecutor


def test_no_worker_is_left_after_an_error(fmu: Path, tmp_path: Path) -> None:
    problem = fmident.load_problem(write_study(tmp_path, fmu, kind=faults.CRASH))
    with pytest.raises(FmidentError):
        fmident.estimate(problem)
