"""A parameter on its bound has an interval that begins there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.profiles import run_profiles

TIMES = np.linspace(0.0, 1.0, 40)


def line(times, inputs, a, b):
    return {"y": a + b * times}


def found_for(bounds, truth=(1.0, 0.0), *, sigma=0.3, known=True, seed=0, model=line):
    """Return estimate, statistics and profiles with `b` within bounds."""
    rng = np.random.default_rng(seed)
    measured = truth[0] + truth[1] * TIMES + sigma * rng.standard_normal(TIMES.size)
    parameters = [Parameter("a", 1.0, variable="a"), Parameter("b", 0.1, *bounds, variable="b")]
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=sigma if known else None)
    regressor = np.column_stack([np.ones_like(TIMES), TIMES])
    free = np.linalg.lstsq(regressor, measured, rcond=None)[0]
    bound = bounds[0] if free[1] < bounds[0] else bounds[1]
    at_bound = np.array([np.mean(measured - bound * TIMES), bound])
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        statistics = uncertainty(problem, evaluator, at_bound)
        profiles = run_profiles(problem, evaluator, at_bound, names=["b"])
    power = float(np.sum((measured - regressor @ free) ** 2))
    variance = sigma**2 if known else power / (TIMES.size - 2)
    error = float(np.sqrt(variance * np.linalg.inv(regressor.T @ regressor)[1, 1]))
    return float(free[1]), error, statistics, profiles


@pytest.mark.parametrize(("bounds", "side"), [((0.4, 9.0), 1.0), ((-9.0, -0.4), -1.0)])
def test_the_interval_is_that_of_the_likelihood_ratio(bounds, side):
    free, error, statistics, profiles = found_for(bounds)
    bound = bounds[0] if side > 0.0 else bounds[1]
    beyond = side * (free - bound)
    assert beyond < 0.0
    reach = beyond + np.hypot(beyond, stats.norm.ppf(0.975) * error)
    expected = sorted([bound, bound + side * reach])
    np.testing.assert_allclose(statistics.local.intervals[1], expected, rtol=1e-6)
    # In a linear model the profile says the same.
    np.testing.assert_allclose(profiles.profiles[0].interval, expected, rtol=1e-3)
    # One that least squares would pass by 1.9 standard errors holds nothing; one by 2.7 does.
    held = -beyond > stats.norm.ppf(0.975) * error
    expected = np.nan if held else error
    assert statistics.local.standard_errors[1] == pytest.approx(expected, rel=1e-6, nan_ok=True)


def test_unknown_noise_has_the_quantile_of_student():
    free, error, statistics, _ = found_for((0.4, 9.0), known=False)
    beyond = free - 0.4
    # The noise follows the residuals that the bound leaves: what it costs is part of them.
    power = ((TIMES.size - 2) * error**2 + beyond**2) * _information()
    scale = np.sqrt(power / (TIMES.size - 2) / _information())
    reach = beyond + np.hypot(beyond, stats.t.ppf(0.975, TIMES.size - 2) * scale)
    assert statistics.local.intervals[1, 1] - 0.4 == pytest.approx(reach, rel=1e-6)


def _information():
    """Return the squares of what `a` cannot make up for in the column of `b`."""
    return float(np.sum((TIMES - TIMES.mean()) ** 2))


def test_far_beyond_the_bound_the_interval_is_short_and_not_lost_in_rounding():
    free, error, statistics, _ = found_for((200.0, 900.0), sigma=1e-3)
    beyond = 200.0 - free
    width = statistics.local.intervals[1, 1] - 200.0
    assert width == pytest.approx((1.959964 * error) ** 2 / (2.0 * beyond), rel=1e-6)


def test_what_the_data_do_not_determine_reaches_from_bound_to_bound():
    def silent(times, inputs, a, b):
        return {"y": a + 0.0 * b * times}

    parameters = [Parameter("a", 1.0, variable="a"), Parameter("b", 0.0, 0.0, 9.0, variable="b")]
    problem = python_problem({"y": np.ones(TIMES.size)}, TIMES, parameters, sigma=0.1)
    with Evaluator(problem, PythonExecutor(problem, silent)) as evaluator:
        found = uncertainty(problem, evaluator, np.array([1.0, 0.0]))
    assert found.local.intervals[1].tolist() == [0.0, 9.0]


def test_several_on_bounds_have_each_their_own():
    """Each with the other held where it is, as both stay on their bounds next to the estimate."""
    measured = -0.2 - 0.3 * TIMES
    parameters = [
        Parameter("a", 0.1, 0.0, 5.0, variable="a"),
        Parameter("b", 0.1, 0.0, 5.0, variable="b"),
    ]
    problem = python_problem({"y": measured}, TIMES, parameters, sigma=0.2)
    with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
        found = uncertainty(problem, evaluator, np.zeros(2))
    for j, column in enumerate((np.ones_like(TIMES), TIMES)):
        error = 0.2 / np.linalg.norm(column)
        beyond = float(column @ measured / (column @ column))
        assert found.local.intervals[j, 0] == 0.0
        assert found.local.intervals[j, 1] == pytest.approx(
            beyond + np.hypot(beyond, stats.norm.ppf(0.975) * error), rel=1e-5
        )
