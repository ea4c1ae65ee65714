"""Intervals by profile against closed forms and brute force."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import lsq_linear, minimize_scalar

from fmident.estimation import run_estimation
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor
from fmident.plugins import load_plugins
from fmident.profiles import run_profiles

from ..models import decay, parameter
from .rig import TIMES, by_name, crossing, line, noisy, problem_of, profiles, two_runs

STATED = 1e-3
"""Accuracy of the ends that is promised by default, in distances from the estimate."""


@pytest.mark.parametrize("sigma", [0.1, None])
def test_a_linear_model_has_its_linearised_intervals(sigma):
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    problem = problem_of(measured, [parameter(n) for n in "abc"], sigma)
    result = profiles(problem, line)

    regressor = np.column_stack([np.ones_like(TIMES), TIMES, TIMES**2])
    best, (power,), *_ = np.linalg.lstsq(regressor, measured, rcond=None)
    freedom = TIMES.size - 3
    if sigma is None:
        variance, quantile = power / freedom, stats.t.ppf(0.975, freedom)
    else:
        variance, quantile = sigma**2, stats.norm.ppf(0.975)
    half = quantile * np.sqrt(variance * np.diag(np.linalg.inv(regressor.T @ regressor)))
    for profile, value, width in zip(result.profiles, best, half, strict=True):
        assert profile.verdict.kind == "agrees"
        np.testing.assert_allclose(profile.interval, [value - width, value + width],
                                   atol=1e-6 * width)  # fmt: skip
        np.testing.assert_allclose(profile.interval, profile.linearised, atol=1e-6 * width)
        for point in profile.points:  # tau is a straight line, the cost a parabola
            tau = quantile * (point.value - value) / width
            assert point.tau == pytest.approx(tau, abs=2e-5)
    assert result.critical_tau == pytest.approx(quantile)


def test_a_linear_model_takes_few_simulations():
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    result = profiles(problem_of(measured, [parameter(n) for n in "abc"], 0.1), line)
    # Four points to each side, and one Jacobian at each of the six ends.
    assert all(len(p.points) == 9 for p in result.profiles)
    assert result.jacobians <= 10


def decay_data(sigma=0.2):
    return noisy(1.5 * np.exp(-3.0 * TIMES), sigma)


def cost_of_rate(measured, sigma, k, largest=math.inf):
    """Return the least cost at a rate: the amplitude follows in closed form."""
    shape = np.exp(-k * TIMES)
    a = min(float(shape @ measured / (shape @ shape)), largest)
    return 0.5 * float(np.sum((measured - a * shape) ** 2)) / sigma**2


def best_rate(measured, sigma, largest=math.inf):
    found = minimize_scalar(
        lambda k: cost_of_rate(measured, sigma, k, largest), bounds=(0.5, 9.0), method="bounded",
        options={"xatol": 1e-12},
    )  # fmt: skip
    return float(found.x), float(found.fun)


@pytest.mark.parametrize("level", [0.6827, 0.95, 0.999])
def test_a_decay_has_the_intervals_of_brute_force(level):
    sigma, measured = 0.2, decay_data()
    problem = problem_of(measured, [parameter("a"), parameter("k", 2.0)], sigma)
    result = profiles(problem, decay, level=level)
    rate, best = best_rate(measured, sigma)
    threshold = 0.5 * stats.chi2.ppf(level, 1)
    assert result.threshold == pytest.approx(threshold)
    assert result.cost == pytest.approx(best, rel=1e-9)

    def of_rate(k):
        return cost_of_rate(measured, sigma, k)

    def of_amplitude(a):
        def cost(k):
            return 0.5 * float(np.sum((measured - a * np.exp(-k * TIMES)) ** 2)) / sigma**2

        found = minimize_scalar(cost, bounds=(0.0, 12.0), method="bounded",
                                options={"xatol": 1e-11})  # fmt: skip
        return float(found.fun)

    found = by_name(result)
    expected = [crossing(of_rate, best, threshold, far, rate) for far in (0.3, 9.0)]
    for end, right in zip(found["k"].interval, expected, strict=True):
        assert end == pytest.approx(right, abs=0.2 * STATED * abs(right - rate))
    amplitude = found["a"].value
    expected = [crossing(of_amplitude, best, threshold, far, amplitude) for far in (0.2, 3.5)]
    for end, right in zip(found["a"].interval, expected, strict=True):
        assert end == pytest.approx(right, abs=0.2 * STATED * abs(right - amplitude))


def test_oxygen_demand_has_the_intervals_of_brute_force():
    """Six samples, unknown noise, far from linear: Bates and Watts (1988), data set A1.4."""
    days = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 7.0])
    demand = np.array([8.3, 10.3, 19.0, 16.0, 15.6, 19.8])

    def model(times, inputs, most, rate):
        return {"y": most * (1.0 - np.exp(-rate * times))}

    parameters = [parameter("most", 20.0, 1.0, 300.0), parameter("rate", 0.5, 0.01, 20.0)]
    result = profiles(problem_of(demand, parameters, None, days), model)

    def cost(most, rate):
        return 0.5 * float(np.sum((demand - most * (1.0 - np.exp(-rate * days))) ** 2))

    def of_rate(rate):
        shape = 1.0 - np.exp(-rate * days)
        return cost(float(shape @ demand / (shape @ shape)), rate)

    def of_most(most):
        # All rates on a grid, since the cost over the rate need not have one valley only.
        grid = np.geomspace(0.01, 20.0, 400)
        k = int(np.argmin([cost(most, rate) for rate in grid]))
        near = (grid[max(k - 1, 0)], grid[min(k + 1, 399)])
        return float(minimize_scalar(lambda rate: cost(most, rate), bounds=near, method="bounded",
                                     options={"xatol": 1e-12}).fun)  # fmt: skip

    found = by_name(result)
    best = minimize_scalar(of_rate, bounds=(0.1, 2.0), method="bounded", options={"xatol": 1e-12})
    threshold = best.fun / 4 * stats.f.ppf(0.95, 1, 4)
    assert result.threshold == pytest.approx(threshold, rel=1e-8)
    for name, of, far in (("rate", of_rate, (0.01, 5.0)), ("most", of_most, (8.0, 100.0))):
        value = found[name].value
        for end, beyond in zip(found[name].interval, far, strict=True):
            right = crossing(of, best.fun, threshold, beyond, value)
            assert end == pytest.approx(right, abs=STATED * abs(right - value))
        assert found[name].verdict.kind == "asymmetric"


def test_what_is_not_symmetric_is_told():
    sigma = 0.2
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], sigma)
    found = by_name(profiles(problem, decay))
    k = found["k"]
    assert k.verdict.kind == "asymmetric"
    assert "up" in k.verdict.text
    assert k.interval[1] - k.value > 1.1 * (k.value - k.interval[0])


@pytest.mark.parametrize("known", [True, False])
def test_the_scale_of_a_parameter_does_not_matter(known):
    # A likelihood does not know how a parameter is written.
    sigma, measured = 0.2, decay_data()
    given = sigma if known else None
    ends = []
    for scaling in ("linear", "log"):
        parameters = [
            parameter("a", 1.0, 1e-3, 1e3, scaling=scaling),
            parameter("k", 2.0, 1e-3, 1e3, scaling=scaling),
        ]
        result = profiles(problem_of(measured, parameters, given), decay)
        ends.append([p.interval for p in result.profiles])
    np.testing.assert_allclose(ends[0], ends[1], rtol=2e-4)


def test_another_parameter_at_its_bound_stays_there():
    sigma, measured, largest = 0.2, decay_data(), 1.45
    problem = problem_of(measured, [parameter("a", 1.0, 0.0, largest), parameter("k", 2.0)], sigma)
    found = by_name(profiles(problem, decay))["k"]
    rate, best = best_rate(measured, sigma, largest)
    threshold = 0.5 * stats.chi2.ppf(0.95, 1)
    upper = crossing(
        lambda k: cost_of_rate(measured, sigma, k, largest), best, threshold, 9.0, rate
    )
    assert found.interval[1] == pytest.approx(upper, abs=STATED * (upper - rate))
    assert max(q.parameters[0] for q in found.points) == largest
    # Without the bound the interval would be longer.
    free = crossing(lambda k: cost_of_rate(measured, sigma, k), best, threshold, 9.0, rate)
    assert free - upper > 0.02 * (upper - rate)


def test_parameters_of_one_experiment_only():
    sigma = 0.1
    first = noisy(0.5 + 2.0 * TIMES, sigma, 1)
    second = noisy(1.5 + 2.0 * TIMES, sigma, 2)
    parameters = [
        parameter("b", 1.0),
        parameter("a1", 0.0, variable="a", experiments=("one",)),
        parameter("a2", 0.0, variable="a", experiments=("two",)),
    ]
    problem = two_runs(first, second, parameters, sigma)
    result = profiles(problem, lambda times, inputs, a, b: {"y": a + b * times})
    zero, one = np.zeros_like(TIMES), np.ones_like(TIMES)
    regressor = np.vstack(
        [np.column_stack([TIMES, one, zero]), np.column_stack([TIMES, zero, one])]
    )
    best = np.linalg.lstsq(regressor, np.concatenate([first, second]), rcond=None)[0]
    half = 1.959963985 * sigma * np.sqrt(np.diag(np.linalg.inv(regressor.T @ regressor)))
    assert [p.name for p in result.profiles] == ["b", "a1", "a2"]
    for profile, value, width in zip(result.profiles, best, half, strict=True):
        np.testing.assert_allclose(profile.interval, [value - width, value + width],
                                   atol=1e-6 * width)  # fmt: skip


def test_bounds_of_others_make_an_interval_of_a_linear_model_shorter():
    # With c held below its best value by a bound the profile of a is that of lsq_linear.
    sigma = 0.1
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, sigma)
    bounded = [parameter("a"), parameter("b"), parameter("c", -2.0, -3.0, -0.9)]
    found = by_name(profiles(problem_of(measured, bounded, sigma), line))["a"]
    regressor = np.column_stack([np.ones_like(TIMES), TIMES, TIMES**2]) / sigma

    def cost(a):
        rest = measured / sigma - a * regressor[:, 0]
        low, high = [-np.inf, -3.0], [np.inf, -0.9]
        return lsq_linear(regressor[:, 1:], rest, (low, high), method="bvls").cost

    best = cost(found.value)
    threshold = 0.5 * stats.chi2.ppf(0.95, 1)
    expected = [crossing(cost, best, threshold, found.value + far, found.value) for far in (-1, 1)]
    reach = expected[1] - expected[0]
    np.testing.assert_allclose(found.interval, expected, atol=0.5 * STATED * reach)


def test_noise_that_is_not_white_widens_the_intervals():
    """As wide as the linearised ones of the estimate, which count the noise, in a linear model."""
    times = np.linspace(0.0, 1.0, 400)
    rng = np.random.default_rng(4)
    noise = np.zeros(400)
    for k in range(1, 400):
        noise[k] = 0.9 * noise[k - 1] + 0.05 * rng.standard_normal()
    measured = 1.0 + 2.0 * times - times**2 + noise
    problem = problem_of(measured, [parameter(n) for n in "abc"], None, times)
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        best = np.polynomial.polynomial.polyfit(times, measured, 2)
        counted = uncertainty(problem, evaluator, best, compare_interfaces=False)
    result = profiles(problem, line)
    for found, interval in zip(result.profiles, counted.local.intervals, strict=True):
        assert found.factor > 2.0
        assert found.verdict.kind == "agrees"
        half = 0.5 * (interval[1] - interval[0])
        np.testing.assert_allclose(found.interval, interval, atol=0.01 * half)
    assert "noise-counted" in {f.code for f in result.findings}


def test_noise_that_is_not_white_counts_at_a_bound():
    """The end on the open side is that of the estimate's one-sided interval."""
    times = np.linspace(0.0, 1.0, 400)
    rng = np.random.default_rng(4)
    noise = np.zeros(400)
    for k in range(1, 400):
        noise[k] = 0.9 * noise[k - 1] + 0.05 * rng.standard_normal()
    measured = 1.0 + 2.0 * times - times**2 + noise
    best = np.polynomial.polynomial.polyfit(times, measured, 2)
    bounded = [parameter("a", 2.0, float(best[0]) + 0.01, 5.0), parameter("b"), parameter("c")]
    problem = problem_of(measured, bounded, None, times)
    estimator = load_plugins().estimators.get("least-squares")()
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        estimate = run_estimation(problem, evaluator, estimator)
        start = np.array([e.value for e in estimate.estimates])
        result = run_profiles(problem, evaluator, start, pairs=[("a", "b")])
    (low, high), own = estimate.estimates[0].interval_95, by_name(result)["a"]
    assert own.factor > 2.0
    assert own.lower.value == low == bounded[0].lower
    assert own.upper.value == pytest.approx(high, abs=0.02 * (high - low))
    # The region counts it, too: it is wider than that for white noise in all directions.
    (region,) = result.regions
    assert region.factors[0] > 1.5


def test_white_noise_leaves_the_threshold_alone():
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    result = profiles(problem_of(measured, [parameter(n) for n in "abc"], None), line)
    assert [p.factor for p in result.profiles] == [1.0, 1.0, 1.0]
    assert "noise-counted" not in {f.code for f in result.findings}
