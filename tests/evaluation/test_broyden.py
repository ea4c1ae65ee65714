"""Updates between Jacobians: the secant condition, when differences are due, what a run saves."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.broyden import Basis, broyden_update, updated_basis
from fmident.problem.model import EvaluationSettings, Parameter, Problem
from fmident_estimators.least_squares import LeastSquares

TIMES = np.linspace(0.0, 4.0, 401)
NAMES = ("a", "k", "b", "w", "c", "d", "e", "f", "g")
TRUTH = np.array([2.0, 1.3, 0.7, 6.0, 0.2, 0.3, -0.2, 0.4, 0.1])
START = np.array([1.6, 1.1, 0.9, 5.9, 0.1, 0.2, -0.1, 0.1, 0.2])


def model(times: np.ndarray, inputs: object, **p: float) -> dict[str, np.ndarray]:
    waves = [p[n] * np.cos((k + 2.0) * times) for k, n in enumerate(NAMES[5:])]
    decay = p["a"] * np.exp(-p["k"] * times)
    return {"y": decay + p["b"] * np.sin(p["w"] * times) + p["c"] + sum(waves)}


def problem_with(updates: int) -> Problem:
    rng = np.random.default_rng(3)
    clean = model(TIMES, {}, **dict(zip(NAMES, TRUTH, strict=True)))["y"]
    return python_problem(
        {"y": clean + 0.01 * rng.normal(size=TIMES.size)},
        TIMES,
        [
            Parameter(n, x, -100.0, 100.0, variable=n, scale=abs(x))
            for n, x in zip(NAMES, START, strict=True)
        ],
        sigma=0.01,
        evaluation=EvaluationSettings(check=False, broyden=updates),
    )


def test_the_update_obeys_the_secant_condition_and_leaves_the_rest() -> None:
    rng = np.random.default_rng(0)
    jacobian, step, change = rng.normal(size=(7, 3)), rng.normal(size=3), rng.normal(size=7)
    updated = broyden_update(jacobian, step, change)
    np.testing.assert_allclose(updated @ step, change)
    aside = np.cross(step, [1.0, 0.0, 0.0])
    np.testing.assert_allclose(updated @ aside, jacobian @ aside)


def basis_for(jacobian: np.ndarray, updates: int = 0) -> Basis:
    return Basis(np.zeros(2), np.ones(2), jacobian, updates, evaluated=5)


@pytest.mark.parametrize(
    ("residuals", "evaluated", "updates", "expected"),
    [
        (np.array([0.5, 1.0]), 6, 0, True),
        (np.array([0.5, 1.0]), 7, 0, False),  # a step was rejected
        (np.array([0.5, 1.0]), 6, 2, False),  # enough updates
        (np.array([0.8, 1.0]), 6, 0, False),  # as predicted, but little of what is possible
        (np.array([0.95, 1.0]), 6, 0, False),  # a far smaller gain than predicted
        (np.array([1.2, 1.0]), 6, 0, False),  # no gain
    ],
)
def test_differences_are_due_when_the_search_stalls(
    residuals: np.ndarray, evaluated: int, updates: int, expected: bool
) -> None:
    basis = basis_for(-np.eye(2), updates)
    step = np.array([1.0 - min(residuals[0], 0.8), 0.0])
    found = updated_basis(
        basis, step, residuals, evaluated, most=2, movable=np.array([True, residuals[0] == 0.8])
    )
    assert (found is not None) == expected
    if found is not None:
        assert found.updates == updates + 1


@pytest.mark.parametrize("solver", ["scipy", "ceres"])
def test_updates_save_simulations_and_reach_the_same_optimum(solver: str) -> None:
    found = {}
    for updates in (0, 3):
        problem = problem_with(updates)
        evaluator = Evaluator(problem, PythonExecutor(problem, model))
        options = {"solver": solver, "cost_tolerance": 1e-12}
        result = run_estimation(problem, evaluator, LeastSquares(), options)
        assert result.converged()
        assert (evaluator.jacobian_updates > 0) == (updates > 0)
        found[updates] = result
    assert found[3].simulations < found[0].simulations
    assert found[3].jacobians < found[0].jacobians
    for name in NAMES:
        assert found[3].values[name] == pytest.approx(found[0].values[name], rel=1e-6)
    np.testing.assert_allclose(found[3].covariance, found[0].covariance, rtol=1e-4)


@pytest.mark.parametrize("solver", ["scipy", "ceres"])
def test_the_jacobian_at_the_end_is_one_by_differences(solver: str) -> None:
    problem = problem_with(50)
    evaluator = Evaluator(problem, PythonExecutor(problem, model))
    result = run_estimation(problem, evaluator, LeastSquares(), {"solver": solver})
    p = np.array(list(result.values.values()))
    assert evaluator.knows_jacobian(p)
    plain = dataclasses.replace(problem, evaluation=EvaluationSettings(check=False))
    fresh = Evaluator(plain, PythonExecutor(plain, model)).jacobian(p)
    np.testing.assert_allclose(evaluator.jacobian(p), fresh, atol=1e-3)


def test_a_poor_jacobian_is_given_up_when_a_step_is_rejected() -> None:
    def curved(times, inputs, a, b):
        return {"y": np.r_[10.0 * (b - a**2), 1.0 - a] * np.ones(2)}

    times = np.array([0.0, 1.0])
    problem = python_problem(
        {"y": np.zeros(2)},
        times,
        [Parameter("a", -1.2, variable="a"), Parameter("b", 1.0, variable="b")],
        sigma=1.0,
        evaluation=EvaluationSettings(check=False, broyden=4),
    )
    for solver in ("scipy", "ceres"):
        evaluator = Evaluator(problem, PythonExecutor(problem, curved))
        result = run_estimation(problem, evaluator, LeastSquares(), {"solver": solver})
        assert result.converged()
        assert result.values == pytest.approx({"a": 1.0, "b": 1.0}, rel=1e-6)
