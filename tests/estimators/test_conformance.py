"""What every registered estimator must do, on problems anyone can solve.

An estimator of a new plugin is picked up by itself. Options under which it is to be tested as
well are added to ``VARIANTS``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.errors import SimulationError
from fmident.estimation import (
    EstimationResult,
    Estimator,
    StopEstimation,
    build_options,
    run_estimation,
)
from fmident.evaluation import Evaluator, PythonExecutor
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter, Problem

VARIANTS: dict[str, list[dict[str, Any]]] = {
    "least-squares": [
        {"solver": "scipy"},
        {"solver": "ceres"},
        {"solver": "scipy", "loss": "huber"},
        {"solver": "ceres", "loss": "soft_l1"},
        {"solver": "scipy", "starts": 3},
        {"solver": "ceres", "starts": 3},
    ],
    "special-genetic": [{}, {"start_from_initial": False}],
    "binary-genetic": [{"generations": 40}, {"generations": 40, "elites": 0, "gray": True}],
    "cma-es": [{}, {"restarts": 1}],
    "differential-evolution": [{}],
}

CLAIMS_NOTHING_AT_ITS_LIMIT = {"binary-genetic"}
"""Estimators that only ever run out of time."""

Run = Callable[..., EstimationResult]
Make = Callable[..., Problem]


def cases() -> list[Any]:
    """One per estimator and variant."""
    found = []
    for name, registration in load_plugins().estimators.registrations.items():
        if registration.item.needs:
            reason = f"'{name}' needs {registration.item.needs}"
            skipped = pytest.mark.skip(reason=reason)
            found.append(pytest.param(registration.item, {}, id=name, marks=skipped))
            continue
        for options in VARIANTS.get(name, [{}]):
            label = "-".join([name, *(f"{v}" for v in options.values())])
            found.append(pytest.param(registration.item, options, id=label))
    return found


EVERY = pytest.mark.parametrize(("kind", "options"), cases())


def decay(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
    return {"y": a * np.exp(-k * times)}


TRUTH = {"a": 2.0, "k": 1.3}


def bounded(**initial: float) -> list[Parameter]:
    start = {"a": 1.0, "k": 0.5, **initial}
    return [
        Parameter("a", start["a"], 0.1, 5.0, variable="a"),
        Parameter("k", start["k"], 0.1, 3.0, variable="k"),
    ]


@pytest.fixture
def noisy(make_problem: Make) -> Problem:
    return make_problem(decay, TRUTH, bounded(), noise=0.05)


def test_there_are_estimators() -> None:
    assert "least-squares" in load_plugins().estimators.names()


@EVERY
def test_defaults_are_valid_options(kind: type[Estimator[Any]], options: dict[str, Any]) -> None:
    assert dataclasses.is_dataclass(build_options(kind, {}))
    assert kind.name
    assert kind.summary


@EVERY
def test_the_truth_lies_in_the_intervals(
    kind: type[Estimator[Any]], options: dict[str, Any], noisy: Problem, run: Run
) -> None:
    result = run(noisy, decay, kind(), options)
    assert result.message
    assert result.cost_final < result.cost_initial
    limited = kind.name not in VARIANTS or kind.name in CLAIMS_NOTHING_AT_ITS_LIMIT
    if limited and result.status == "limit":
        return
    assert result.status == "converged"
    table = result.parameters
    for name, value in TRUTH.items():
        # 99.99 % instead of 95 %, so that one draw of noise cannot fail.
        assert table.loc[name, "value"] == pytest.approx(
            value, abs=4.0 * table.loc[name, "standard_error"]
        )


@EVERY
def test_bounds_are_respected_in_every_simulation(
    kind: type[Estimator[Any]], options: dict[str, Any], make_problem: Make, run: Run
) -> None:
    seen: list[tuple[float, float]] = []

    def watched(times, inputs, a, k):
        seen.append((a, k))
        return decay(times, inputs, a, k)

    parameters = [
        Parameter("a", 1.0, 0.5, 1.8, variable="a"),
        Parameter("k", 0.5, 0.5, 1.1, variable="k"),
    ]
    problem = make_problem(decay, TRUTH, parameters, noise=0.05)
    seen.clear()
    result = run(problem, watched, kind(), options)
    visited = np.array(seen)
    assert np.all(visited >= problem.lower)
    assert np.all(visited <= problem.upper)
    found = np.array([result.values["a"], result.values["k"]])
    assert np.all((found >= problem.lower) & (found <= problem.upper))


@EVERY
def test_failing_simulations_are_survived(
    kind: type[Estimator[Any]], options: dict[str, Any], make_problem: Make, run: Run
) -> None:
    def fragile(times, inputs, a, k):
        if a > 2.2 or k > 1.5:
            raise SimulationError("solver gave up")
        return decay(times, inputs, a, k)

    problem = make_problem(decay, TRUTH, bounded(), noise=0.02)
    result = run(problem, fragile, kind(), options)
    assert result.cost_final < result.cost_initial
    if result.status == "converged":
        assert result.values == pytest.approx(TRUTH, abs=0.1)


@EVERY
def test_the_same_run_gives_the_same_bits(
    kind: type[Estimator[Any]], options: dict[str, Any], noisy: Problem, run: Run
) -> None:
    first, second = (run(noisy, decay, kind(), options) for _ in range(2))
    assert first.values == second.values
    assert first.simulations == second.simulations
    assert [i.cost for i in first.history] == [i.cost for i in second.history]


class Shuffled(PythonExecutor):
    """Runs tasks in an order of its own, as workers that finish at different times do."""

    def run(self, tasks, done=None):
        order = np.random.default_rng(len(tasks)).permutation(len(tasks))
        found = dict(zip(order.tolist(), super().run([tasks[i] for i in order], done), strict=True))
        return [found[i] for i in range(len(tasks))]


@EVERY
def test_the_result_does_not_depend_on_who_simulates_first(
    kind: type[Estimator[Any]], options: dict[str, Any], noisy: Problem, run: Run
) -> None:
    expected = run(noisy, decay, kind(), options)
    with Evaluator(noisy, Shuffled(noisy, decay)) as evaluator:
        found = run_estimation(noisy, evaluator, kind(), options)
    assert found.values == expected.values
    assert [i.cost for i in found.history] == [i.cost for i in expected.history]


@EVERY
def test_a_seed_gives_a_run_of_its_own(
    kind: type[Estimator[Any]], options: dict[str, Any], noisy: Problem, run: Run
) -> None:
    if "seed" not in {f.name for f in dataclasses.fields(kind.options_type)}:
        pytest.skip("no option 'seed'")
    np.random.seed(1)  # noqa: NPY002
    first = run(noisy, decay, kind(), {**options, "seed": 7})
    np.random.seed(2)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    second = run(noisy, decay, kind(), {**options, "seed": 7})
    after = np.random.get_state()[1]  # noqa: NPY002
    other = run(noisy, decay, kind(), {**options, "seed": 8})
    np.testing.assert_array_equal(before, after)
    assert first.values == second.values
    assert [i.cost for i in first.history] == [i.cost for i in second.history]
    if first.generations:
        for one, two in zip(first.generations, second.generations, strict=True):
            np.testing.assert_array_equal(one.points, two.points)
            np.testing.assert_array_equal(one.costs, two.costs)
        assert not np.array_equal(first.generations[1].points, other.generations[1].points)


@EVERY
def test_iterations_are_reported_from_the_start(
    kind: type[Estimator[Any]], options: dict[str, Any], noisy: Problem, run: Run
) -> None:
    result = run(noisy, decay, kind(), options)
    assert len(result.history) >= 2
    np.testing.assert_array_equal(result.history[0].parameters, noisy.initial)
    costs = [i.cost for i in result.history]
    assert costs == sorted(costs, reverse=True), "the best cost so far cannot rise"
    simulations = [i.simulations for i in result.history]
    assert simulations == sorted(simulations)


@EVERY
@pytest.mark.parametrize("at", [0, 1])
def test_a_request_to_stop_is_honoured(
    kind: type[Estimator[Any]], options: dict[str, Any], at: int, noisy: Problem, run: Run
) -> None:
    class Stopper:
        def iteration(self, state):
            if state.number == at:
                raise StopEstimation("enough")

    result = run(noisy, decay, kind(), options, [Stopper()])
    assert result.status == "stopped"
    assert len(result.history) == at + 1
    np.testing.assert_array_equal(
        [result.values["a"], result.values["k"]], result.history[-1].parameters
    )


@EVERY
@pytest.mark.parametrize("after", [3, 12, 20])
def test_ctrl_c_ends_with_the_best_so_far(
    kind: type[Estimator[Any]], options: dict[str, Any], after: int, noisy: Problem, run: Run
) -> None:
    calls = []

    def interrupted(times, inputs, a, k):
        calls.append(a)
        if len(calls) == after:
            raise KeyboardInterrupt
        return decay(times, inputs, a, k)

    result = run(noisy, interrupted, kind(), options)
    assert result.status == "interrupted"
    assert np.isfinite(result.cost_final)
    assert result.cost_final <= result.cost_initial
    assert "interrupted" in result.message


@EVERY
def test_a_single_parameter(
    kind: type[Estimator[Any]], options: dict[str, Any], make_problem: Make, run: Run
) -> None:
    def gain(times, inputs, a):
        return {"y": a * np.sin(times)}

    parameters = [Parameter("a", 0.5, 0.0, 10.0, variable="a")]
    problem = make_problem(gain, {"a": 3.0}, parameters, noise=0.01)
    result = run(problem, gain, kind(), options)
    assert result.cost_final < result.cost_initial
    if result.status == "converged":
        assert result.values["a"] == pytest.approx(3.0, abs=0.02)


@EVERY
def test_a_start_at_the_solution(
    kind: type[Estimator[Any]], options: dict[str, Any], make_problem: Make, run: Run
) -> None:
    problem = make_problem(decay, TRUTH, bounded(**TRUTH))
    result = run(problem, decay, kind(), options)
    assert result.values == pytest.approx(TRUTH, rel=1e-6)
    assert result.cost_final == pytest.approx(0.0, abs=1e-9)
