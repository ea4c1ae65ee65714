"""Executors have simulations of one experiment run side by side, where the FMU can do that."""

from __future__ import annotations

import contextlib
import ctypes
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident.errors import FmuError
from fmident.evaluation import (
    InProcessExecutor,
    ProcessExecutor,
    Simulated,
    SimulationFailure,
    SimulationTask,
)
from fmident.evaluation.executors.prepared import groups
from fmident.evaluation.executors.processes.worker import Worker
from fmident.fmu import Simulator, batches
from fmident.problem.model import Parameter, Problem

from ...conftest import BuildFmu
from .faults import make_problem, same

OSCILLATOR = "Mechanisms.Oscillators.MassSpringDamper"


@pytest.fixture
def problem(build_fmu: BuildFmu) -> Problem:
    raw = make_problem(build_fmu(OSCILLATOR))
    experiments = tuple(
        replace(e, measurements=(replace(e.measurements[0], name="x", variable="x"),))
        for e in raw.experiments
    )
    parameters = tuple(Parameter(n, 1.0, variable=n) for n in ("m", "k"))
    return replace(raw, parameters=parameters, experiments=experiments)


TASKS = [SimulationTask(k % 2, {"m": 1.0 + 0.1 * k, "k": 30.0 + k}) for k in range(23)]


@pytest.fixture
def reference(problem: Problem, monkeypatch: pytest.MonkeyPatch) -> list[Simulated]:
    """Simulated one after the other."""
    with monkeypatch.context() as patch, InProcessExecutor(problem) as executor:
        patch.setattr(Simulator, "simulate_batch", lambda *_, **__: False)
        found = executor.run(TASKS)
    assert not any(isinstance(outcome, SimulationFailure) for outcome in found)
    return found


def test_this_process_gives_the_same_and_reports_each_once(
    problem: Problem, reference: list[Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[bool] = []
    batch = Simulator.simulate_batch

    def watched(self: Simulator, *arguments: Any, **more: Any) -> bool:
        taken.append(batch(self, *arguments, **more))
        return taken[-1]

    monkeypatch.setattr(Simulator, "simulate_batch", watched)
    done: dict[int, Simulated] = {}
    with InProcessExecutor(problem) as executor:
        found = executor.run(TASKS, lambda k, outcome: done.update({k: outcome}))
    assert same(found, reference)
    assert same([done[k] for k in range(len(TASKS))], reference)
    assert len(taken) == 2  # experiments


@pytest.mark.parametrize("struck", ["while it runs", "after the last"])
def test_an_interrupt_ends_a_batch_at_once_and_loses_nothing(
    problem: Problem,
    reference: list[Simulated],
    monkeypatch: pytest.MonkeyPatch,
    struck: str,
) -> None:
    """Ctrl-C comes while the FMU computes; Python sees it as soon as the FMU has returned."""
    calls: list[tuple[int, int]] = []  # simulations of the batch that are finished, and open

    def advancing(advance: Callable[..., int]) -> Callable[..., int]:
        def advanced(batch: int, steps: int, place: int) -> int:
            states = np.ctypeslib.as_array((ctypes.c_ubyte * len(own)).from_address(place))
            assert not calls, "the batch went on after the interrupt"
            while True:
                left = advance(batch, 8, place)
                done = int(np.count_nonzero(states == batches._DONE))
                if not left or (done and struck == "while it runs"):
                    calls.append((done, left))
                    signal.raise_signal(signal.SIGINT)
                    return left

        return advanced

    def interrupted(plan: Any, description: Any, library: Any, *more: Any) -> bool:
        with monkeypatch.context() as patch:
            original = library.functions[batches.ADVANCE]
            patch.setitem(library.functions, batches.ADVANCE, advancing(original))
            return run(plan, description, library, *more)

    run = batches.run_batch
    own = [k for k, task in enumerate(TASKS) if task.experiment == TASKS[0].experiment]
    done: dict[int, Simulated] = {}
    with InProcessExecutor(problem) as executor:
        with monkeypatch.context() as patch:
            patch.setattr(batches, "run_batch", interrupted)
            with contextlib.suppress(KeyboardInterrupt):
                executor.run(TASKS, lambda k, outcome: done.update({k: outcome}))
        if not calls:
            pytest.skip("this machine has no wide registers")
        ((finished, left),) = calls
        assert finished + left == len(own)
        assert bool(left) == (struck == "while it runs")
        assert len(done) == finished
        assert done.keys() <= set(own)
        assert same([done[k] for k in sorted(done)], [reference[k] for k in sorted(done)])
        assert same(executor.run(TASKS), reference)  # it can be used again


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_workers_give_the_same_and_report_each_once(
    problem: Problem,
    reference: list[Simulated],
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
) -> None:
    together: list[int] = []
    run = Worker.run_together

    def watched(self: Worker, setup: int, names: tuple[str, ...], values: list[Any]) -> None:
        together.append(len(values))
        run(self, setup, names, values)

    monkeypatch.setattr(Worker, "run_together", watched)
    done: list[int] = []
    settings = replace(problem.evaluation, workers=workers)
    tasks = sorted(TASKS, key=lambda task: task.experiment)
    with ProcessExecutor(replace(problem, evaluation=settings)) as executor:
        found = executor.run(tasks, lambda k, _: done.append(k))
        again = executor.run(tasks)
    order = [TASKS.index(task) for task in tasks]
    assert same(found, [reference[k] for k in order])
    assert same(again, found)
    assert sorted(done) == list(range(len(tasks)))
    assert together
    assert sum(together) <= 2 * len(tasks)


@pytest.mark.slow
def test_a_worker_that_dies_in_a_batch_costs_nothing_but_time(
    problem: Problem, reference: list[Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Worker.run_together
    killed: list[int] = []

    def deadly(self: Worker, *arguments: Any) -> None:
        run(self, *arguments)
        killed.append(self.pid)
        self.kill()

    monkeypatch.setattr(Worker, "run_together", deadly)
    with ProcessExecutor(replace(problem, evaluation=replace(problem.evaluation, workers=1))) as e:
        found = e.run(TASKS)
        assert e.report().crashes == 0
    assert same(found, reference)
    assert len(killed) == 1


@pytest.mark.slow
def test_a_setup_that_a_batch_does_little_for_is_not_tried_again(
    problem: Problem, reference: list[Simulated], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Sequence[Any]] = []

    def none(self: Simulator, setup: object, values: Sequence[Any], *_: Any, **__: Any) -> bool:
        tried.append(values)
        return True

    monkeypatch.setattr(Simulator, "simulate_batch", none)
    with InProcessExecutor(problem) as executor:
        assert same(executor.run(TASKS), reference)
        assert same(executor.run(TASKS), reference)
    assert len(tried) == 2  # once for each experiment


def test_groups_keep_to_setups_and_to_the_memory(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LARGEST", 4)
    with InProcessExecutor(problem) as executor:
        work = [(executor._table.of(task), task.values) for task in TASKS[:10]]
    assert groups(work) == [[0, 2, 4, 6], [1, 3, 5, 7], [8], [9]]


def test_a_wrong_name_is_refused_as_alone(problem: Problem) -> None:
    tasks = [SimulationTask(0, {"nobody": 1.0}), SimulationTask(0, {"m": 1.0})]
    with InProcessExecutor(problem) as executor, pytest.raises(FmuError, match="nobody"):
        executor.run(tasks)


def test_other_fmus_are_as_before(fmu: Path) -> None:
    assert not batches.offers_batches(fmu)
