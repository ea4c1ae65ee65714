"""Few samples cannot show that noise is not white, and a note says so."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter


@pytest.mark.parametrize(
    ("samples", "noise", "said"),
    [(59, 0.1, True), (60, 0.1, False), (30, 0.0, False)],
    ids=["few", "enough", "without noise"],
)
def test_few_samples(samples: int, noise: float, said: bool) -> None:
    times = 0.1 * np.arange(samples)
    deviations = noise * np.random.default_rng(1).standard_normal(samples)
    measured = {"y": 1.0 + 2.0 * times + deviations}
    parameters = [Parameter("a", 1.2, variable="a"), Parameter("b", 0.9, variable="b")]
    problem = python_problem(measured, times, parameters)

    def line(times, inputs, a, b):
        return {"y": a + b * times}

    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        result = run_estimation(problem, evaluator, estimator, {})
    notes = [f.text for f in result.findings if f.code == "residuals-short"]
    assert len(notes) == said
    assert not said or f"({samples} of 'y')" in notes[0]
