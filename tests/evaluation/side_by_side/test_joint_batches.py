"""Searches side by side: joint batches, and the same results as alone."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest

from fmident.errors import FmuError
from fmident.evaluation import (
    Evaluator,
    PythonExecutor,
    SimulationFailure,
    in_callers_thread,
    python_problem,
)
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.problem.model import Problem

from .rig import STARTS, Recording, Search, at, decay, descent, one_at_a_time


def test_each_returns_the_same_as_alone(
    problem: Problem, executor: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = [descent(*start) for start in STARTS]
    together = Evaluator(problem, executor)
    found = together.side_by_side(searches)
    alone = [Evaluator(problem, Recording(problem)).side_by_side([s])[0] for s in searches]
    assert found == alone
    one_at_a_time(monkeypatch)
    turns = Evaluator(problem, Recording(problem))
    assert turns.side_by_side(searches) == alone
    assert together.simulations == turns.simulations == sum(result[2] for result in alone)
    assert together.jacobians == turns.jacobians == 4 * len(STARTS)
    assert together.best is not None
    assert turns.best is not None
    assert together.best[0].tobytes() == turns.best[0].tobytes()
    assert together.best[1] == min(result[1] for result in alone)


def test_joint_batches_in_the_order_of_the_searches_and_equal_ones_once(
    evaluator: Evaluator, executor: Recording
) -> None:
    def search(*points: float) -> Search:
        return lambda own: [own.cost(at(a)) for a in points]

    found = evaluator.side_by_side([search(1, 2, 3), search(4), search(2, 2, 5, 6), search(1)])
    assert executor.batches == [[1, 4, 2], [5], [3, 6]]
    costs = {a: Evaluator(evaluator.problem, Recording(evaluator.problem)).cost(at(a))
             for a in range(1, 7)}  # fmt: skip
    assert found == [
        [costs[1], costs[2], costs[3]],
        [costs[4]],
        [costs[2], costs[2], costs[5], costs[6]],
        [costs[1]],
    ]
    assert evaluator.simulations == 3 + 1 + 3 + 1
    assert executor.threads == {threading.get_ident()}


def test_simulations_are_counted_whoever_asked_for_them(problem: Problem) -> None:
    inner = Recording(problem)
    recorded = RecordedExecutor(
        inner, SimulationKeys(dataclasses.replace(problem, fmu=Path(__file__)), b"")
    )
    evaluator = Evaluator(problem, recorded)
    evaluator.side_by_side([lambda own: own.cost(at(1)), lambda own: own.cost(at(1))])
    evaluator.side_by_side([lambda own: own.served, descent(2), descent(3), descent(2)])
    ran = sum(len(batch) for batch in inner.batches)
    assert dataclasses.astuple(evaluator.served) == (ran, 0, evaluator.simulations - ran)
    assert evaluator.served.cached > 10


def test_what_was_known_is_known_in_each(evaluator: Evaluator, executor: Recording) -> None:
    evaluator.costs(np.array([at(a) for a in range(1, 30)]))
    evaluator.jacobian(at(2))
    before, batches = evaluator.simulations, len(executor.batches)

    def search(own: Evaluator) -> tuple[object, ...]:
        assert own.knows_jacobian(at(2))
        own.jacobian(at(2))
        assert own.step_sizes is evaluator.step_sizes
        own.simulate(at(29))  # outputs are remembered of the last few points only
        return own.cost(at(1)), own.best[1] if own.best else None, own.simulations

    found = evaluator.side_by_side([search, search])
    assert found[0] == found[1]
    assert found[0][2] == 0
    assert evaluator.simulations == before
    assert len(executor.batches) == batches


def test_the_evaluator_learns_the_best_point_and_the_jacobian_there(evaluator: Evaluator) -> None:
    def search(a: float) -> Search:
        return lambda own: (own.jacobian(at(a, 1.3)), own.cost(at(a + 0.001, 1.3)))

    evaluator.side_by_side([search(5), search(2), search(9)])
    best = evaluator.best
    assert best is not None
    assert min(abs(best[0][0] - 2.0), abs(best[0][0] - 2.001)) < 1e-12
    evaluator.side_by_side([search(3), lambda own: own.jacobian(best[0]), search(7)])
    assert evaluator.knows_jacobian(best[0])
    before = evaluator.simulations
    evaluator.jacobian(best[0])
    evaluator.simulate(best[0])
    assert evaluator.simulations == before


def test_more_searches_than_run_at_once(evaluator: Evaluator, executor: Recording) -> None:
    def search(a: float, rounds: int) -> Search:
        return lambda own: [own.cost(at(a + 0.01 * k)) > 0 for k in range(rounds)]

    found = evaluator.side_by_side([search(a, 1 + a % 3) for a in range(1, 9)], most=3)
    assert [len(f) for f in found] == [1 + a % 3 for a in range(1, 9)]
    assert max(len(batch) for batch in executor.batches) == 3
    assert len(executor.batches[0]) == 3


def test_large_problems_run_fewer_at_once(problem: Problem) -> None:
    assert Evaluator(problem, Recording(problem))._most() == 32
    times = np.linspace(0.0, 1.0, 1_000_000)
    large = python_problem({"y": times}, times, list(problem.parameters), sigma=1.0)
    assert 2 <= Evaluator(large, PythonExecutor(large, decay))._most() < 8


def test_none_and_one(evaluator: Evaluator) -> None:
    assert evaluator.side_by_side([]) == []
    assert evaluator.side_by_side([lambda own: own.cost(at(2.0))]) == [evaluator.cost(at(2.0))]


def test_searches_inside_of_searches(evaluator: Evaluator, executor: Recording) -> None:
    main, called = threading.get_ident(), []

    def inner(a: float) -> Search:
        def search(own: Evaluator) -> float:
            in_callers_thread(lambda: called.append((a, threading.get_ident() == main)))
            own.cost(at(a))
            return own.cost(at(a + 0.5))

        return search

    def outer(*starts: float) -> Search:
        return lambda own: own.side_by_side([inner(a) for a in starts])

    found = evaluator.side_by_side([outer(1, 2), inner(3), outer(4, 5, 6)])
    assert executor.batches == [[1, 2, 3, 4, 5, 6], [1.5, 2.5, 3.5, 4.5, 5.5, 6.5]]
    assert called == [(a, True) for a in (1, 2, 3, 4, 5, 6)]
    assert found[0][1] == evaluator.cost(at(2.5))
    assert evaluator.simulations == 12 + 1
    with pytest.raises(ValueError, match="wrong"):
        evaluator.side_by_side([outer(1, 2), lambda own: own.side_by_side([inner(1), failing])])


def failing(evaluator: Evaluator) -> None:
    evaluator.cost(at(7))
    raise ValueError("wrong")


def test_other_experiments(problem: Problem, executor: Recording) -> None:
    evaluator = Evaluator(problem, executor)
    experiment = problem.experiments[0]

    def search(*a: float) -> Search:
        points = np.array([at(x) for x in a])
        return lambda own: own.simulate_outputs(experiment, ["y"], points)[:, 0, 0].tolist()

    def unheard(own: Evaluator) -> str:
        with pytest.raises(FmuError, match="unheard") as raised:
            own.simulate_outputs(experiment, ["unheard"], at(1)[np.newaxis])
        return raised.value.message

    found = evaluator.side_by_side([search(1, 2), unheard, descent(1), search(3)])
    assert found[0] == pytest.approx([1.0, 2.0])
    assert found[1] == "no variable 'unheard'"
    assert found[3] == pytest.approx([3.0])
    assert executor.others == [2, 1, 1]
    assert executor.threads == {threading.get_ident()}


def test_failed_simulations_belong_to_who_asked(evaluator: Evaluator) -> None:
    def search(k: float) -> Search:
        def run(own: Evaluator) -> tuple[float, int, SimulationFailure | None]:
            return own.cost(at(1, k)), own.failures, own.last_failure

        return run

    found = evaluator.side_by_side([search(95.0), search(1.0), search(97.0)])
    assert [f[1] for f in found] == [1, 0, 1]
    assert found[1][2] is None
    assert found[0][2].parameters["k"] == 95.0
    assert evaluator.failures == 2
    assert evaluator.last_failure == found[2][2]


def test_the_outcome_that_several_have_cannot_be_written_to(evaluator: Evaluator) -> None:
    def search(own: Evaluator) -> bool:
        (outputs,) = own.simulate(at(3))
        assert isinstance(outputs, np.ndarray)
        return bool(outputs.flags.writeable)

    assert evaluator.side_by_side([search, search]) == [False, False]


def test_what_numpy_complains_of_is_what_the_caller_wants(evaluator: Evaluator) -> None:
    def search(own: Evaluator) -> str:
        own.cost(at(1))
        return str(np.geterr()["over"])

    with np.errstate(over="raise"):
        assert evaluator.side_by_side([search, search]) == ["raise", "raise"]


def test_the_listener_hears_of_joint_batches_where_it_listens(evaluator: Evaluator) -> None:
    heard: list[tuple[str, int, int]] = []
    here = threading.get_ident()

    def listen(text: str, done: int, expected: int) -> None:
        assert threading.get_ident() == here
        heard.append((text, done, expected))

    evaluator.activities.listener = listen
    evaluator.side_by_side([descent(1, steps=0), descent(2, steps=0)])
    assert heard == [("2 searches side by side", k, 2) for k in (0, 1, 2)]
