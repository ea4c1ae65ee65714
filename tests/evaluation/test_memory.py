"""Equal simulations are recognised, and the memory for them is limited."""

from __future__ import annotations

import dataclasses

import numpy as np

from fmident.evaluation import PythonExecutor, SimulationFailure, SimulationTask
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.evaluation.memory import Batch, Recent
from fmident.evaluation.tasks import Simulated
from fmident.problem.model import Problem

from .test_batches import Recording, problem_with


def array(value: float) -> np.ndarray:
    return np.array([[value]])


def test_what_is_known_is_reported_and_equal_ones_are_new_once() -> None:
    known = {"b": array(2.0)}
    asked: list[str] = []
    reported: list[tuple[int, float]] = []

    def find(key: str) -> Simulated | None:
        asked.append(key)
        return known.get(key)

    def done(index: int, outcome: Simulated) -> None:
        assert isinstance(outcome, np.ndarray)
        reported.append((index, float(outcome[0, 0])))

    batch = Batch(["a", "b", "a", "c", "b"], find, done)
    assert asked == ["a", "b", "c"]
    assert batch.new == [0, 3]
    assert batch.repeated == 2
    assert reported == [(1, 2.0), (4, 2.0)]
    batch.take(3, array(3.0))
    assert [batch.lacks(k) for k in range(5)] == [True, False, True, False, False]
    batch.take(0, array(1.0))
    assert reported[2:] == [(3, 3.0), (0, 1.0), (2, 1.0)]
    assert [float(np.asarray(o)[0, 0]) for o in batch.outcomes()] == [1.0, 2.0, 1.0, 3.0, 2.0]


def test_the_oldest_are_forgotten_by_number_or_by_size() -> None:
    few: Recent[int] = Recent(2)
    for k in (1, 2, 1, 3):
        few.put(k, k)
    assert [few.get(k) for k in (1, 2, 3)] == [1, None, 3]
    sized: Recent[str] = Recent(10, len)
    sized.put("a", "12345678")
    sized.put("a", "123")  # in its place, not beside it
    sized.put("b", "1234567")
    assert sized.get("a") == "123"  # used last, so that the other one is the oldest
    copied = sized.copy()
    copied.put("c", "1")
    assert copied.get("b") is None
    assert sized.get("b") == "1234567"
    sized.put("d", "12345678901")
    assert [sized.get(k) for k in "abd"] == [None, None, None]


def recorded(problem: Problem) -> tuple[Recording, RecordedExecutor]:
    inner = Recording(problem)
    return inner, RecordedExecutor(inner, SimulationKeys(problem))


def test_equal_tasks_of_a_batch_are_run_once_and_counted() -> None:
    inner, executor = recorded(problem_with())
    tasks = [SimulationTask(0, {"a": a, "k": 1.0}) for a in (1.0, 2.0, 1.0, 1.0)]
    reported: list[int] = []
    outcomes = executor.run(tasks, lambda index, _: reported.append(index))
    assert inner.batches == [2]
    assert sorted(reported) == [0, 1, 2, 3]
    assert outcomes[2] is outcomes[0]
    assert dataclasses.astuple(executor.served) == (2, 0, 2)
    executor.run(tasks)
    assert inner.batches == [2]
    assert dataclasses.astuple(executor.served) == (2, 0, 6)


def test_equal_tasks_fail_together_and_are_tried_again_where_that_may_help() -> None:
    problem = problem_with()

    class Slow(PythonExecutor):
        calls = 0

        def run(self, tasks, *rest):  # type: ignore[no-untyped-def]
            self.calls += len(tasks)
            return [SimulationFailure("took too long", final=False, timed_out=True)] * len(tasks)

    inner = Slow(problem, lambda times, inputs: {})
    executor = RecordedExecutor(inner, SimulationKeys(problem))
    task = SimulationTask(0, {"a": 1.0, "k": 1.0})
    first, second = executor.run([task, task])
    assert first is second
    assert inner.calls == 1
    executor.run([task])
    assert inner.calls == 2
