"""Thresholds of the likelihood ratio."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.statistics.likelihood import critical_tau, rise_of, tau_of


def test_known_noise_is_the_normal_quantile() -> None:
    # Venzon and Moolgavkar: 3.84 for 95 %, half of it in the log-likelihood.
    assert critical_tau(0.95, 0, sigma_known=True) == pytest.approx(1.959963984540054)
    assert rise_of(critical_tau(0.95, 0, sigma_known=True), 1.0) == pytest.approx(1.9207294103)
    assert critical_tau(0.99, 0, sigma_known=True) ** 2 == pytest.approx(6.6348966)


@pytest.mark.parametrize("freedom", [1, 5, 60, 10_000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_unknown_noise_is_student_t(level: float, freedom: int) -> None:
    tau = critical_tau(level, freedom, sigma_known=False)
    assert tau == pytest.approx(stats.t.ppf(0.5 + 0.5 * level, freedom))


def test_no_degrees_of_freedom_no_threshold() -> None:
    assert np.isnan(critical_tau(0.95, 0, sigma_known=False))


def test_tau_and_rise_belong_together() -> None:
    assert tau_of(rise_of(1.7, 0.3), 0.3) == pytest.approx(1.7)
    assert tau_of(-1e-9, 1.0) == 0.0
