"""Intervals hold the truth as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from .rig import parameter, problem_of, profiles

DRAWS, FEW = 200, np.linspace(0.0, 1.0, 8)
TRUTH = (1.5, 3.0)


def decay(times, inputs, a, k):
    return {"y": a * np.exp(-k * times)}


@pytest.mark.slow
@pytest.mark.parametrize("known", [True, False])
def test_coverage_of_a_nonlinear_model_with_few_samples(known):
    """With eight samples the rate is known to a quarter, and F is not chi-squared."""
    sigma = 0.15
    rng = np.random.default_rng(11)
    hits = np.zeros(2)
    for _ in range(DRAWS):
        measured = decay(FEW, {}, *TRUTH)["y"] + sigma * rng.standard_normal(FEW.size)
        parameters = [parameter("a", TRUTH[0]), parameter("k", TRUTH[1], 1e-3, 1e3)]
        problem = problem_of(measured, parameters, sigma if known else None, FEW)
        for j, profile in enumerate(profiles(problem, decay).profiles):
            low, high = profile.interval
            hits[j] += low <= TRUTH[j] <= high
    # Three standard deviations of the share of so many draws.
    spread = 3.0 * np.sqrt(0.95 * 0.05 / DRAWS)
    np.testing.assert_allclose(hits / DRAWS, 0.95, atol=spread)
