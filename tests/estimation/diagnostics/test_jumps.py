"""What the cost around an estimate says of its intervals."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.estimation.contract import Estimate
from fmident.estimation.diagnostics import Fit
from fmident.estimation.diagnostics.jumps import Jumps, jumps_around
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
from fmident.evaluation import Evaluator, EventMatching, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident_estimators.least_squares.estimator import LeastSquares


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
        found = jumps_around(fit)
    assert found == Jumps(())


def bounce(
    times: np.ndarray, inputs: object, gravity: float, restitution: float, offset: float
) -> dict[str, np.ndarray]:
    """A ball dropped from 1 m, whose impacts are seen at steps of a millisecond only."""
    step, heights, h, v = 1e-3, [1.0], 1.0, 0.0
    for _ in range(round(times[-1] / step)):
        h, v = h + step * v, v - step * gravity
        if h < 0.0:
            h, v = -restitution * h, -restitution * v
        heights.append(h)
    return {"h": np.array(heights)[np.round(times / step).astype(int)] + offset}


@pytest.mark.parametrize("seed", range(2))
def test_a_bounce_costs_those_parameters_their_intervals_that_move_it(seed: int) -> None:
    """The offset of the sensor moves no impact; on its line the other two would."""
    times, truth = np.linspace(0.0, 2.0, 81), {"gravity": 9.81, "restitution": 0.8, "offset": 0.1}
    clean = bounce(times, {}, **truth)["h"]
    noisy = clean + 0.02 * np.random.default_rng(seed).standard_normal(times.size)
    parameters = [
        Parameter("gravity", 9.6, 5.0, 15.0, variable="gravity"),
        Parameter("restitution", 0.81, 0.1, 1.0, variable="restitution"),
        Parameter("offset", 0.0, -1.0, 1.0, variable="offset"),
    ]
    problem = python_problem({"h": noisy}, times, parameters)
    with Evaluator(problem, PythonExecutor(problem, bounce)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    estimates = {e.name: e for e in result.estimates}
    assert np.isnan([estimates[n].standard_error for n in ("gravity", "restitution")]).all()
    assert result.identifiability is not None
    assert result.identifiability.jumps == ("gravity", "restitution")
    low, high = estimates["offset"].interval_95
    assert low < 0.1 < high
    # Alone it would be known to 0.02 / 9.
    assert estimates["offset"].standard_error == pytest.approx(0.02 / 9.0, rel=0.25)
