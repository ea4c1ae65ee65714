"""Single samples that are far off are told apart from noise, and from what a model lacks."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict

TIMES = 0.01 * np.arange(600)


def estimated(disturbance: F64, loss: str = "linear") -> EstimationResult:
    parameters = [Parameter("a", 1.2, variable="a"), Parameter("b", 0.9, variable="b")]
    problem = python_problem({"y": 1.0 + 2.0 * TIMES + disturbance}, TIMES, parameters)

    def line(times, inputs, a, b):
        return {"y": a + b * times}

    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        estimator = load_plugins().estimators.get("least-squares")()
        return run_estimation(problem, evaluator, estimator, {"loss": loss})


@pytest.mark.parametrize(
    ("places", "loss", "found"),
    [
        ([50, 170, 333, 420, 591], "linear", {"y": 5}),
        ([50, 170, 333, 420, 591], "soft_l1", {"y": 5}),
        ([300, 301, 302, 303, 304, 305], "linear", {}),
        ([], "linear", {}),
    ],
    ids=["alone", "robust loss", "in a row", "noise"],
)
def test_samples_far_off(places: list[int], loss: str, found: dict[str, int]) -> None:
    disturbance = 0.01 * np.random.default_rng(1).standard_normal(TIMES.size)
    disturbance[places] += 0.5
    result = estimated(disturbance, loss)
    assert result.residuals is not None
    assert result.residuals.outliers == found
    assert ("hampel" in " ".join(f.hint for f in verdict(result).findings)) == (
        bool(found) and loss == "linear"
    )


def test_heavy_tails_are_not_outliers() -> None:
    for seed in range(20):
        result = estimated(0.01 * np.random.default_rng(seed).laplace(size=TIMES.size))
        assert result.residuals is not None
        assert result.residuals.outliers == {}
