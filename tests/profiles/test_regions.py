"""Joint regions of two parameters against closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from fmident.errors import ProblemError
from fmident.profiles import JointRegion
from fmident.report.profile_folder import write_profiles
from fmident.report.profile_text import profile_summary
from fmident.report.stored.profiles import read_profiles

from .rig import TIMES, parameter, problem_of, profiles


def line(times, inputs, a, b, c):
    return {"y": a + b * times + c * times**2}


def decay(times, inputs, a, k):
    return {"y": a * np.exp(-k * times)}


def noisy(truth, sigma, seed=0):
    return truth + sigma * np.random.default_rng(seed).standard_normal(truth.size)


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
    ("pair", "message"),
    [
        (("a", "a"), "two different names"),
        (("a", "zz"), "no free parameter 'zz'"),
    ],
)
def test_pairs_are_checked(pair, message):
    problem = problem_of(noisy(TIMES, 0.1), [parameter(n) for n in "abc"], 0.1)
    with pytest.raises(ProblemError, match=message):
        profiles(problem, line, pairs=[pair])


def test_the_folder_has_the_region(tmp_path: Path):
    measured = noisy(1.0 + 2.0 * TIMES - TIMES**2, 0.1)
    three = [parameter("a", 1.0, -5.0, 1.05), parameter("b"), parameter("c")]
    problem = problem_of(measured, three, 0.1)
    result = profiles(problem, line, names=["a"], pairs=[("a", "b"), ("b", "c")])
    write_profiles(result, problem, tmp_path)
    page = (tmp_path / "profiles.html").read_text()
    assert "Joint regions" in page
    assert "a bound comes first" in page
    again = read_profiles(tmp_path / "profiles.json")
    assert [r.names for r in again.regions] == [("a", "b"), ("b", "c")]
    for stored, found in zip(again.regions, result.regions, strict=True):
        assert stored.verdict == found.verdict
        assert stored.ends == found.ends
        np.testing.assert_array_equal(stored.linearised, found.linearised)
    text = " ".join(profile_summary(result).split())
    for region_found in result.regions:
        names = " and ".join(region_found.names)
        assert f"Region of {names}: {region_found.verdict.text}." in text
