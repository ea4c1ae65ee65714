"""Equal simulations are recognised, and the memory for them is limited."""

from __future__ import annotations

import dataclasses

from fmident.evaluation import PythonExecutor, SimulationFailure, SimulationTask
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.evaluation.memory import Recent
from fmident.problem.model import Problem

from ..outcomes import run_heard
from .test_batches import Recording, problem_with


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
    outcomes = run_heard(executor, tasks, lambda index, _: reported.append(index))
    assert inner.batches == [2]
    assert sorted(reported) == [0, 1, 2, 3]
    assert outcomes[2] is outcomes[0]
    assert dataclasses.astuple(executor.served) == (2, 0, 2)
    executor.run_all(tasks)
    assert inner.batches == [2]
    assert dataclasses.astuple(executor.served) == (2, 0, 6)


def test_equal_tasks_fail_together_and_are_tried_again_where_that_may_help() -> None:
    problem = problem_with()

    class Slow(PythonExecutor):
        calls = 0

        def run(self, tasks):  # type: ignore[no-untyped-def]
            self.calls += len(tasks)
            failure = SimulationFailure("took too long", final=False, timed_out=True)
            return iter([(index, failure) for index in range(len(tasks))])

    inner = Slow(problem, lambda times, inputs: {})
    executor = RecordedExecutor(inner, SimulationKeys(problem))
    task = SimulationTask(0, {"a": 1.0, "k": 1.0})
    first, second = executor.run_all([task, task])
    assert first is second
    assert inner.calls == 1
    executor.run_all([task])
    assert inner.calls == 2
