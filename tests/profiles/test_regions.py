"""Joint regions of two parameters against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fmident.errors import Code, ProblemError
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator, PythonExecutor
from fmident.profiles import JointRegion, run_profiles
from fmident.profiles.thresholds import Counted, JointThreshold
from fmident.report.profiles import PROFILES

from ..models import decay, parameter
from ..refused import refused
from .rig import TIMES, line, noisy, problem_of, profiles


def region(problem, model, pair, **options) -> JointRegion:
    (found,) = profiles(problem, model, names=[pair[0]], pairs=[pair], **options).regions
    return found


@pytest.mark.parametrize("sigma", [0.1, None])
def test_a_linear_model_has_an_ellipse(sigma):
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    problem = problem_of(measured, [parameter(n) for n in "abc"], sigma)
    found = region(problem, line, ("a", "c"))

    regressor = np.column_stack([np.ones_like(TIMES), TIMES, TIMES**2])
    best, (power,), *_ = np.linalg.lstsq(regressor, measured, rcond=None)
    freedom = TIMES.size - 3
    if sigma is None:
        variance, limit = power / freedom, 2.0 * stats.f.ppf(0.95, 2, freedom)
    else:
        variance, limit = sigma**2, stats.chi2.ppf(0.95, 2)
    inverse = np.linalg.inv(
        variance * np.linalg.inv(regressor.T @ regressor)[np.ix_([0, 2], [0, 2])]
    )
    assert found.verdict.kind == "agrees"
    assert found.critical_tau == pytest.approx(np.sqrt(limit))
    for edge in (np.array([e.values for e in found.ends]), found.linearised):
        off = edge - best[[0, 2]]
        np.testing.assert_allclose(np.einsum("ki,ij,kj->k", off, inverse, off), limit, rtol=1e-5)
    # All around: each quadrant of the ellipse, mapped to the circle, has as many ends.
    assert {e.outcome for e in found.ends} == {"reached"}
    np.testing.assert_allclose([e.distance for e in found.ends], 1.0, rtol=1e-5)


def test_a_bent_model_has_the_region_of_its_likelihood():
    """Of two parameters, both are held: the edge is where the cost itself has risen enough."""
    measured = noisy(1.5 * np.exp(-3.0 * TIMES), 0.3)
    problem = problem_of(measured, [parameter("a", 1.4), parameter("k", 2.8)], 0.3)
    found = region(problem, decay, ("a", "k"))

    def cost(a, k):
        return 0.5 * np.sum((measured - a * np.exp(-k * TIMES)) ** 2) / 0.3**2

    threshold = cost(*found.estimate) + 0.5 * stats.chi2.ppf(0.95, 2)
    rises = [cost(*e.values) for e in found.ends if e.outcome == "reached"]
    assert len(rises) == len(found.ends)
    np.testing.assert_allclose(rises, threshold, rtol=1e-3)
    assert found.verdict.kind == "asymmetric"
    assert "no ellipse" in found.verdict.text


def test_the_others_are_fitted_again():
    """With the third parameter at its best, which follows in closed form at each end."""
    measured = noisy(0.5 + 1.5 * np.exp(-3.0 * TIMES), 0.1)
    three = [parameter("a", 1.4), parameter("k", 2.8), parameter("c", 0.4)]
    problem = problem_of(measured, three, 0.1)
    found = region(
        problem, lambda t, _, a, k, c: {"y": c + a * np.exp(-k * t)}, ("a", "k"), level=0.9
    )

    def cost(a, k):
        rest = measured - a * np.exp(-k * TIMES)
        return 0.5 * np.sum((rest - rest.mean()) ** 2) / 0.1**2

    rises = np.array([cost(*e.values) for e in found.ends]) - cost(*found.estimate)
    np.testing.assert_allclose(rises, 0.5 * stats.chi2.ppf(0.9, 2), rtol=3e-3)


@pytest.mark.nightly
def test_coverage_of_a_nonlinear_model():
    """The truth lies inside as often as promised: its likelihood ratio decides that."""
    inside = 0
    truth = np.array([1.5, 3.0])
    clean = truth[0] * np.exp(-truth[1] * TIMES)
    for seed in range(60):
        problem = problem_of(
            noisy(clean, 0.1, seed), [parameter("a", 1.5), parameter("k", 3.0)], 0.1
        )
        found = region(problem, decay, ("a", "k"))
        edge = np.array([e.values for e in found.ends])
        inside += winding(edge - truth) != 0
    # 57 are expected; fewer than 50 or all of 60 twelve times in a thousand at most.
    assert 50 <= inside <= 60


LONG = np.linspace(0.0, 1.0, 200)


def slow_noise(seed, correlation=0.9, sigma=0.05, count=LONG.size):
    """Return a stationary autoregression of first order."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(count)
    for k in range(1, count):
        noise[k] = correlation * noise[k - 1] + np.sqrt(1.0 - correlation**2) * noise[k]
    return sigma * noise


def switching(times, inputs, a, b, s):
    """Return an output to which `a` adds what slow noise resembles, and `s` what it does not."""
    return {"y": a + b * times + s * np.sign(np.sin(150.0 * times))}


