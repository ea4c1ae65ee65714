"""Algebraic and Kalman-Bucy as estimators of a problem: options, map, series, whole runs."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fmident.errors import Code, DataError, ProblemError
from fmident.estimation import EstimationResult, run_estimation
from fmident.estimation.contract import Flag
from fmident.estimation.online import collect
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem import Expression
from fmident.problem.model import Parameter, Problem
from fmident_estimators.algebraic.estimator import Algebraic
from fmident_estimators.kalman_bucy.estimator import KalmanBucyEstimator
from fmident_estimators.linear_equation import ParameterMap

from ...refused import refused
from .responses import response

STEP = 2e-3
TIMES = np.arange(1001) * STEP
OMEGA = 14.0
MASS, DAMPING, STIFFNESS = 3.0, 6.0, 400.0
OPTIONS: dict[str, Any] = {"known": {"b0": "1/m"}, "map": {"k": "m*a0", "d": "a1/b0"}}


def oscillator(times, inputs, k, d, m):
    y, _ = response([k / m, d / m, 1.0], [1.0 / m], times, OMEGA, (0.05, 0.0), 100.0)
    return {"x": y}


def problem(sigma: float | None = 1e-4, noise: float = 0.0, **changes: Any) -> Problem:
    x = oscillator(TIMES, {}, STIFFNESS, DAMPING, MASS)["x"]
    x = x + noise * np.random.default_rng(0).normal(size=x.size)
    parameters = [
        Parameter("k", 300.0, 1.0, 1e4, variable="k", unit="N/m"),
        Parameter("d", 1.0, 0.0, 100.0, variable="d"),
        Parameter("m", MASS, variable="m", fixed=True),
    ]
    return python_problem(
        {"x": x},
        TIMES,
        changes.get("parameters", parameters),
        sigma=sigma,
        inputs={"F": 100.0 * np.sin(OMEGA * TIMES)},
    )


def run(made: Problem, estimator: Any, **options: Any) -> EstimationResult:
    with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
        return run_estimation(made, evaluator, estimator, {**OPTIONS, **options})


@pytest.mark.parametrize(
    ("estimator", "options", "accuracy"),
    [
        (Algebraic(), {"window": 0.4}, 1e-7),
        (Algebraic(), {"window": 0.4, "final": "last"}, 1e-7),
        (KalmanBucyEstimator(), {"cutoff": 10.0}, 1e-4),
    ],
)
def test_the_model_with_the_estimates_explains_the_data(estimator, options, accuracy) -> None:
    result = run(problem(), estimator, **options)
    assert result.converged()
    assert result.values["k"] == pytest.approx(STIFFNESS, rel=accuracy)
    assert result.values["d"] == pytest.approx(DAMPING, rel=10 * accuracy)
    assert result.cost_final < 1e-3 * result.cost_initial
    assert result.fits[0].rms < 1e-5
    (series,) = result.series
    assert series.names == ("k", "d")
    assert series.units[0] == "N/m"
    assert series.flags[0] == Flag.FILLING
    assert series.good.sum() > 700
    last = series.last
    assert last is not None
    assert last.time == TIMES[-1]
    assert np.isnan(series.values[0]).all()


@pytest.mark.parametrize(
    ("estimator", "options"),
    [(Algebraic(), {"window": 0.4, "rows": 3}), (KalmanBucyEstimator(), {"forgetting": 0.999})],
)
def test_sample_by_sample_is_the_whole_record(estimator, options) -> None:
    from fmident.estimation import build_options

    made = problem(noise=1e-4)
    chosen = build_options(estimator, {**OPTIONS, **options})
    experiment = made.experiments[0]
    with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
        whole = estimator.track(made, experiment, evaluator, chosen)
        tracker = estimator.start(made, experiment, evaluator, chosen)
        single = collect(made, experiment, tracker)
    np.testing.assert_array_equal(single.flags, whole.flags)
    np.testing.assert_allclose(single.values, whole.values, rtol=1e-8)
    np.testing.assert_allclose(single.standard_errors, whole.standard_errors, rtol=1e-6)


def test_windows_that_are_not_precise_are_left_out() -> None:
    made = problem(sigma=1e-3, noise=1e-3)
    every = run(made, Algebraic(), window=0.1).series[0]
    precise = run(made, Algebraic(), window=0.1, precision={"k": 0.05}).series[0]
    assert 0 < precise.good.sum() < every.good.sum()
    errors = precise.standard_errors[precise.good, 0] / np.abs(precise.values[precise.good, 0])
    assert np.all(errors <= 0.05)
    spread = [np.max(np.abs(s.values[s.good, 0] / STIFFNESS - 1.0)) for s in (every, precise)]
    assert spread[1] < 0.3 * spread[0]


def test_at_rest_there_is_no_estimate_and_the_run_says_so() -> None:
    still = problem()
    measured = dataclasses.replace(
        still.experiments[0].measurements[0], values=np.zeros(TIMES.size)
    )
    experiment = dataclasses.replace(
        still.experiments[0], inputs={"F": np.zeros(TIMES.size)}, measurements=(measured,)
    )
    still = dataclasses.replace(still, experiments=(experiment,))
    result = run(still, Algebraic(), window=0.1)
    assert result.status == "failed"
    assert "do not determine" in result.message
    assert result.values["k"] == 300.0


def test_the_estimate_stays_inside_the_bounds() -> None:
    made = problem()
    tight = dataclasses.replace(made.parameters[0], upper=390.0)
    made = dataclasses.replace(made, parameters=(tight, *made.parameters[1:]))
    assert run(made, Algebraic(), window=0.4).values["k"] == 390.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"map": {"k": "m*a0"}}, "map does not say how 'd' follows"),
        ({"map": {"k": "m*a0", "d": "q*a1"}}, "'q', which is neither"),
        ({"map": {"k": "m*a0", "d": "m*a1", "c": "a0"}}, "'c', which is not a free parameter"),
        ({"map": {"k": "m*a0", "d": "__import__('os')"}}, "there is no function '__import__'"),
        ({"map": {"k": "m*a0", "d": "m*"}}, "an operand is missing at its end"),
        ({"map": {"k": "m*a0", "d": "2 kg*a1"}}, "gives a number a unit"),
        ({"known": {"b0": "1/k"}}, "known.b0 uses 'k'"),
        ({"known": {"b0": "1/(m-m)"}}, "has no value"),
        ({"known": {"b0": 1, "a2": 1}}, "a2 is 1"),
        ({"known": {"b0": 1, "b3": 1}}, "'b3' is not a coefficient"),
        ({"unknown": ["a0"]}, "uses 'a1', which is neither known nor unknown"),
        ({"output": "y"}, "no measured output 'y'"),
        ({"input": "G"}, "no input 'G'"),
        ({"window": 1e-4}, "shorter than 4 sampling intervals"),
        ({"window": -1.0}, "window must be positive"),
        ({"mu": 2}, "mu is 2"),
        ({"precision": {"q": 0.1}}, "'q', which is not a free parameter"),
    ],
)
def test_wrong_options_are_explained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ProblemError, match=message.replace("(", r"\(")):
        run(problem(), Algebraic(), **options)


def test_precision_needs_the_noise() -> None:
    with refused(Code.INVALID_PROBLEM, ProblemError, match="needs the noise of 'x'"):
        run(problem(sigma=None), Algebraic(), precision={"k": 0.1})


def test_a_measurement_model_is_refused() -> None:
    made = problem()
    late = dataclasses.replace(made.experiments[0].measurements[0], gain=2.0)
    experiment = dataclasses.replace(made.experiments[0], measurements=(late,))
    with refused(Code.INVALID_PROBLEM, ProblemError, match="has a gain"):
        run(dataclasses.replace(made, experiments=(experiment,)), Algebraic())


def test_unequal_samples_are_refused() -> None:
    made = problem()
    times = TIMES.copy()
    times[500:] += 0.5 * STEP
    experiment = dataclasses.replace(made.experiments[0], times=times)
    with refused(Code.INVALID_DATA, DataError, match="not equidistant"):
        run(dataclasses.replace(made, experiments=(experiment,)), Algebraic())


def test_a_gap_in_the_times_fills_the_window_anew() -> None:
    made = problem()
    options = Algebraic.options_type(**OPTIONS, window=0.1)
    with Evaluator(made, PythonExecutor(made, oscillator)) as evaluator:
        tracker = Algebraic().start(made, made.experiments[0], evaluator, options)
    x, u = made.experiments[0].measurements[0].values, made.experiments[0].inputs["F"]
    flags = []
    for k in range(300):
        if k in (150, 151, 152):
            continue
        tracker.update(float(TIMES[k]), u[k : k + 1], x[k : k + 1])
        flags.append(tracker.flag)
    assert flags[149] is Flag.GOOD
    assert all(flag is Flag.FILLING for flag in flags[150:195])
    assert flags[-1] is Flag.GOOD


def test_standard_errors_follow_from_the_derivatives_of_the_formulas() -> None:
    formulas = [Expression("m*a0**-1"), Expression("sqrt(a1)")]
    parameters = ParameterMap(("a0", "a1"), formulas, {"m": 3.0})
    coefficients, covariance = np.array([2.0, 9.0]), np.diag([0.04, 0.36])
    np.testing.assert_allclose(parameters(coefficients), [1.5, 3.0], rtol=1e-15)
    errors = parameters.standard_errors(coefficients, covariance)
    np.testing.assert_allclose(errors, [0.15, 0.1], rtol=1e-14)
    both = parameters.standard_errors(np.tile(coefficients, (2, 1)), np.tile(covariance, (2, 1, 1)))
    np.testing.assert_array_equal(both, [errors, errors])


def test_parameters_named_like_coefficients_need_no_map() -> None:
    parameters = [
        Parameter("a0", 100.0, variable="k"),
        Parameter("a1", 1.0, variable="d"),
    ]
    made = problem(parameters=parameters)

    def unit_mass(times, inputs, k, d):
        return oscillator(times, inputs, k * MASS, d * MASS, MASS)

    with Evaluator(made, PythonExecutor(made, unit_mass)) as evaluator:
        result = run_estimation(
            made, evaluator, Algebraic(), {"known": {"b0": 1.0 / MASS}, "window": 0.4}
        )
    assert result.values["a0"] == pytest.approx(STIFFNESS / MASS, rel=1e-7)
