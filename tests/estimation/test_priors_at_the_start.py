"""Priors around the initial values: parameters stay near these along what the data leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

from fmident.errors import Code, ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter, Prior

from ..refused import refused

TIMES = np.linspace(0.0, 1.0, 40)
SIGMA = 0.01
START = {"a": 1.0, "b": 4.0, "c": 1.0, "d": 7.0}


def product(times: np.ndarray, inputs: Any, a: float, b: float, c: float, d: float) -> Any:
    """Return what shows a product, a rate, and nothing of the last parameter."""
    return {"y": a * b * np.exp(-c * times)}


def run(noise: float = 0.0, kind: Any = "normal", **options: Any) -> EstimationResult:
    measured = 6.0 * np.exp(-1.5 * TIMES)
    measured += noise * np.random.default_rng(3).normal(size=TIMES.size)
    parameters = [
        Parameter(n, x, 0.01, 50.0, variable=n, prior=Prior(kind, x, x)) for n, x in START.items()
    ]
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=SIGMA)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, product)) as evaluator:
        return run_estimation(problem, evaluator, estimator, options)


def test_a_product_is_fitted_by_the_point_nearest_to_the_start() -> None:
    """In standard deviations of the priors, of all that fit."""
    result = run()
    a, b, c, d = result.values.values()
    assert result.status == "converged"
    assert a * b == pytest.approx(6.0, rel=1e-4)
    assert c == pytest.approx(1.5, rel=1e-4)
    assert d == pytest.approx(7.0, rel=1e-9)  # nothing moves it
    nearest = optimize.minimize_scalar(
        lambda x: (x - 1.0) ** 2 + (6.0 / x / 4.0 - 1.0) ** 2,
        bounds=(0.5, 5.0),
        options={"xatol": 1e-12},
    )
    assert a == pytest.approx(nearest.x, rel=1e-4)


def test_the_covariance_counts_what_the_data_leave_open() -> None:
    result = run(SIGMA)
    a, b, c, _ = result.values.values()
    decay = np.exp(-c * TIMES)
    columns = np.column_stack([b * decay, a * decay, -a * b * TIMES * decay, 0.0 * TIMES])
    start = np.array(list(START.values()))
    exact = np.linalg.inv(columns.T @ columns / SIGMA**2 + np.diag(start**-2.0))
    np.testing.assert_allclose(result.covariance, exact, rtol=1e-5, atol=1e-10)
    assert result.priors is not None
    assert result.priors.shares["a"] > 0.99 > 0.01 > result.priors.shares["c"]


def test_lognormal_priors_keep_the_ratio() -> None:
    values = run(kind="lognormal").values
    assert values["b"] / values["a"] == pytest.approx(4.0, rel=1e-6)
    assert values["a"] * values["b"] == pytest.approx(6.0, rel=1e-4)


def test_the_option_truncate_says_what_to_do_instead() -> None:
    with refused(Code.UNKNOWN_KEY, ProblemError, match="truncate") as caught:
        run(truncate="auto")
    assert "prior" in (caught.value.hint or "")
