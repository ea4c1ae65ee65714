"""Draws that an estimator returns: what the host makes of them, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fmident.errors import Code, EstimationError
from fmident.estimation import Draws, Estimate, EstimationResult, Estimator, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.options import Options
from fmident.problem import Expression, Parameter

from ..refused import refused

TIMES = np.linspace(0.0, 1.0, 40)


@dataclass(frozen=True)
class _None(Options):
    """No options."""


class Draws10(Estimator[_None]):
    """Returns given draws."""

    name: ClassVar[str] = "draws-10"
    options_type: ClassVar[type[_None]] = _None
    found: ClassVar[Any] = None

    def estimate(self, problem: Any, evaluator: Any, options: Any, monitor: Any) -> Estimate:
        monitor.iteration(problem.initial, evaluator.cost(problem.initial))
        return Estimate(np.array([2.0, 1.0]), "converged", "drawn", draws=self.found)


def run(values: np.ndarray, noise: np.ndarray) -> EstimationResult:
    def model(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
        return {"y": a * times + b}

    parameters = [
        Parameter("a", 1.5, 0.1, 9.0, variable="a"),
        Parameter("b", 0.5, -9.0, 9.0, variable="b"),
        Parameter("inverse", 0.0, expression=Expression("1/a")),
    ]
    problem = python_problem({"y": 2.0 * TIMES + 1.0 + noise}, TIMES, parameters, sigma=0.1)
    ones = np.full(2, 500.0)
    Draws10.found = Draws(values, -np.ones(values.shape[:2]), ones, ones, np.ones(2), 1000)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, Draws10())


def skewed() -> np.ndarray:
    rng = np.random.default_rng(1)
    return np.stack([rng.gamma(4.0, 0.5, (5, 200)) + 0.2, rng.normal(1.0, 0.1, (5, 200))], axis=2)


def test_intervals_are_the_quantiles_of_the_draws() -> None:
    values = skewed()
    result = run(values, np.zeros(TIMES.size))
    a, b, inverse = result.estimates
    flat = values.reshape(-1, 2)
    assert a.interval_95 == tuple(np.quantile(flat[:, 0], [0.025, 0.975]))
    assert a.standard_error == np.std(flat[:, 0], ddof=1)
    assert b.interval_95 == tuple(np.quantile(flat[:, 1], [0.025, 0.975]))
    assert inverse.interval_95 == pytest.approx(tuple(np.quantile(1 / flat[:, 0], [0.025, 0.975])))
    np.testing.assert_allclose(result.covariance, np.cov(flat.T))
    assert result.draws is not None
    assert result.draws.parameters["a"].mean == np.mean(flat[:, 0])


def test_draws_do_not_count_coloured_noise_and_the_result_says_so() -> None:
    noise = 0.1 * np.sin(9.0 * TIMES)
    result = run(skewed(), noise)
    assert result.noise is None
    assert "residuals-coloured" in {f.code for f in result.findings}


@pytest.mark.parametrize(
    "values", [np.ones((5, 200)), np.ones((5, 200, 3)), np.full((5, 200, 2), 50.0)]
)
def test_draws_of_another_shape_or_outside_of_the_bounds_are_refused(values: np.ndarray) -> None:
    with refused(Code.PLUGIN_FAILED, EstimationError, match="returned"):
        run(values, np.zeros(TIMES.size))
