"""Searches side by side: joint batches, the same results, and every way in which they can end."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fmident._types import F64
from fmident.errors import FmuError, SimulationError
from fmident.estimation import StopEstimation, run_estimation
from fmident.estimation.contract import Iteration
from fmident.evaluation import (
    Evaluator,
    JacobianError,
    PythonExecutor,
    SimulationFailure,
    in_callers_thread,
    python_problem,
)
from fmident.evaluation.executors.base import Done
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.evaluation.side_by_side import Ended, run_side_by_side
from fmident.evaluation.tasks import Simulated, SimulationTask
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_estimators.least_squares import LeastSquares

TIMES = np.linspace(0.0, 3.0, 61)

Search = Callable[[Evaluator], Any]


def decay(times: F64, inputs: Mapping[str, F64], a: float, k: float) -> dict[str, F64]:
    if k > 90.0:
        raise SimulationError("k is too large")
    return {"y": a * np.exp(-k * times)}


class Recording(PythonExecutor):
    """Notes the tasks of each batch, and in which thread they were run."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, decay)
        self.batches: list[list[float]] = []
        self.others: list[int] = []
        self.threads: set[int] = set()
        self.error: BaseException | None = None

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        self.threads.add(threading.get_ident())
        if self.error is not None:
            raise self.error
        self.batches.append([task.values["a"] for task in tasks])
        return super().run(tasks, done)

    def run_other(self, experiment: Any, variables: Any, values: Any) -> list[Simulated]:
        self.threads.add(threading.get_ident())
        self.others.append(len(values))
        if "unheard" in variables:
            raise FmuError("no variable 'unheard'")
        return super().run_other(experiment, variables, values)


@pytest.fixture
def problem() -> Problem:
    noise = 0.05 * np.random.default_rng(0).standard_normal(TIMES.size)
    return python_problem(
        {"y": decay(TIMES, {}, 2.0, 1.3)["y"] + noise},
        TIMES,
        [
            Parameter("a", 1.0, 0.1, 99.0, variable="a"),
            Parameter("k", 0.5, 0.1, 99.0, variable="k"),
        ],
        sigma=0.05,
        evaluation=EvaluationSettings(check=False),
    )


@pytest.fixture
def executor(problem: Problem) -> Recording:
    return Recording(problem)


@pytest.fixture
def evaluator(problem: Problem, executor: Recording) -> Evaluator:
    return Evaluator(problem, executor)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


def at(a: float, k: float = 0.5) -> F64:
    return np.array([a, k])


def descent(a: float, k: float = 0.5, steps: int = 4) -> Search:
    """Return a Gauss-Newton search in logarithms, which ends where the simulation fails."""

    def search(evaluator: Evaluator) -> tuple[bytes, float, int, int]:
        p = at(a, k)
        for _ in range(steps):
            jacobian = evaluator.jacobian(p) * p
            step = np.linalg.lstsq(jacobian, -evaluator.residuals(p), rcond=None)[0]
            p = p * np.exp(np.clip(step, -0.5, 0.5))
        cost = evaluator.cost(p)
        return p.tobytes(), cost, evaluator.simulations, evaluator.jacobians

    return search


def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, "_most", lambda _: 1)


STARTS = [(0.3, 0.2), (1.0, 0.5), (8.0, 3.0), (30.0, 0.2), (1.0, 0.5), (0.3, 9.0), (2.0, 1.0)]


# ---------------------------------------------------------------------------- what comes out


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
    assert executor.batches == [[1, 4, 2], [2, 5], [3, 6]]
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
    before, told = evaluator.simulations, len(executor.batches)

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
    assert len(executor.batches) == told


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


def test_another_problem_on_the_same_executor(evaluator: Evaluator, executor: Recording) -> None:
    """As in a profile: one parameter is held, the other is free."""
    a, k = evaluator.problem.parameters

    def held(value: float) -> Search:
        fixed = dataclasses.replace(k, initial=value, fixed=True)
        problem = dataclasses.replace(evaluator.problem, parameters=(a, fixed))

        def search(own: Evaluator) -> float:
            with own.for_problem(problem) as reduced:
                found: float = reduced.cost(np.array([2.0]))
            return found

        return search

    found = evaluator.side_by_side([held(1.0), held(1.3)])
    assert len(executor.batches) == 1
    assert evaluator.simulations == 2
    assert found == [evaluator.cost(at(2.0, 1.0)), evaluator.cost(at(2.0, 1.3))]


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


