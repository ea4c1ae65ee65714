"""Intervals from replicates, against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fmident.resampling.result import (
    acceleration_of,
    bca_interval,
    bias_correction,
    percentile_interval,
    quantile,
)
from fmident.statistics.distributions import normal_quantile

NORMAL = np.array([normal_quantile(k / 2000.0) for k in range(1, 2000)])


def test_percentiles_are_order_statistics() -> None:
    values = np.arange(1.0, 100.0)
    assert quantile(values[::-1], 0.025) == pytest.approx(2.5)
    assert percentile_interval(NORMAL, 0.95) == pytest.approx((-1.959964, 1.959964), abs=1e-5)
    assert math.isnan(quantile(values, 0.005))


def test_bca_without_bias_and_acceleration_is_the_percentile_interval() -> None:
    assert bca_interval(NORMAL, 0.0, 0.0, 0.9) == pytest.approx(percentile_interval(NORMAL, 0.9))


def test_bca_respects_transformations() -> None:
    straight, bent = bca_interval(NORMAL, 0.3, 0.05, 0.9), np.exp(NORMAL)
    found = bca_interval(bent, math.exp(0.3), 0.05, 0.9)
    np.testing.assert_allclose(found, np.exp(straight), rtol=1e-3)


def test_bca_of_an_exponential_mean() -> None:
    """The mean of ten exponential variables, estimate 1; the acceleration is 1/(3 sqrt(10)).

    The exact interval is ``20 / chi2`` with the quantiles of 20 degrees of freedom.
    """
    replicates = np.random.default_rng(3).gamma(10.0, 0.1, 400_000)
    found = bca_interval(replicates, 1.0, 1.0 / (3.0 * math.sqrt(10.0)), 0.9)
    np.testing.assert_allclose(found, (20.0 / 31.410433, 20.0 / 10.850811), rtol=0.02)
    plain = percentile_interval(replicates, 0.9)
    assert abs(plain[1] - 20.0 / 10.850811) > 5.0 * abs(found[1] - 20.0 / 10.850811)


def test_the_bias_is_the_share_below() -> None:
    assert bias_correction(NORMAL, 0.5) == pytest.approx(0.5, abs=2e-3)
    assert math.isfinite(bias_correction(NORMAL, 100.0))


def test_the_acceleration_is_a_sixth_of_the_skewness() -> None:
    influences = np.array([1.0, 1.0, -2.0, 3.0])
    assert acceleration_of(influences) == pytest.approx(21.0 / (6.0 * 15.0**1.5))
    assert acceleration_of(np.zeros(3)) == 0.0