def regressor_of(model, names):
    nothing = dict.fromkeys(names, 0.0)
    return np.column_stack([model(LONG, {}, **nothing | {n: 1.0})["y"] for n in names])


def test_noise_that_is_not_white_changes_the_ellipse():
    """In a linear model it is that of the sandwich, no smaller than for white noise anywhere."""
    measured = switching(LONG, {}, 1.0, 2.0, 0.5)["y"] + slow_noise(4)
    problem = problem_of(measured, [parameter(n) for n in "abs"], None, LONG)
    with Evaluator(problem, PythonExecutor(problem, switching)) as evaluator:
        pairs = [("a", "b"), ("b", "s")]
        result = run_profiles(problem, evaluator, problem.initial, names=["b"], pairs=pairs)
        best = np.array(list(result.values.values()))
        counted = uncertainty(problem, evaluator, best, compare_interfaces=False)
        white = uncertainty(problem, evaluator, best, counts_noise=False, compare_interfaces=False)
    plain = np.sqrt(2.0 * stats.f.ppf(0.95, 2, LONG.size - 3))
    for region_found, both in zip(result.regions, ([0, 1], [1, 2]), strict=True):
        assert {e.outcome for e in region_found.ends} == {"reached"}
        assert region_found.verdict.kind == "agrees"
        np.testing.assert_allclose([e.distance for e in region_found.ends], 1.0, rtol=1e-5)
        off = np.array([e.values for e in region_found.ends]) - best[both]
        inside = [
            np.sqrt(np.einsum("ki,ij,kj->k", off, np.linalg.inv(c[np.ix_(both, both)]), off))
            for c in (counted.local.covariance, white.local.covariance)
        ]
        # Everywhere one of both has its threshold, the other one is beyond its own.
        reach = inside[0].min()
        on_edge = np.isclose(inside[0], reach, rtol=1e-4) | np.isclose(inside[1], plain, rtol=1e-4)
        assert on_edge.all()
        assert inside[1].min() > 0.9999 * plain
        # F with the degrees of freedom that the noise leaves.
        around = np.linspace(0.0, np.pi, 90)
        rows = np.zeros((90, 3))
        rows[:, both] = np.column_stack([np.cos(around), np.sin(around)])
        least = counted.local.freedoms(rows).min()
        assert np.sqrt(stats.chi2.ppf(0.95, 2)) < reach
        assert reach <= np.sqrt(2.0 * stats.f.ppf(0.95, 2, least)) * 1.0001
        assert region_found.critical_tau == pytest.approx(plain)
        low, high = region_found.factors
        assert (low, high) == pytest.approx(
            (inside[1].min() / plain, inside[1].max() / plain), rel=1e-4
        )
    assert result.regions[0].factors[0] > 2.0  # of an offset and a slope
    assert result.regions[1].factors[0] == 1.0  # what switches is told from the noise
    (note,) = (n for n in result.notes if "not white" in n)
    assert "around the region of a and b" in note


def test_the_colour_of_the_noise_may_have_directions():
    """The threshold by hand: 9 times the variance along one axis counts, 4 times along another."""
    root = np.diag([3.0, 2.0])
    there = JointThreshold(2.0, root, np.eye(2), 2.5, 1.0)
    assert there.tau(0.0) == pytest.approx(7.5)
    assert there.tau(0.5 * np.pi) == pytest.approx(5.0)
    assert there.distance(0.3) == pytest.approx(2.5)
    narrow = JointThreshold(2.0, np.diag([0.5, 2.0]), np.eye(2), 2.5, 1.0)
    assert narrow.tau(0.0) == 2.0
    assert narrow.distance(0.0) == pytest.approx(4.0)


def test_what_is_held_and_uncertain_widens_the_region():
    """Given with the covariance that counts it, such as by stages."""
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    problem = problem_of(measured, [parameter(n) for n in "abc"], 0.1)
    regressor = np.column_stack([np.ones_like(TIMES), TIMES, TIMES**2])
    exact = 0.01 * np.linalg.inv(regressor.T @ regressor)
    more = exact + np.outer([0.3, -0.2, 0.1], [0.3, -0.2, 0.1])
    counted = Counted(more, np.array([np.inf, 12.0, np.inf]))
    pairs = [("a", "b"), ("a", "c")]
    results = profiles(problem, line, names=["a"], pairs=pairs, counted=counted)
    best = np.array(list(results.values.values()))
    limits = [2.0 * stats.f.ppf(0.95, 2, 12.0), stats.chi2.ppf(0.95, 2)]
    for found, both, limit in zip(results.regions, ([0, 1], [0, 2]), limits, strict=True):
        off = np.array([e.values for e in found.ends]) - best[both]
        inverse = np.linalg.inv(more[np.ix_(both, both)])
        np.testing.assert_allclose(np.einsum("ki,ij,kj->k", off, inverse, off), limit, rtol=1e-4)
    (profile,) = results.profiles
    half = stats.norm.ppf(0.975) * np.sqrt(more[0, 0])
    np.testing.assert_allclose(profile.interval, (best[0] - half, best[0] + half), rtol=1e-4)


