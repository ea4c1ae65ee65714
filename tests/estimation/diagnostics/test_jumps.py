"""What the cost around an estimate says of its intervals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np

from fmident.estimation.contract import Estimate
from fmident.estimation.diagnostics import Fit
from fmident.estimation.diagnostics.minima import Jumps, look_around
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
from fmident.evaluation import Evaluator, EventMatching, PythonExecutor, python_problem
from fmident.problem.model import Parameter


def step(times: np.ndarray, inputs: object, at: float) -> dict[str, np.ndarray]:
    return {"y": np.where(times < at, 0.0, 1.0)}


def test_bounds_may_leave_no_point_to_look_at() -> None:
    """An event passes the sample at 0.5 s; whatever is tried beside the estimate is outside."""
    times = np.linspace(0.0, 1.0, 11)
    p = np.array([0.5 + 1e-9])
    parameter = Parameter("at", float(p[0]), 0.5, 0.5 + 2e-9, variable="at")
    problem = python_problem({"y": step(times, {}, 0.5)["y"]}, times, [parameter])
    model = SimpleNamespace(
        residual_variance=1.0, standard_errors=np.array([0.1]), covariance=np.array([[0.01]])
    )
    statistics = SimpleNamespace(local=model)
    with Evaluator(problem, PythonExecutor(problem, step)) as evaluator:
        assert any(k.size for k in EventMatching(problem).moving(evaluator, p))
        fit = Fit(
            problem, evaluator, Estimate(p, "converged", ""), 0.0, np.array([False]),
            uncertainty=cast("VerifiedStatistics", statistics),
        )  # fmt: skip
        found = look_around(fit)
    assert found == Jumps(())