def test_other_experiments(evaluator: Evaluator, executor: Recording) -> None:
    experiment = evaluator.problem.experiments[0]

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


def test_the_outcome_that_several_have_cannot_be_written_to(problem: Problem) -> None:
    evaluator = Evaluator(problem, Recording(problem))

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


# ---------------------------------------------------------------------------- how they end


def test_a_search_without_a_jacobian_leaves_the_others_alone(evaluator: Evaluator) -> None:
    first, second, third = evaluator.side_by_side([descent(1), descent(1, 95.0), descent(2)])
    assert isinstance(second, JacobianError)
    assert "k is too large" in second.message
    assert not isinstance(first, JacobianError)
    assert not isinstance(third, JacobianError)


class Watched:
    """Searches that go on until they are ended, and say how."""

    def __init__(self) -> None:
        self.ended: list[tuple[int, str]] = []

    def endless(self, number: int) -> Search:
        def search(own: Evaluator) -> None:
            generator = np.random.default_rng(number)
            try:
                while True:
                    own.cost(generator.uniform(0.1, 9.0, 2))
            except BaseException as error:
                self.ended.append((number, type(error).__name__))
                raise

        return search

    def others_are_ended(self, *numbers: int) -> None:
        assert self.ended == [(number, "Ended") for number in numbers]


@pytest.mark.parametrize("kind", [ValueError, SystemExit, StopEstimation, KeyboardInterrupt])
def test_an_error_of_a_search_ends_all(evaluator: Evaluator, kind: type[BaseException]) -> None:
    watched = Watched()

    def wrong(own: Evaluator) -> None:
        for k in range(3):
            own.cost(at(1 + k))
        raise kind("mine")

    with pytest.raises(kind, match="mine"):
        evaluator.side_by_side([watched.endless(0), wrong, watched.endless(2)])
    watched.others_are_ended(0, 2)
    assert evaluator.best is not None
    assert evaluator.side_by_side([lambda own: own.cost(at(1))] * 2) == [evaluator.cost(at(1))] * 2


@pytest.mark.parametrize("kind", [FmuError, KeyboardInterrupt])
def test_an_error_of_the_executor_ends_all(
    evaluator: Evaluator, executor: Recording, kind: type[BaseException]
) -> None:
    watched = Watched()
    executor.error = kind("theirs")
    with pytest.raises(kind, match="theirs"):
        evaluator.side_by_side([watched.endless(k) for k in range(3)])
    watched.others_are_ended(0, 1, 2)
    executor.error = None
    assert np.isfinite(evaluator.cost(at(1)))


@pytest.mark.parametrize("kind", [StopEstimation, KeyboardInterrupt])
@pytest.mark.parametrize("where", [0, 1, 2])
def test_an_end_that_is_asked_for_in_the_callers_thread(
    evaluator: Evaluator, kind: type[BaseException], where: int
) -> None:
    """As by a plugin that a search reports an iteration to."""
    watched, here, seen = Watched(), threading.get_ident(), []

    def stop() -> None:
        seen.append(threading.get_ident())
        raise kind("enough")

    def asking(own: Evaluator) -> None:
        own.cost(at(1))
        try:
            in_callers_thread(stop)
        except (kind, Ended):
            watched.ended.append((where, "asked"))
            raise

    searches = [asking if k == where else watched.endless(k) for k in range(3)]
    with pytest.raises(kind, match="enough"):
        evaluator.side_by_side(searches)
    assert seen == [here]
    assert sorted(watched.ended) == [(k, "asked" if k == where else "Ended") for k in range(3)]


@pytest.mark.skipif(os.name != "posix", reason="sends a signal to a thread")
@pytest.mark.parametrize("where", [0, 1])
def test_ctrl_c_while_a_search_has_its_turn(evaluator: Evaluator, where: int) -> None:
    watched = Watched()

    def struck(own: Evaluator) -> None:
        try:
            own.cost(at(1))
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            while True:
                own.cost(np.random.default_rng().uniform(0.1, 9.0, 2))
        except Ended:
            watched.ended.append((where, "Ended"))
            raise

    with pytest.raises(KeyboardInterrupt):
        evaluator.side_by_side([struck if k == where else watched.endless(k) for k in range(3)])
    assert sorted(watched.ended) == [(k, "Ended") for k in range(3)]