@pytest.mark.nightly
@pytest.mark.slow
def test_regions_hold_the_truth_under_slow_noise():
    """60 draws know a share of 95 % to 3 %; for white noise the region holds it far less often.

    White noise would be wrong by the colour, not by the estimate, which is the same.
    """
    truth = np.array([1.0, 2.0, 0.5])
    draws, inside, inside_white = 60, 0, 0
    columns = regressor_of(switching, "abs")
    for seed in range(draws):
        measured = columns @ truth + slow_noise(100 + seed)
        problem = problem_of(measured, [parameter(n) for n in "abs"], None, LONG)
        found = region(problem, switching, ("a", "b"))
        edge = np.array([e.values for e in found.ends])
        inside += winding(edge - truth[:2]) != 0
        off = truth[:2] - found.estimate
        power = np.linalg.lstsq(columns, measured, rcond=None)[1][0]
        variance = power / (LONG.size - 3)
        inverse = np.linalg.inv(variance * np.linalg.inv(columns.T @ columns)[:2, :2])
        inside_white += off @ inverse @ off <= found.critical_tau**2
    assert abs(inside / draws - 0.95) < 3.0 * np.sqrt(0.95 * 0.05 / draws)
    assert inside_white / draws < 0.6


def test_a_pair_is_walked_once():
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    problem = problem_of(measured, [parameter(n) for n in "abc"], 0.1)
    pairs = [("b", "a"), ("a", "b"), ("b", "c"), ("b", "a")]
    result = profiles(problem, line, names=["a"], pairs=pairs)
    assert [r.names for r in result.regions] == [("b", "a"), ("b", "c")]


def winding(around: np.ndarray) -> int:
    """Return how often a closed polygon goes around the origin."""
    angles = np.unwrap(np.arctan2(around[:, 1], around[:, 0]), period=2.0 * np.pi)
    last, first = around[-1], around[0]
    closing = np.arctan2(last[0] * first[1] - last[1] * first[0], last @ first)
    return round((angles[-1] - angles[0] + closing) / (2.0 * np.pi))


def test_a_product_is_open_along_its_hyperbola():
    """Only the product is determined: the region has no edge along it."""
    measured = noisy(6.0 * TIMES, 0.05)
    both = [parameter("a", 2.0, 0.1, 50.0), parameter("b", 3.0, 0.1, 50.0)]
    problem = problem_of(measured, both, 0.05)
    found = region(problem, lambda t, _, a, b: {"y": a * b * t}, ("a", "b"))
    assert found.linearised.size == 0
    # Straight rays leave a hyperbola in the end: only its tangent comes far.
    far = max(e.distance for e in found.ends)
    near = min(e.distance for e in found.ends)
    assert far > 5.0 * near
    reached = [np.prod(e.values) for e in found.ends if e.outcome == "reached"]
    assert reached
    scale = 0.05 / np.linalg.norm(TIMES) * np.sqrt(stats.chi2.ppf(0.95, 2))
    best = np.prod(found.estimate)
    np.testing.assert_allclose(np.abs(np.array(reached) - best), scale, rtol=5e-3)


def test_a_bound_cuts_the_region():
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    three = [parameter("a", 1.0, -5.0, 1.05), parameter("b"), parameter("c")]
    found = region(problem_of(measured, three, 0.1), line, ("a", "b"))
    assert found.verdict.kind == "open"
    assert "larger a" in found.verdict.text
    cut = [e for e in found.ends if e.outcome == "bound"]
    assert cut
    for end in cut:
        assert end.values[0] == pytest.approx(1.05)
        assert "a bound comes first" in end.reason


@pytest.mark.parametrize(
    ("pair", "code", "names"),
    [
        (("a", "a"), Code.INVALID_PROBLEM, "a, a"),
        (("a", "zz"), Code.UNKNOWN_NAME, "'zz'"),
    ],
)
def test_pairs_are_checked(pair, code, names):
    problem = problem_of(noisy(TIMES, 0.1), [parameter(n) for n in "abc"], 0.1)
    with refused(code, ProblemError, match=names):
        profiles(problem, line, pairs=[pair])


def test_the_folder_has_the_region(tmp_path: Path):
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    three = [parameter("a", 1.0, -5.0, 1.05), parameter("b"), parameter("c")]
    problem = problem_of(measured, three, 0.1)
    result = profiles(problem, line, names=["a"], pairs=[("a", "b"), ("b", "c")])
    PROFILES.write(result, problem, tmp_path)
    page = (tmp_path / "profiles.html").read_text()
    assert "Joint regions" in page
    assert "a bound comes first" in page
    again = PROFILES.read(tmp_path)
    assert [r.names for r in again.regions] == [("a", "b"), ("b", "c")]
    for stored, found in zip(again.regions, result.regions, strict=True):
        assert stored.verdict == found.verdict
        assert stored.ends == found.ends
        assert stored.factors == found.factors
        np.testing.assert_array_equal(stored.linearised, found.linearised)
    text = " ".join(PROFILES.text(result).split())
    for region_found in result.regions:
        names = " and ".join(region_found.names)
        assert f"Region of {names}: {region_found.verdict.text}." in text
