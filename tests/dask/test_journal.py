"""Dask with a journal: what a batch has brought back is kept, and need not be run again."""

from __future__ import annotations

import _thread
import json
import threading
from pathlib import Path

import pytest

from fmident.cli import main
from fmident.evaluation import (
    Executor,
    InProcessExecutor,
    SimulationFailure,
    SimulationTask,
)
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys, file_digest
from fmident.evaluation.tasks import Simulated
from fmident_dask import DaskExecutor

from ..evaluation.executors.faults import write_study
from ..fmu.build import Fixture, build, compiler
from ..fmu.conftest import CATEGORIES, TROUBLE
from ..outcomes import run_heard
from .study import CRASH, assert_same, inline, make_problem, slow_tasks

pytest.importorskip("distributed")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("empty_plots")]


def test_an_interrupted_batch_goes_on_from_the_journal(tmp_path: Path) -> None:
    if compiler() is None:
        pytest.skip("no C compiler")
    fmu = build(Fixture("trouble.c", TROUBLE, categories=CATEGORIES), tmp_path)
    problem = make_problem(fmu, workers=1, timeout=30.0)
    tasks = [SimulationTask(1, {"a": 1.0, "kind": CRASH}), *slow_tasks(40, 0.05)]
    keys = SimulationKeys(problem, file_digest(problem.fmu))

    def executed(
        journal: Journal, own: Executor, *, stop_after: int
    ) -> tuple[list[Simulated], RecordedExecutor]:
        told: list[int] = []

        def done(index: int, _: Simulated) -> None:
            told.append(index)
            if len(told) == stop_after:
                threading.Thread(target=_thread.interrupt_main).start()

        with RecordedExecutor(own, keys, journal) as executor:
            assert isinstance(executor, RecordedExecutor)
            return run_heard(executor, tasks, done), executor

    journal = Journal(tmp_path / "journal")
    with pytest.raises(KeyboardInterrupt):
        executed(journal, DaskExecutor(problem), stop_after=10)
    journal.close()
    journal = Journal(tmp_path / "journal")
    found, executor = executed(journal, DaskExecutor(problem), stop_after=0)
    journal.close()
    assert 10 <= executor.served.restored < len(tasks)
    assert executor.served.restored + executor.served.simulated == len(tasks)
    assert isinstance(found[0], SimulationFailure)
    assert_same(found[1:], inline(problem, tasks[1:]))
    # All is known now: another kind of executor has nothing to do.
    journal = Journal(tmp_path / "journal")
    again, executor = executed(journal, InProcessExecutor(problem), stop_after=0)
    journal.close()
    assert executor.served.simulated == 0
    assert_same(again, found)


def test_an_estimation_with_dask_goes_on_without(fmu: Path, tmp_path: Path) -> None:
    study = str(write_study(tmp_path, fmu))
    dask = ["--set", "evaluation.executor=dask", "--set", "evaluation.workers=1"]
    limited = [*dask, "--set", "estimator.max_iterations=1"]
    assert main(["estimate", study, "-o", str(tmp_path / "whole"), "-q"]) == 0
    assert main(["estimate", study, "-o", str(tmp_path / "out"), "-q", *limited]) == 0
    first = json.loads((tmp_path / "out" / "result.json").read_text())
    assert first["status"] == "limit"
    assert main(["estimate", study, "-o", str(tmp_path / "out"), "-q", "--resume"]) == 0
    whole, resumed = (
        json.loads((tmp_path / name / "result.json").read_text()) for name in ("whole", "out")
    )
    assert resumed["settings"]["evaluation"]["restored"] > 0
    assert resumed["parameters"] == whole["parameters"]
    assert resumed["simulations"] == whole["simulations"]
