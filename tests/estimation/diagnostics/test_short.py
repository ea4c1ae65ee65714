"""Few samples cannot show that noise is not white, and a note says so."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict


@pytest.mark.parametrize(
    ("samples", "noise", "said"),
    [(59, 0.1, True), (60, 0.1, False), (30, 0.0, False)],
    ids=["few", "enough", "without noise"],
)
def test_few_samples(samples: int, noise: float, said: bool) -> None:
    notes = [f.text for f in estimated(samples, noise).findings if f.code == "residuals-short"]
    assert len(notes) == said
    assert not said or f"({samples} of 'y')" in notes[0]


def estimated(samples: int, noise: float) -> EstimationResult:
    """Return the estimate of a straight line."""
    times = 0.1 * np.arange(samples)
    deviations = noise * np.random.default_rng(1).standard_normal(samples)
    measured = {"y": 1.0 + 2.0 * times + deviations}
    parameters = [Parameter("a", 1.2, variable="a"), Parameter("b", 0.9, variable="b")]
    problem = python_problem(measured, times, parameters)

    def line(times, inputs, a, b):
        return {"y": a + b * times}

    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        return run_estimation(problem, evaluator, estimator, {})


@pytest.mark.parametrize(("samples", "quantile"), [(3, 12.706), (4, 4.303), (7, 2.571)])
def test_intervals_that_are_wide_since_the_noise_is_hardly_known(
    samples: int, quantile: float
) -> None:
    """Student's t with 1, 2 and 5 degrees of freedom: from 5 on it is not worth a warning."""
    result = estimated(samples, 0.1)
    for e in result.estimates:
        half = 0.5 * (e.interval_95[1] - e.interval_95[0])
        assert half == pytest.approx(quantile * e.standard_error, rel=1e-3)
    warning = verdict(result).of("few-degrees-of-freedom")
    assert (warning is not None) == (samples < 7)
    if warning is not None:
        assert f" {samples - 2} degrees of freedom" in warning.text
        assert f" {quantile:.3g} standard errors" in warning.text