@pytest.mark.skipif(os.name != "posix", reason="sends signals to a thread")
def test_ctrl_c_at_any_line(problem: Problem) -> None:
    """Whatever line of this module the signal finds: it comes out, and no thread stays."""
    here = threading.main_thread().ident or 0
    file = sys.modules[run_side_by_side.__module__].__file__
    lines = 0

    def strike_at(line: int) -> bool:
        """Return whether the signal struck before all was done."""
        count = 0

        def trace(frame: Any, event: str, argument: object) -> Any:
            nonlocal count, lines
            if frame.f_code.co_filename != file:
                return None
            if event == "line":
                count += 1
                lines = max(lines, count)
                if count == line:
                    signal.pthread_kill(here, signal.SIGINT)
            return trace

        evaluator = Evaluator(problem, Recording(problem))
        sys.settrace(trace)
        try:
            evaluator.side_by_side([descent(1, steps=1), descent(2, steps=1)])
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    assert not strike_at(-1)
    whole = lines
    struck = [strike_at(line) for line in range(1, whole, 7)]
    assert all(struck)


# ---------------------------------------------------------------------------- multi-start


class Watching:
    """An observer that must be called where the run was started."""

    def __init__(self, stop_at: int = -1) -> None:
        self.thread = threading.get_ident()
        self.rows: list[tuple[object, ...]] = []
        self._stop_at = stop_at

    def iteration(self, state: Iteration) -> None:
        assert threading.get_ident() == self.thread
        if state.number == self._stop_at:
            raise StopEstimation("a rule")
        self.rows.append(
            (state.parameters.tobytes(), state.cost, state.simulations, state.jacobians,
             dict(state.details))
        )  # fmt: skip


@pytest.mark.parametrize("options", [{"solver": "scipy"}, {"solver": "ceres"},
                                     {"solver": "ceres", "loss": "huber"}])  # fmt: skip
@pytest.mark.parametrize("broyden", [0, 3])
def test_many_starts_find_what_they_find_one_after_the_other(
    problem: Problem, options: dict[str, str], broyden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = EvaluationSettings(check=False, broyden=broyden)
    problem = dataclasses.replace(problem, evaluation=settings)

    def run() -> tuple[Any, list[tuple[object, ...]], Recording]:
        executor, watching = Recording(problem), Watching()
        with Evaluator(problem, executor) as evaluator:
            chosen = {**options, "starts": 12, "max_iterations": 8}
            result = run_estimation(problem, evaluator, LeastSquares(), chosen, [watching])
        return result, watching.rows, executor

    together, rows, executor = run()
    again, same_rows, _ = run()
    assert rows == same_rows
    one_at_a_time(monkeypatch)
    alone, other_rows, slow = run()
    assert together.settings["local_results"] == alone.settings["local_results"]
    assert together.values == alone.values == again.values
    assert together.covariance.tobytes() == alone.covariance.tobytes()
    assert together.simulations == alone.simulations

    def of_start(table: list[tuple[Any, ...]], start: float) -> list[float]:
        return [row[4]["local_cost"] for row in table if row[4]["start"] == start]

    for start in range(1, 13):
        assert of_start(rows, start) == of_start(other_rows, start)
    assert executor.threads == slow.threads == {threading.get_ident()}
    assert len(executor.batches) < len(slow.batches) / 3


@pytest.mark.parametrize("solver", ["scipy", "ceres"])
def test_a_rule_that_ends_the_run_leaves_the_best_of_all_starts(
    problem: Problem, solver: str, capfd: pytest.CaptureFixture[str]
) -> None:
    watching = Watching(stop_at=25)
    with Evaluator(problem, Recording(problem)) as evaluator:
        options = {"solver": solver, "starts": 6}
        result = run_estimation(problem, evaluator, LeastSquares(), options, [watching])
    assert result.status == "stopped"
    assert result.cost_final == pytest.approx(min(i.cost for i in result.history), rel=1e-12)
    assert result.cost_final < result.cost_initial
    assert len({i.details["start"] for i in result.history[6:]}) > 3
    assert capfd.readouterr() == ("", ""), "Ceres complains when it is told to give up"
