"""What data and prior say, and whether they agree, where the noise is correlated in time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import Parameter, Prior

TIMES = np.linspace(0.0, 1.0, 200)
CORRELATION = 0.9


def line(times: np.ndarray, inputs: Any, a: float, b: float) -> Any:
    return {"y": a + b * times}


def estimate(prior: Prior | None, sigma: float | None = None) -> EstimationResult:
    white = np.random.default_rng(4).normal(size=TIMES.size + 400)
    noise = 0.13 * lfilter([1.0], [1.0, -CORRELATION], white)[400:]
    y = line(TIMES, {}, 1.0, 2.0)["y"] + noise
    parameters = [
        Parameter("a", 0.5, -90.0, 90.0, variable="a"),
        Parameter("b", 0.5, -90.0, 90.0, variable="b", prior=prior),
    ]
    problem = python_problem({"y": y}, TIMES, parameters, sigma=sigma)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        return run_estimation(problem, evaluator, estimator, {})


@pytest.mark.parametrize("sigma", [0.3, None])
def test_what_the_data_alone_say_has_the_error_of_their_noise(sigma: float | None) -> None:
    alone = estimate(None, sigma).estimates[1]
    assert alone.standard_error > 2.0 * 0.3 / np.sqrt(np.sum((TIMES - TIMES.mean()) ** 2))
    found = estimate(Prior("normal", alone.value, 3.0 * alone.standard_error), sigma)
    assert found.priors is not None
    (check,) = found.priors.checks
    assert check.data_value == pytest.approx(alone.value, rel=1e-4)
    assert check.data_error == pytest.approx(alone.standard_error, rel=1e-3)


def test_a_vague_prior_is_compared_as_by_the_normal_distribution() -> None:
    """Its own doubt is known; the noise of the data, known with few degrees of freedom, is not."""
    alone = estimate(None).estimates[1]
    sd = 12.0 * alone.standard_error
    found = estimate(Prior("normal", alone.value - 3.0 * np.hypot(sd, alone.standard_error), sd))
    assert found.noise is not None
    assert found.noise.coloured
    assert found.priors is not None
    (check,) = found.priors.checks
    assert check.deviation == pytest.approx(3.0, rel=1e-3)
    assert check.p_value == pytest.approx(2.0 * stats.norm.sf(3.0), rel=0.05)
    assert found.priors.p_value == pytest.approx(check.p_value, rel=1e-6)
