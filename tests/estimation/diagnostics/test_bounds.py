"""What is said where bounds keep the parameters from the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.estimation import run_estimation
from fmident.estimation.diagnostics.constraints import left_beyond_bounds
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.report.verdict import verdict
from fmident_estimators.least_squares.convergence import if_too_coarse
from fmident_estimators.least_squares.estimator import LeastSquares

TIMES = np.linspace(0.0, 10.0, 201)
Bounds = Mapping[str, tuple[float, float]]


def lag(times: F64, inputs: object, gain: float, T: float) -> dict[str, F64]:
    return {"y": gain * (1.0 - np.exp(-np.clip(times - 1.0, 0.0, None) / T))}


def estimated(
    model: Callable[..., dict[str, F64]], measured: F64, bounds: Bounds
) -> EstimationResult:
    noise = 1e-3 * np.random.default_rng(0).standard_normal(TIMES.size)
    parameters = [Parameter(n, 0.5 * (a + b), a, b, variable=n) for n, (a, b) in bounds.items()]
    problem = python_problem({"y": measured + noise}, TIMES, parameters, sigma=1e-3)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        return run_estimation(problem, evaluator, LeastSquares())


@pytest.mark.parametrize("bounds", [(2.5, 9.0), (0.2, 1.6)])
def test_a_truth_outside_the_bounds_is_not_called_a_delay(bounds: tuple[float, float]) -> None:
    measured = lag(TIMES, {}, 1.0, 2.0)["y"]
    found = estimated(lag, measured, {"gain": (0.1, 5.0), "T": bounds})
    assert found.residuals is not None
    assert found.residuals.hiding_bounds == ("T",)
    assert found.residuals.delays == ()
    said = str(verdict(found).findings)
    assert "T = " in said
    assert "widen the bounds" in said
    assert "output-delayed" not in {f.code for f in found.findings}


def test_a_search_converges_on_a_bound_that_hardly_holds_it() -> None:
    measured = lag(TIMES, {}, 1.0, 2.0)["y"]
    free = estimated(lag, measured, {"gain": (0.1, 5.0), "T": (0.2, 9.0)}).estimates[1]
    upper = free.value - free.standard_error
    found = estimated(lag, measured, {"gain": (0.1, 5.0), "T": (0.2, upper)})
    assert found.status == "converged"
    assert found.estimates[1].value == upper
    codes = {f.code for f in found.findings}
    assert "interval-at-bound" in codes
    assert "away-from-minimum" not in codes


def test_every_parameter_on_a_bound() -> None:
    measured = lag(TIMES, {}, 1.0, 2.0)["y"]
    found = estimated(lag, measured, {"gain": (1.2, 5.0), "T": (0.2, 1.6)})
    assert all(e.at_bound for e in found.estimates)
    assert verdict(found).of("at-bound") is not None
    assert "output-delayed" not in {f.code for f in found.findings}


def test_a_delay_is_still_named_beside_a_parameter_on_a_bound() -> None:
    """The sensor is late by 0.3 s; the offset of the model cannot be negative and is not needed."""

    def wave(times: F64, inputs: object, a: float, b: float) -> dict[str, F64]:
        return {"y": a * np.sin(2.0 * times) + b}

    measured = np.sin(2.0 * (TIMES - 0.3)) - 1e-3
    found = estimated(wave, measured, {"a": (0.1, 5.0), "b": (0.0, 1.0)})
    assert found.residuals is not None
    assert found.residuals.hiding_bounds == ()
    assert "estimate its delay" in str(verdict(found).findings)


def test_only_bounds_that_a_descent_crosses_count() -> None:
    parameters = [Parameter(n, 0.0, 0.0, 1.0, variable=n) for n in "ab"]
    problem = python_problem({"y": np.zeros(3)}, np.arange(3.0), parameters)
    held, start = np.array([True, True]), np.zeros(2)
    jacobian = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    # a wants to be -2, b wants to be 3, which is inside; 1 stays.
    residuals = np.array([2.0, -3.0, 1.0])
    left, names = left_beyond_bounds(problem, start, held, jacobian, residuals)
    assert names == ("a",)
    assert left == pytest.approx(np.sqrt(10.0 / 14.0))
    nothing = left_beyond_bounds(problem, start, held, jacobian, -np.abs(residuals))
    assert nothing[1] == ()
    assert np.isnan(nothing[0])


def test_a_coarse_tolerance_is_named() -> None:
    assert "evaluation.tolerance = 0.01" in if_too_coarse(1e-2)
    assert "1e-04" in if_too_coarse(1e-2)
    assert if_too_coarse(1e-8) == if_too_coarse(None) == ""
