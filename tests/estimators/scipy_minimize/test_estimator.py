"""Constrained least squares with known solutions: Lagrange's multipliers, SciPy's own answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Parameter, Problem, read_constraint

T = np.linspace(0.0, 2.0, 40)
SIGMA = 0.05
X = np.column_stack([np.ones_like(T), T, np.cos(4.0 * T)])
TRUTH = np.array([1.0, 2.0, 0.5])
Y = X @ TRUTH + SIGMA * np.random.default_rng(5).normal(size=T.size)
METHODS = ["SLSQP", "trust-constr"]


def line(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> dict[str, np.ndarray]:
    return {"y": a + b * times + c * np.cos(4.0 * times)}


def problem(*constraints: str, method: str = "SLSQP", **changes: Any) -> Problem:
    import dataclasses

    settings = {"a": {}, "b": {}, "c": {}} | changes
    made = python_problem(
        {"y": Y},
        T,
        [Parameter(n, **{"initial": 0.7, "variable": n, **settings[n]}) for n in "abc"],
        sigma=SIGMA,
        estimator=EstimatorSettings("scipy-minimize", {"method": method}),
    )
    read = [c for k, text in enumerate(constraints) for c in read_constraint(f"c{k}", text)]
    return dataclasses.replace(made, constraints=tuple(read))


def solve(given: Problem, model: Any = line) -> EstimationResult:
    estimator = load_plugins().estimators.get(given.estimator.name)()
    with Evaluator(given, PythonExecutor(given, model)) as evaluator:
        return run_estimation(given, evaluator, estimator)


def values(result: EstimationResult) -> np.ndarray:
    return np.array([result.values[n] for n in "abc"])


def lagrange(rows: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of min |X p - Y| with rows p = right."""
    k = len(right)
    system = np.block([[X.T @ X, rows.T], [rows, np.zeros((k, k))]])
    return np.linalg.solve(system, np.concatenate([X.T @ Y, right]))[:3]


def test_parameters_without_simulations_are_expected_to_take_none() -> None:
    estimator = load_plugins().estimators.get("scipy-minimize")()
    options = estimator.options_type()
    own = {name: {"variable": None} for name in "abc"}
    alone = estimator.expected_simulations(options, problem(**own))
    moved = estimator.expected_simulations(options, problem())
    assert alone is not None
    assert moved is not None
    assert alone <= 20 < 3 * alone <= moved


@pytest.mark.parametrize("method", METHODS)
def test_without_constraints_it_is_least_squares(method: str) -> None:
    result = solve(problem(method=method))
    assert result.status == "converged"
    np.testing.assert_allclose(values(result), np.linalg.lstsq(X, Y)[0], rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("texts", "rows", "right"),
    [
        (["a + b = 3.2"], [[1.0, 1.0, 0.0]], [3.2]),
        (["2*a - c = b/4 + 1"], [[2.0, -0.25, -1.0]], [1.0]),
        (["a = c", "b = 3*c"], [[1.0, 0.0, -1.0], [0.0, 1.0, -3.0]], [0.0, 0.0]),
        (["a <= 0.9"], [[1.0, 0.0, 0.0]], [0.9]),
        (["a + b <= 2.5", "c >= 0.1"], [[1.0, 1.0, 0.0]], [2.5]),
        (["0 <= a - b <= 5"], [[1.0, -1.0, 0.0]], [0.0]),
        (["a + b = 3.2", "c >= 0.8"], [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [3.2, 0.8]),
    ],
    ids=str,
)
def test_linear_constraints(
    method: str, texts: list[str], rows: list[list[float]], right: list[float]
) -> None:
    result = solve(problem(*texts, method=method))
    assert result.status == "converged", result.message
    np.testing.assert_allclose(
        values(result), lagrange(np.array(rows), np.array(right)), rtol=1e-6, atol=1e-8
    )


@pytest.mark.parametrize("method", METHODS)
def test_inactive_constraints_change_nothing(method: str) -> None:
    result = solve(problem("a + b >= 1", "b <= 7", "a*b >= 0.1", method=method))
    assert result.status == "converged", result.message
    np.testing.assert_allclose(values(result), np.linalg.lstsq(X, Y)[0], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("text", "function"),
    [
        ("a*b = 1.5", lambda p: p[0] * p[1] - 1.5),
        ("a^2 + b^2 + c^2 = 4", lambda p: p @ p - 4.0),
        ("sqrt(a*b) >= 1.6", lambda p: np.sqrt(p[0] * p[1]) - 1.6),
        ("exp(c) <= b/2", lambda p: p[1] / 2 - np.exp(p[2])),
    ],
)
def test_nonlinear_constraints_against_scipy(method: str, text: str, function: Any) -> None:
    result = solve(problem(text, method=method))
    assert result.status == "converged", result.message
    kind = "eq" if "<" not in text and ">" not in text else "ineq"
    expected = optimize.minimize(
        lambda p: 0.5 * np.sum((X @ p - Y) ** 2),
        TRUTH,
        jac=lambda p: X.T @ (X @ p - Y),
        constraints=[{"type": kind, "fun": function}],
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(values(result), expected.x, rtol=1e-5)
    assert abs(function(values(result))) < 1e-9


def test_logarithms_and_bounds() -> None:
    given = problem(
        "a*b = 1.5",
        a={"scaling": "log", "lower": 0.1, "upper": 10.0},
        b={"scaling": "log", "lower": 0.1, "upper": 1.7},
    )
    result = solve(given)
    assert result.status == "converged", result.message
    a, b, _ = values(result)
    assert a * b == pytest.approx(1.5, rel=1e-9)
    assert b <= 1.7


def test_the_start_need_not_keep_the_constraints() -> None:
    result = solve(problem("a + b = 3.2", "c >= 0.6", a={"initial": -4.0}, c={"initial": -1.0}))
    assert result.status == "converged", result.message
    first = result.history[0].parameters
    assert first[0] + first[1] == pytest.approx(3.2)
    assert first[2] >= 0.6 - 1e-9


def test_a_gradient_is_that_of_the_cost() -> None:
    given = problem()
    with Evaluator(given, PythonExecutor(given, line)) as evaluator:
        p = np.array([0.3, 0.4, 0.5])
        expected = -X.T @ (Y - X @ p) / SIGMA**2
        np.testing.assert_allclose(evaluator.gradient(p), expected, rtol=1e-6)
        assert evaluator.jacobians == 1


def test_a_nonlinear_model_with_a_nonlinear_constraint() -> None:
    def model(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> Any:
        return {"y": a * np.exp(-b * times) + c}

    given = problem("a*b <= 1", b={"initial": 0.5, "lower": 0.01, "upper": 9.0})
    result = solve(given, model)
    assert result.status == "converged", result.message
    a, b, _ = values(result)
    assert a * b <= 1.0 + 1e-9


def test_failing_simulations_shorten_steps() -> None:
    from fmident.errors import SimulationError

    def model(times: np.ndarray, inputs: Any, a: float, b: float, c: float) -> Any:
        if b > 2.3:
            raise SimulationError("too fast")
        return line(times, inputs, a, b, c)

    result = solve(problem("a + b = 3.2"), model)
    assert result.status == "converged", result.message
