"""Finite-difference Jacobians against analytic ones, with and without noise."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.errors import Code, SimulationError
from fmident.evaluation import Evaluator, JacobianError, PythonExecutor, python_problem
from fmident.problem.model import EvaluationSettings, Parameter, Problem

from ...refused import refused

TIMES = np.linspace(0.0, 2.0, 201)
TRUTH = np.array([2.0, 1.5, 30.0])


def model(times: np.ndarray, inputs: object, a: float, k: float, w: float) -> dict:
    return {"y": a * np.exp(-k * times) + 0.01 * w * np.sin(k * times)}


def analytic(p: np.ndarray, sigma: float) -> np.ndarray:
    a, k, w = p
    t = TIMES
    columns = [
        np.exp(-k * t),
        -a * t * np.exp(-k * t) + 0.01 * w * t * np.cos(k * t),
        0.01 * np.sin(k * t),
    ]
    return -np.column_stack(columns) / sigma


def problem_for(difference: str = "forward", sigma: float = 1.0, **settings: object) -> Problem:
    parameters = [
        Parameter("a", 1.0, -10.0, 10.0, variable="a", scale=2.0),
        Parameter("k", 1.0, 1e-3, 10.0, variable="k", scaling="log"),
        Parameter("w", 20.0, 0.0, 1e3, variable="w", scale=20.0),
    ]
    rng = np.random.default_rng(0)
    measured = model(TIMES, {}, *TRUTH)["y"] + sigma * 0.1 * rng.normal(size=TIMES.size)
    return python_problem(
        {"y": measured},
        TIMES,
        parameters,
        sigma=sigma,
        evaluation=EvaluationSettings(check=False, difference=difference, **settings),
    )


def relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.max(np.linalg.norm(found - exact, axis=0) / np.linalg.norm(exact, axis=0)))


@pytest.mark.parametrize(("difference", "bound"), [("forward", 1e-6), ("central", 1e-9)])
@pytest.mark.parametrize("sigma", [1.0, 1e-3])
def test_without_noise_it_is_close_to_the_analytic_one(
    difference: str, bound: float, sigma: float
) -> None:
    problem = problem_for(difference, sigma)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    found = evaluator.jacobian(problem.initial)
    assert relative_error(found, analytic(problem.initial, sigma)) < bound
    assert evaluator.jacobians == 1


def test_without_noise_the_steps_are_near_the_root_of_the_machine_precision() -> None:
    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    evaluator.jacobian(problem.initial)
    sizes = evaluator.step_sizes
    assert sizes is not None
    assert 1e-17 < sizes.noise < 1e-14
    assert 1e-9 < sizes.steps[1] < 1e-6


@pytest.mark.parametrize("level", [1e-8, 1e-5])
@pytest.mark.parametrize("difference", ["forward", "central"])
def test_with_noise_the_error_is_near_the_least_possible(level: float, difference: str) -> None:
    rng = np.random.default_rng(4)

    def noisy(times, inputs, a, k, w):
        return {"y": model(times, inputs, a, k, w)["y"] + level * rng.normal(size=times.size)}

    problem = problem_for(difference)
    evaluator = Evaluator(problem, PythonExecutor(problem, noisy))
    found = evaluator.jacobian(problem.initial)
    sizes = evaluator.step_sizes
    assert sizes is not None
    assert 0.4 * level < sizes.noise < 2.5 * level
    exact = analytic(problem.initial, 1.0)
    # k is the curved direction; the least error of a forward difference is 2^(3/4) sqrt(eps f'').
    error = np.sqrt(np.mean((found[:, 1] - exact[:, 1]) ** 2))
    assert error < 4.0 * np.sqrt(level)
    # A step of 1e-8, as general optimisers take, gives nothing but noise.
    assert level / 1e-8 > 100.0 * error


def test_the_expected_error_is_the_size_of_the_error() -> None:
    level = 1e-6
    rng = np.random.default_rng(4)

    def noisy(times, inputs, a, k, w):
        return {"y": model(times, inputs, a, k, w)["y"] + level * rng.normal(size=times.size)}

    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, noisy))
    error = np.linalg.norm(
        evaluator.jacobian(problem.initial) - analytic(problem.initial, 1.0), axis=0
    )
    expected = evaluator.column_errors(problem.initial)
    assert np.all(error < 4.0 * expected)
    assert np.all(error > 0.1 * expected)


def test_noise_of_an_adaptive_solver_is_found() -> None:
    # Steps whose number depends on the parameter: piecewise smooth with jumps of the size of
    # the local error, as a variable-step solver makes.
    def adaptive(times, inputs, a, k, w):
        count = 200 + int(1e5 * (k + 0.37 * a + 0.01 * w)) % 7
        grid = np.linspace(0.0, times[-1], count)
        return {"y": np.interp(times, grid, model(grid, inputs, a, k, w)["y"])}

    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, adaptive))
    found = evaluator.jacobian(problem.initial)
    assert evaluator.step_sizes.noise > 1e-7
    assert relative_error(found, analytic(problem.initial, 1.0)) < 0.03


def test_bounds_are_respected_at_either_end() -> None:
    seen = []

    def watching(times, inputs, a, k, w):
        seen.append((a, k, w))
        return model(times, inputs, a, k, w)

    for difference in ("forward", "central"):
        problem = problem_for(difference)
        for p in (problem.upper, np.array([-10.0, 1e-3, 0.0])):
            evaluator = Evaluator(problem, PythonExecutor(problem, watching))
            found = evaluator.jacobian(p)
            assert relative_error(found[:, :1], analytic(p, 1.0)[:, :1]) < 1e-6
    low, high = np.min(seen, axis=0), np.max(seen, axis=0)
    assert np.all(low >= problem.lower)
    assert np.all(high <= problem.upper)


def test_a_failing_column_goes_to_the_other_side() -> None:
    def fragile(times, inputs, a, k, w):
        if k > 1.0:
            raise SimulationError("too stiff")
        return model(times, inputs, a, k, w)

    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, fragile))
    found = evaluator.jacobian(problem.initial)
    assert relative_error(found, analytic(problem.initial, 1.0)) < 1e-4


def test_a_column_that_cannot_be_computed_names_the_parameter() -> None:
    def brittle(times, inputs, a, k, w):
        if k != 1.0:
            raise SimulationError("singular")
        return model(times, inputs, a, k, w)

    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, brittle))
    with refused(Code.NO_DERIVATIVE, JacobianError, match=r"'k' cannot be computed.*singular"):
        evaluator.jacobian(problem.initial)


def test_a_step_of_the_problem_is_taken() -> None:
    problem = problem_for(relative_step=1e-3)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    evaluator.jacobian(problem.initial)
    assert evaluator.simulations == 4
    np.testing.assert_allclose(evaluator.step_sizes.steps, [0.5e-3, 1e-3, 1e-3])
    assert "of the problem" in evaluator.step_sizes.reasons[0]


def test_a_parameter_without_influence_has_a_zero_column() -> None:
    problem = problem_for()
    evaluator = Evaluator(
        problem, PythonExecutor(problem, lambda t, u, a, k, w: model(t, u, a, k, 20.0))
    )
    assert np.all(evaluator.jacobian(problem.initial)[:, 2] == 0.0)


def test_the_last_jacobian_is_remembered() -> None:
    problem = problem_for()
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    first = evaluator.jacobian(problem.initial)
    count = evaluator.simulations
    assert evaluator.knows_jacobian(problem.initial)
    np.testing.assert_array_equal(evaluator.jacobian(problem.initial), first)
    assert evaluator.simulations == count
    assert evaluator.jacobians == 1


def test_steps_are_chosen_anew_far_away_but_not_on_the_way_to_zero() -> None:
    def square(times, inputs, a):
        return {"y": (a + a**2) * np.cos(times)}

    problem = python_problem(
        {"y": square(TIMES, {}, 0.0)["y"]},
        TIMES,
        [Parameter("a", 1.0, variable="a", scale=1.0)],
        sigma=1.0,
    )
    evaluator = Evaluator(problem, PythonExecutor(problem, square))
    chosen = []
    for a in (1.0, 1.3, 0.7, 0.2, 0.02, 1e-4, -1e-5, 0.0, 9.0):
        evaluator.jacobian(np.array([a]))
        if not chosen or chosen[-1] is not evaluator.step_sizes:
            chosen.append(evaluator.step_sizes)
    # At 1, at 0.2, where the size of the parameter is the smallest but one, and at 9.
    assert len(chosen) == 3
