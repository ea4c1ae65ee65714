"""What stops a walk: nothing to see, bounds, failures, Ctrl-C, a better minimum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fmident.errors import Code, EstimationError, ProblemError, SimulationError
from fmident.evaluation import PythonExecutor
from fmident.problem.model import Parameter
from fmident.profiles import run_profiles

from ..models import parameter
from ..refused import refused
from .rig import TIMES, by_name, problem_of, profiles
from .test_intervals import decay, decay_data, noisy


def product(times, inputs, a, b, c):
    return {"y": a * b * np.exp(-c * times)}


@pytest.mark.parametrize("scaling", ["linear", "log"])
def test_a_product_leaves_its_factors_open(scaling):
    parameters = [
        parameter("a", 1.0, 0.0, np.inf, scaling=scaling),
        parameter("b", 2.0, 0.0, np.inf, scaling=scaling),
        parameter("c", 2.0),
    ]
    result = profiles(problem_of(decay_data(), parameters, 0.2), product)
    found = by_name(result)
    for name in "ab":
        profile = found[name]
        assert profile.verdict.kind in ("not-identifiable", "open")
        assert profile.upper.outcome == "reach"
        assert profile.interval[1] == math.inf
        assert profile.upper.tau < 0.05 * result.critical_tau
        assert profile.linearised == (0.0, math.inf)
        assert profile.upper.reached > 100.0 * profile.value
        assert "rises by" in profile.upper.reason
    assert found["a"].verdict.kind == "not-identifiable" or scaling == "linear"
    # What the product leaves alone is what it is without one.
    alone = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    decaying = by_name(profiles(alone, decay))["k"]
    np.testing.assert_allclose(found["c"].interval, decaying.interval, rtol=2e-4)


def test_bounds_of_one_factor_end_the_interval_of_the_other():
    parameters = [parameter("a", 1.0), parameter("b", 2.0, 0.1, 10.0), parameter("c", 2.0)]
    found = by_name(profiles(problem_of(decay_data(), parameters, 0.2), product))
    alone = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    low, high = by_name(profiles(alone, decay))["a"].interval
    # The least product over the greatest factor, and the other way round.
    assert found["a"].interval == pytest.approx((low / 10.0, high / 0.1), rel=1e-3)
    assert found["a"].verdict.kind == "differs"
    assert found["b"].lower.outcome == found["b"].upper.outcome == "bound"
    assert found["b"].verdict.text == "not identifiable: flat, other parameters make up for it"


def test_a_bound_inside_of_the_interval_leaves_it_open():
    free = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    low, high = by_name(profiles(free, decay))["k"].interval
    bounded = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0, low + 0.2, 100.0)], 0.2)
    found = by_name(profiles(bounded, decay))["k"]
    assert found.lower.outcome == "bound"
    assert found.interval[0] == -math.inf
    assert found.interval[1] == pytest.approx(high, rel=1e-3)
    assert found.verdict.kind == "open"
    assert "below" in found.verdict.text
    assert found.lower.reached == low + 0.2
    assert f"the bound {low + 0.2:.6g}" in found.lower.reason


def test_an_estimate_on_its_bound_is_walked_away_from():
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 4.0, 3.8, 100.0)], 0.2)
    found = by_name(profiles(problem, decay))["k"]
    assert found.value == 3.8
    assert found.lower.outcome == "bound"
    assert "lies on the bound" in found.lower.reason
    assert found.upper.outcome == "reached"
    assert found.points[-1].tau > 0.0
    assert found.verdict.kind == "one-sided"
    assert found.interval == (3.8, found.upper.value)


@pytest.mark.parametrize("truth", [0.0, 0.2, 0.5])
def test_an_interval_that_ends_at_a_bound_covers(truth):
    """A slope that is not negative: in closed form, and over many records with that slope.

    Where least squares without the bound finds ``x`` below zero, the likelihood ratio over what is
    allowed puts the other end at ``x + sqrt(x^2 + z^2)``, in units of the standard error. The usual
    threshold keeps 95 % over all records; a lower one, for those on the bound alone, would not
    (Feldman and Cousins 1998).
    """
    sigma = 1.0
    error = sigma / float(np.linalg.norm(TIMES))
    inside, on_bound = 0, 0
    for seed in range(200):
        measured = noisy(truth * TIMES, sigma, seed)
        x = float(TIMES @ measured) / float(TIMES @ TIMES)
        if x <= 0.0 and on_bound < 3:
            problem = problem_of(measured, [parameter("a", 0.5, 0.0, 100.0)], sigma)
            found = by_name(profiles(problem, lambda t, _, a: {"y": a * t}))["a"]
            assert found.verdict.kind == "one-sided"
            assert found.interval[0] == 0.0
            end = x + np.sqrt(x**2 + (1.959964 * error) ** 2)
            assert found.interval[1] == pytest.approx(end, rel=1e-3)
            on_bound += 1
        high = x + np.hypot(min(x, 0.0), 1.959964 * error)
        low = max(x - 1.959964 * error, 0.0)
        inside += low <= truth <= high
    assert on_bound > 0
    assert inside >= 183  # 95 % are 190; fewer than 183 once in 80 times at most


def test_an_exponent_that_fades_away_is_open_above():
    # Beyond some rate the decay is over before the second sample.
    measured = noisy(0.1 * np.exp(-40.0 * TIMES), 0.1, 3)
    parameters = [parameter("a", 0.2), parameter("k", 20.0, 1e-3, 1e5, scaling="log")]
    found = by_name(profiles(problem_of(measured, parameters, 0.1), decay))["k"]
    assert found.upper.is_open
    assert found.interval[1] == math.inf
    assert found.verdict.kind in ("open", "not-identifiable")


def test_failing_simulations_end_a_walk_and_nothing_else():
    def brittle(times, inputs, a, k):
        if k > 3.8:
            raise SimulationError("the solver gave up")
        return decay(times, inputs, a, k)

    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    result = profiles(problem, brittle)
    whole = by_name(profiles(problem, decay))
    found = by_name(result)
    assert result.status == "complete"
    assert found["k"].upper.outcome == "failure"
    assert math.isnan(found["k"].interval[1])
    assert found["k"].verdict.kind == "fails"
    assert "the solver gave up" in found["k"].upper.reason
    assert found["k"].upper.reached == pytest.approx(3.8, abs=0.01)
    assert found["k"].interval[0] == pytest.approx(whole["k"].interval[0], rel=1e-3)
    assert found["a"].interval[0] == pytest.approx(whole["a"].interval[0], rel=1e-3)
    assert "simulations-failed" in {f.code for f in result.findings}


def test_holes_are_walked_around():
    def holed(times, inputs, a, k):
        if 3.7 < k < 3.8:
            raise SimulationError("a hole")
        return decay(times, inputs, a, k)

    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    found, whole = (by_name(profiles(problem, m))["k"] for m in (holed, decay))
    assert found.interval == pytest.approx(whole.interval, rel=1e-3)


def test_simulations_that_fail_at_the_estimate_are_an_error():
    def broken(times, inputs, a, k):
        raise SimulationError("never")

    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    with refused(Code.ESTIMATION_FAILED, EstimationError, match="fails at the estimate") as caught:
        profiles(problem, broken)
    assert "--result" in (caught.value.hint or "")


def test_a_lower_minimum_on_the_way_is_taken_for_the_estimate():
    # The cost of p has a minimum at 1 and a lower one at -1.
    def double(times, inputs, p):
        return {"y": np.where(times < 0.5, p**2, 0.3 * p)}

    measured = np.where(TIMES < 0.5, 1.0, -0.3)
    problem = problem_of(measured, [parameter("p", 0.9, -3.0, 3.0)], 3.0)
    result = profiles(problem, double)
    assert result.profiles[0].value == pytest.approx(-1.0)
    assert result.cost == pytest.approx(0.0, abs=1e-12)
    assert "lower-cost-elsewhere" in {f.code for f in result.findings}


class Interrupting(PythonExecutor):
    """Presses Ctrl-C after so many simulations."""

    left = 10**9

    def run(self, tasks):
        self.left -= len(tasks)
        if self.left < 0:
            raise KeyboardInterrupt
        return super().run(tasks)


def test_an_interrupt_keeps_what_is_done():
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    complete = profiles(problem, decay)
    executor = Interrupting(problem, decay)
    executor.left = complete.simulations - 15
    result = profiles(problem, decay, executor=executor)
    assert result.status == "interrupted"
    assert any(p.verdict.kind == "unfinished" for p in result.profiles)
    points = {(q.profile, q.value) for q in complete.points.itertuples()}
    kept = {(q.profile, q.value) for q in result.points.itertuples()}
    assert 3 <= len(kept) < len(points)
    assert kept <= points


def test_an_interrupt_at_the_estimate_is_one():
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    executor = Interrupting(problem, decay)
    executor.left = 3
    with pytest.raises(KeyboardInterrupt):
        profiles(problem, decay, executor=executor)


def test_progress_is_told():
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    told = []
    result = profiles(problem, decay, listener=told.append)
    assert [s.points for s in told] == sorted(s.points for s in told)
    assert told[-1].walks == 4
    assert told[-1].simulations <= result.simulations


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["q"]}, "no free parameter 'q'"),
        ({"names": ["k", "k"]}, "given twice"),
        ({"names": ["held"]}, "'held' is fixed"),
        ({"level": 1.0}, "between 0 and 1"),
        ({"accuracy": 0.0}, "accuracy"),
    ],
)
def test_what_cannot_be_profiled_is_refused(options, message):
    parameters = [parameter("a"), parameter("k", 2.0), Parameter("held", 1.0, fixed=True)]
    with pytest.raises(ProblemError, match=message):
        profiles(problem_of(decay_data(), parameters, 0.2), decay, **options)


def test_too_few_samples_for_unknown_noise():
    times = np.linspace(0.0, 1.0, 2)
    problem = problem_of(np.array([1.0, 0.3]), [parameter("a"), parameter("k")], None, times)
    with refused(Code.INVALID_PROBLEM, ProblemError, match="2 samples for 2 parameters"):
        profiles(problem, decay)


def test_vanishing_residuals_say_nothing_of_unknown_noise():
    problem = problem_of(decay(TIMES, {}, 1.5, 3.0)["y"], [parameter("a"), parameter("k")], None)
    with refused(Code.INVALID_PROBLEM, ProblemError, match="residuals vanish") as caught:
        profiles(problem, decay)
    assert "sigma" in (caught.value.hint or "")


def test_the_public_name():
    import fmident

    assert fmident.profile.__module__ == "fmident.api.profiles"
    assert run_profiles.__doc__


class Counting(PythonExecutor):
    """Remembers how many simulations each batch had."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.batches = []

    def run(self, tasks):
        self.batches.append(len(tasks))
        return super().run(tasks)


def test_all_walks_simulate_together():
    problem = problem_of(decay_data(), [parameter("a"), parameter("k", 2.0)], 0.2)
    executor = Counting(problem, decay)
    result = profiles(problem, decay, executor=executor)
    # Two parameters, two sides: the first points of all four are one batch.
    assert executor.batches.count(4) >= 3
    assert sum(executor.batches) == result.simulations
    assert len(executor.batches) < 0.6 * result.simulations
