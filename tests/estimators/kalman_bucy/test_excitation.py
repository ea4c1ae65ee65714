"""Variance of the estimate over the input's frequency (eqs. 8, 12, 13)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from fmident_estimators.kalman_bucy.estimator import best_ratio, unit_response, variance_factor

pytestmark = pytest.mark.slow  # many builds or whole runs

OMEGA0 = float(np.sqrt(400.0 / 3.0))


@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.000004, 2.5])
def test_the_response_solves_the_equation(ratio: float) -> None:
    times = np.linspace(0.0, 1.0, 51)
    solution = solve_ivp(
        lambda t, z: [z[1], np.sin(ratio * OMEGA0 * t) - OMEGA0**2 * z[0]],
        (0.0, 1.0),
        [0.0, 0.0],
        t_eval=times,
        rtol=1e-10,
        atol=1e-14,
    )
    x = unit_response(ratio, OMEGA0, times)
    np.testing.assert_allclose(x, solution.y[0], atol=1e-5 * np.abs(x).max())


def test_equation_13() -> None:
    times = np.arange(1, 2001) * 1e-3
    ratio = 1.7
    waves = ratio * np.sin(OMEGA0 * times) - np.sin(ratio * OMEGA0 * times)
    expected = OMEGA0**4 * (ratio**2 - 1.0) ** 2 / np.sum(waves**2)
    assert variance_factor(ratio, OMEGA0, times) == pytest.approx(expected, rel=1e-12)


@pytest.mark.nightly
def test_the_best_frequency_tends_to_the_natural_one() -> None:
    distance = [
        abs(best_ratio(OMEGA0, np.arange(1, count + 1) * 1e-3) - 1.0)
        for count in (1000, 5000, 20000)
    ]
    assert distance[0] > distance[1] > distance[2]
    assert distance[1] < 0.006
    assert distance[2] < 0.002


def test_forgetting_never_helps_at_resonance() -> None:
    times = np.arange(1, 1001) * 1e-3
    factors = [variance_factor(1.0, OMEGA0, times, f) for f in (0.95, 0.98, 0.99, 1.0)]
    assert factors == sorted(factors, reverse=True)
