"""Curvature at the ends of linear intervals, and profiles in their place.

The settings were chosen on other models than those of the studies of coverage below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest

from fmident.api.results import compare
from fmident.estimation import run_estimation
from fmident.estimation.result import CURVED, EstimationResult
from fmident.estimation.run import Profiling, without_profiles
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem
from fmident.profiles.intervals import with_profile_intervals
from fmident_estimators.least_squares.estimator import LeastSquares

Signals = dict[str, np.ndarray]


def saturating(times: np.ndarray, _: object, vmax: float, km: float) -> Signals:
    """Michaelis and Menten."""
    return {"v": vmax * times / (km + times)}


def two_rates(times: np.ndarray, _: object, k1: float, k2: float) -> Signals:
    """A substance between two others, symmetric in the rates and smooth where they are equal."""
    apart = (k2 - k1) * times
    near = np.abs(apart) < 1e-6
    quotient = -np.expm1(-apart) / np.where(near, 1.0, apart)
    return {"y": times * np.exp(-k1 * times) * np.where(near, 1.0 - 0.5 * apart, quotient)}


def logistic(times: np.ndarray, _: object, capacity: float, rate: float, start: float) -> Signals:
    return {"n": capacity / (1.0 + (capacity / start - 1.0) * np.exp(-rate * times))}


def motor(times: np.ndarray, _: object, k: float, inertia: float, damping: float) -> Signals:
    """Speed after a step of the voltage: gain and time constant alone are seen."""
    loss = k * k + damping
    return {"w": 12.0 * k / loss * -np.expm1(-loss / inertia * times)}


def line(times: np.ndarray, _: object, offset: float, slope: float) -> Signals:
    return {"y": offset + slope * times}


def quick(times: np.ndarray, _: object, rate: float, gain: float) -> Signals:
    return {"y": gain * np.exp(-rate * times)}


@dataclass(frozen=True)
class Case:
    model: Callable[..., Signals]
    times: np.ndarray
    truth: Mapping[str, float]
    start: Mapping[str, tuple[float, float, float]]
    noise: float

    def problem(self, seed: int) -> Problem:
        rng = np.random.default_rng(seed)
        clean = self.model(self.times, {}, **self.truth)
        noisy = {n: y + self.noise * rng.standard_normal(y.size) for n, y in clean.items()}
        parameters = [Parameter(n, *values, variable=n) for n, values in self.start.items()]
        return python_problem(noisy, self.times, parameters)

    def estimate(self, seed: int, profiles: Profiling = with_profile_intervals) -> EstimationResult:
        problem = self.problem(seed)
        with Evaluator(problem, PythonExecutor(problem, self.model)) as evaluator:
            return run_estimation(problem, evaluator, LeastSquares(), profiles=profiles)


RATES = {"k1": (0.7, 0.01, 20.0), "k2": (1.5, 0.01, 20.0)}
CASES = {
    "few points": Case(
        saturating, np.array([0.5, 1.0, 2.0, 3.0, 4.0, 6.0]), {"vmax": 1.0, "km": 3.0},
        {"vmax": (0.8, 0.01, 50.0), "km": (2.0, 0.01, 200.0)}, 0.03,
    ),
    "equal rates": Case(two_rates, np.linspace(0, 6, 40), {"k1": 1.0, "k2": 1.0}, RATES, 0.01),
    "similar rates": Case(two_rates, np.linspace(0, 6, 40), {"k1": 0.9, "k2": 1.15}, RATES, 0.01),
    "cut early": Case(
        logistic, np.linspace(0, 5, 25), {"capacity": 10.0, "rate": 1.0, "start": 0.2},
        {"capacity": (8.0, 0.5, 1e3), "rate": (0.8, 0.01, 10.0), "start": (0.3, 1e-3, 10.0)}, 0.15,
    ),
}  # fmt: skip
STRAIGHT = Case(
    line, np.linspace(0, 1, 12), {"offset": 0.0, "slope": 1.0},
    {"offset": (0.1, -10.0, 10.0), "slope": (0.5, -10.0, 10.0)}, 0.5,
)  # fmt: skip
SHARP = Case(
    quick, np.linspace(0, 3, 60), {"rate": 1.0, "gain": 2.0},
    {"rate": (0.5, 0.01, 10.0), "gain": (1.0, 0.01, 10.0)}, 0.01,
)  # fmt: skip
MOTOR = Case(
    motor, np.linspace(0, 1, 50), {"k": 0.5, "inertia": 0.05, "damping": 0.02},
    {"k": (0.4, 0.01, 10.0), "inertia": (0.1, 1e-4, 10.0), "damping": (0.05, 0.0, 5.0)}, 0.3,
)  # fmt: skip


def codes(result: EstimationResult) -> list[str]:
    return [f.code for f in result.findings]


def test_where_no_parameter_is_weak_nothing_more_is_simulated() -> None:
    plain, profiled = SHARP.estimate(1, profiles=without_profiles), SHARP.estimate(1)
    assert [e.curvature for e in profiled.estimates] == [None, None]
    assert profiled.simulations == plain.simulations


def test_a_line_is_not_curved_however_weak() -> None:
    result = STRAIGHT.estimate(1)
    assert [e.curvature for e in result.estimates] == pytest.approx([0.0, 0.0], abs=1e-6)
    assert not {"interval-curved", "interval-by-profile"} & {*codes(result)}


def test_a_valley_that_the_data_leave_open_is_not_profiled() -> None:
    result = MOTOR.estimate(1)
    assert all(np.isnan(e.standard_error) for e in result.estimates)
    assert [e.interval_kind for e in result.estimates] == ["", "", ""]


def test_a_curved_parameter_has_the_interval_of_its_profile() -> None:
    case = CASES["cut early"]
    linear, result = case.estimate(3, profiles=without_profiles), case.estimate(3)
    assert "interval-curved" in codes(linear)
    assert "interval-by-profile" in codes(result)
    assert "interval-curved" not in codes(result)
    assert result.simulations > linear.simulations
    for before, e in zip(linear.estimates, result.estimates, strict=True):
        assert e.curved
        assert e.curvature == pytest.approx(before.curvature)
        assert (before.interval_kind, e.interval_kind) == ("", "profile")
        assert e.standard_error == before.standard_error
        below, above = e.value - e.interval_95[0], e.interval_95[1] - e.value
        assert abs(above / below - 1.0) > 0.05  # linear intervals are symmetric
    assert {*result.parameters["interval_kind"]} == {"profile"}
    table = compare(linear, result).parameters["interval_kind"]
    assert [*table.xs("result 1", level="result")] == ["", "", ""]
    assert [*table.xs("result 2", level="result")] == ["profile", "profile", "profile"]


def test_at_a_singular_point_the_profile_decides_that_the_search_has_ended() -> None:
    """Both rates are estimated as equal: the derivatives with respect to them are the same."""
    linear = CASES["equal rates"].estimate(100, profiles=without_profiles)
    assert (linear.status, linear.ended_by) == ("limit", "stuck")
    result = CASES["equal rates"].estimate(100)
    assert (result.status, result.ended_by) == ("converged", None)
    for e in result.estimates:
        assert e.curved
        assert 0.5 < e.interval_95[0] < e.value < e.interval_95[1] < 2.0


def test_the_measure_is_half_the_relative_curvature_of_bates_and_watts() -> None:
    """At the end of the interval of one parameter: the second over the squared first derivative."""
    times, noise = np.linspace(0, 2, 30), 0.2
    case = Case(
        lambda t, _, k: {"y": np.exp(-k * t)}, times, {"k": 1.0}, {"k": (1.0, 0.01, 10.0)}, noise
    )
    problem = case.problem(5)
    with Evaluator(problem, PythonExecutor(problem, case.model)) as evaluator:
        result = run_estimation(problem, evaluator, LeastSquares())
    (e,) = result.estimates
    decay = np.exp(-e.value * times)
    relative = np.linalg.norm(times**2 * decay) / np.linalg.norm(times * decay)
    half = e.value - e.interval_95[0]
    assert e.curvature is not None
    assert e.curvature == pytest.approx(relative * half, rel=0.15)
    assert e.curved == (relative * half > CURVED)


def test_ctrl_c_leaves_without_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fmident.profiles.intervals.run_profiles", interrupted)
    result = CASES["cut early"].estimate(3)
    assert result.status == "interrupted"
    assert [e.interval_kind for e in result.estimates] == ["", "", ""]
    assert "interval-curved" in codes(result)


def test_a_lower_cost_on_a_profile_is_searched_on_from() -> None:
    """Two frequencies fit: the search ends at the one that fits less, a profile passes to both."""

    def sines(times: np.ndarray, _: object, f: float, a: float) -> Signals:
        return {"y": a * np.sin(f * times) + 0.5 * np.sin(2.0 * times)}

    case = Case(sines, np.linspace(0, 2.2, 12), {"f": 3.0, "a": 0.4},
                {"f": (6.0, 0.5, 8.0), "a": (0.2, 0.01, 2.0)}, 0.25)  # fmt: skip
    lower = []
    for seed in range(12):
        linear, result = case.estimate(seed, profiles=without_profiles), case.estimate(seed)
        assert result.cost_final <= linear.cost_final * (1.0 + 1e-9)
        if result.cost_final < 0.99 * linear.cost_final:
            lower.append(seed)
            assert any("profile" in f.text for f in result.findings if f.code == "search")
    assert lower


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_intervals_hold_the_truth_as_often_as_they_say(name: str) -> None:
    """Of 100 draws; the standard deviation of a share of 95 % is 2.2."""
    case, held = CASES[name], []
    for seed in range(100, 200):
        result = case.estimate(seed)
        truth = dict(case.truth)
        if "k2" in truth and result.values["k1"] > result.values["k2"]:  # which is which is open
            truth = {"k1": truth["k2"], "k2": truth["k1"]}
        held.append(
            [e.interval_95[0] <= truth[e.name] <= e.interval_95[1] for e in result.estimates]
        )
    assert min(np.sum(held, axis=0)) >= 90
