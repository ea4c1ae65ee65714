"""What the population methods have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.errors import ProblemError, SimulationError
from fmident.estimation import build_options, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter, Problem
from fmident_estimators.population import UnitCube

METHODS = [
    "special-genetic",
    "binary-genetic",
    "cma-es",
    "differential-evolution",
    "particle-swarm",
]
SHORT: dict[str, dict[str, Any]] = {
    "special-genetic": {"generations": 8},
    "binary-genetic": {"generations": 8},
    "cma-es": {"generations": 12},
    "differential-evolution": {"generations": 8},
    "particle-swarm": {"generations": 8},
}
Run = Callable[..., Any]


def line(times, inputs, a, b):
    return {"y": a + b * times}


def problem_of(parameters: list[Parameter]) -> Problem:
    times = np.linspace(0.0, 1.0, 11)
    return python_problem({"y": 2.0 + 30.0 * times}, times, parameters, sigma=0.1)


def box_problem() -> Problem:
    return problem_of(
        [
            Parameter("a", 1.0, 0.0, 5.0, variable="a"),
            Parameter("b", 1.0, 0.1, 1000.0, variable="b", scaling="log"),
        ]
    )


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def estimator(name: str) -> Any:
    return load_plugins().estimators.get(name)()


def test_every_parameter_without_finite_bounds_is_named(method: str, run: Run) -> None:
    problem = problem_of(
        [
            Parameter("a", 1.0, variable="a"),
            Parameter("b", 1.0, 0.0, 9.0, variable="b", scaling="log"),
        ]
    )
    with pytest.raises(ProblemError) as caught:
        run(problem, line, estimator(method), {})
    assert method in caught.value.message
    assert "'a' [-inf, inf]" in caught.value.message
    assert "'b' [0.0, 9.0] with log scaling" in caught.value.message
    assert "bounds" in (caught.value.hint or "")


def test_the_box_maps_corners_and_decades() -> None:
    box = UnitCube.of(box_problem(), "any")
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]])
    points = box.physical(corners)
    np.testing.assert_allclose(points, [[0.0, 0.1], [5.0, 1000.0], [2.5, 10.0]])
    np.testing.assert_allclose(box.unit(points), corners, atol=1e-15)


def test_bounds_that_touch_are_a_point() -> None:
    problem = problem_of(
        [Parameter("a", 2.0, 2.0, 2.0, variable="a"), Parameter("b", 1.0, 0, 9, variable="b")]
    )
    box = UnitCube.of(problem, "any")
    assert np.all(np.isfinite(box.unit(problem.initial)))
    assert box.physical(np.array([0.7, 0.5]))[0] == 2.0


def test_every_generation_is_one_batch(method: str) -> None:
    problem = box_problem()
    batches: list[list[tuple[float, ...]]] = []

    class Recording(PythonExecutor):
        def run(self, tasks):
            batches.append([tuple(task.values.values()) for task in tasks])
            return super().run(tasks)

    with Evaluator(problem, Recording(problem, line)) as evaluator:
        result = run_estimation(problem, evaluator, estimator(method), SHORT[method])
    known = {tuple(problem.initial.tolist())}
    sets = [set(batch) for batch in batches]
    for generation in result.generations[1:]:
        vectors = {tuple(p) for p in generation.points.tolist()}
        # What is known already, such as the best vector, is not simulated again.
        assert any(batch <= vectors and vectors - batch <= known for batch in sets)
        known |= vectors


def test_the_expected_simulations_are_not_exceeded(method: str, run: Run) -> None:
    problem = box_problem()
    result = run(problem, line, estimator(method), SHORT[method])
    options = build_options(estimator(method), SHORT[method])
    expected = estimator(method).expected_simulations(options, problem)
    evaluated = sum(len(g.costs) for g in result.generations[1:])
    assert 0.5 * expected < evaluated <= expected


def test_all_vectors_and_costs_are_kept(method: str, run: Run) -> None:
    problem = box_problem()
    result = run(problem, line, estimator(method), SHORT[method])
    points = np.vstack([g.points for g in result.generations])
    costs = np.concatenate([g.costs for g in result.generations])
    assert points.shape == (costs.size, 2)
    np.testing.assert_array_equal(points[0], problem.initial)
    assert np.all(points >= problem.lower)
    assert np.all(points <= problem.upper)
    assert costs.min() == pytest.approx(result.cost_final)
    np.testing.assert_allclose(
        points[np.argmin(costs)], [result.values["a"], result.values["b"]], rtol=1e-14
    )
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        np.testing.assert_allclose(evaluator.costs(points[::7]), costs[::7])
    assert not points.flags.writeable or not result.generations[0].points.flags.writeable


def test_the_history_tells_best_median_and_worst(method: str, run: Run) -> None:
    result = run(box_problem(), line, estimator(method), SHORT[method])
    for state in result.history[1:]:
        details = state.details
        assert (
            details["generation_best"]
            <= details["generation_median"]
            <= details["generation_worst"]
        )
        assert state.cost <= details["generation_best"]


def test_an_interrupted_run_keeps_its_generations(method: str, run: Run) -> None:
    calls = []

    def interrupted(times, inputs, a, b):
        calls.append(a)
        if len(calls) == 200:
            raise KeyboardInterrupt
        return line(times, inputs, a, b)

    result = run(box_problem(), interrupted, estimator(method), {})
    assert result.status == "interrupted"
    assert len(result.generations) > 1


def test_failed_simulations_cost_infinity_and_are_counted(method: str, run: Run) -> None:
    def fragile(times, inputs, a, b):
        if a > 3.0:
            raise SimulationError("gave up")
        return line(times, inputs, a, b)

    result = run(box_problem(), fragile, estimator(method), SHORT[method])
    points = np.vstack([g.points for g in result.generations])
    costs = np.concatenate([g.costs for g in result.generations])
    np.testing.assert_array_equal(np.isinf(costs), points[:, 0] > 3.0)
    assert sum(s.details["failed"] for s in result.history[1:]) == np.isinf(costs).sum() or (
        method == "binary-genetic"  # a known vector that failed is counted again
    )
    assert result.values["a"] <= 3.0


def test_only_the_initial_point_can_be_simulated(method: str, run: Run) -> None:
    def hopeless(times, inputs, a, b):
        # The host looks whether parameters matter, close to the initial point.
        if abs(a - 1.0) > 1e-2 or abs(b - 1.0) > 1e-2:
            raise SimulationError("gave up")
        return line(times, inputs, a, b)

    result = run(box_problem(), hopeless, estimator(method), SHORT[method])
    assert result.cost_final <= result.cost_initial
    assert np.isfinite(result.cost_final)


def test_a_target_ends_the_search(method: str, run: Run) -> None:
    problem = box_problem()
    result = run(problem, line, estimator(method), {"target_cost": 2000.0})
    assert result.status == "converged"
    assert "target" in result.message
    assert result.cost_final <= 2000.0
    earlier = [s.cost for s in result.history[:-1]]
    assert all(c > 2000.0 for c in earlier) or method == "special-genetic"


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("special-genetic", {"survivors": 0}, "survivors must be at least 1"),
        ("special-genetic", {"range_reduction": 1.5}, "range_reduction"),
        ("special-genetic", {"seed": -1}, "seed must be zero or positive"),
        ("binary-genetic", {"bits": 60}, "bits must be from 1 to 52"),
        ("binary-genetic", {"elites": 50}, "elites"),
        ("binary-genetic", {"mutation": 1.5}, "mutation must be from 0 to 1"),
        ("cma-es", {"population": 2}, "population must be at least 4"),
        ("cma-es", {"initial_step": 0.0}, "initial_step must be positive"),
        ("differential-evolution", {"mutation": [0.5, 2.5]}, "mutation"),
        ("differential-evolution", {"strategy": "best1bim"}, "strategy"),
        ("particle-swarm", {"population": 1}, "population must be at least 2"),
    ],
)
def test_wrong_options_are_refused(name: str, options: Any, words: str, run: Run) -> None:
    with pytest.raises(ProblemError, match=words):
        run(box_problem(), line, estimator(name), options)


def test_cma_says_of_each_restart_how_it_ended(run: Run) -> None:
    result = run(box_problem(), line, estimator("cma-es"), {"restarts": 2})
    searches = result.settings["searches"]
    assert [s["population"] for s in searches] == [6, 12, 24]
    assert "best of 3 searches" in result.message


def test_cma_ends_where_only_the_noise_of_the_simulation_moves_the_cost(run: Run) -> None:
    """A cost far above zero, as noise in the data leaves it, and a simulation with noise."""
    times = np.linspace(0.0, 1.0, 200)
    rng = np.random.default_rng(5)
    measured = 2.0 + 0.5 * times + rng.normal(0.0, 0.1, times.size)
    parameters = [
        Parameter("a", 1.0, 0.0, 5.0, variable="a"),
        Parameter("b", 1.0, 0.0, 5.0, variable="b"),
    ]
    problem = python_problem({"y": measured}, times, parameters, sigma=0.1)

    def noisy(times, inputs, a, b):
        bits = np.frombuffer(np.array([a, b]).tobytes(), np.uint32)
        return {"y": a + b * times + np.random.default_rng(bits).normal(0.0, 1e-6, times.size)}

    options = {"seed": 1, "generations": 400}
    found = run(problem, noisy, estimator("cma-es"), options)
    assert found.status == "converged"
    assert "relative_tolerance" in found.message
    best = np.polynomial.Polynomial.fit(times, measured, 1).convert().coef
    off = np.array([found.values["a"], found.values["b"]]) - best
    # The cost rises by this much from its minimum; residuals of one with noise of 1e-5 each, both
    # in units of sigma, let the cost scatter by sqrt(200) * 1e-5 in this simulation.
    rise = 0.5 * np.sum(((off[0] + off[1] * times) / 0.1) ** 2)
    assert rise < np.sqrt(times.size) * 1e-6 / 0.1
    longer = run(problem, noisy, estimator("cma-es"), {**options, "relative_tolerance": 0.0})
    assert longer.simulations > 3 * found.simulations


def test_differential_evolution_ends_when_the_cost_goes_to_zero(run: Run) -> None:
    result = run(box_problem(), line, estimator("differential-evolution"), {})
    assert result.status == "converged"
    assert len(result.history) < 300
    assert result.values == pytest.approx({"a": 2.0, "b": 30.0}, rel=1e-4)
