"""Thresholds of the likelihood ratio."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.statistics.distributions import critical_tau, joint_freedom, rise_of, tau_of


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


def test_two_combinations_together_have_the_mean_of_f() -> None:
    # Both alike: half the sum of squares of t with nu has the mean nu/(nu - 2), that of F.
    for freedom in (3.0, 12.5, 400.0):
        assert joint_freedom(np.array([freedom, freedom])) == pytest.approx(freedom)
    found = joint_freedom(np.array([5.0, 50.0]))
    mean = 0.5 * (5.0 / 3.0 + 50.0 / 48.0)
    assert found / (found - 2.0) == pytest.approx(mean)
    assert np.isinf(joint_freedom(np.array([np.inf, np.inf])))
    assert joint_freedom(np.array([1.5, 80.0])) == 1.5


def test_effective_degrees_of_freedom_need_not_be_whole() -> None:
    tau = critical_tau(0.9, 7.3, sigma_known=False, parameters=2)
    assert tau**2 == pytest.approx(2.0 * stats.f.ppf(0.9, 2, 7.3))
