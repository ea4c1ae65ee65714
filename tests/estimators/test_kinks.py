"""Minima at kinks of the cost: the slope jumps, and along the kink the cost is smooth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from fmident.arrays import F64
from fmident_estimators.least_squares.kinks import Linear, minimum_at_kink

ENDLESS = np.full(2, np.inf)


def bent(p: F64) -> tuple[F64, F64]:
    """A kink at ``p[0] = p[1]**2`` with its minimum there."""
    distance = p[0] - p[1] ** 2
    side = 1.0 if distance > 0.0 else -1.0
    residuals = np.array([2.0 + abs(distance), 0.3 * (p[0] - 2.0), p[1] - 0.5])
    return residuals, np.array([[side, -2.0 * side * p[1]], [0.3, 0.0], [0.0, 1.0]])


def on_the_kink(x: float) -> float:
    return (0.3 * (x**2 - 2.0)) ** 2 + (x - 0.5) ** 2


@pytest.mark.parametrize("start", [(0.3, 0.6), (0.5, 0.7), (0.36 + 1e-9, 0.6)], ids=str)
def test_the_search_ends_at_the_minimum_within_a_curved_kink(start: tuple[float, float]) -> None:
    best = minimize_scalar(on_the_kink, bounds=(0.0, 1.5), method="bounded").x
    point = minimum_at_kink(np.array(start), bent, -ENDLESS, ENDLESS)
    assert point == pytest.approx([best**2, best], abs=2e-3)


def test_the_cost_rises_on_every_side_of_it() -> None:
    point = minimum_at_kink(np.array([0.3, 0.6]), bent, -ENDLESS, ENDLESS)
    assert point is not None
    best = np.sum(bent(point)[0] ** 2)
    for angle in np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False):
        step = 0.05 * np.array([np.cos(angle), np.sin(angle)])
        assert np.sum(bent(point + step)[0] ** 2) > best


def smooth(p: F64) -> tuple[F64, F64]:
    """Rosenbrock's valley, without any kink."""
    return np.array([10.0 * (p[1] - p[0] ** 2), 1.0 - p[0]]), np.array(
        [[-20.0 * p[0], 10.0], [-1.0, 0.0]]
    )


def failing(p: F64) -> tuple[F64, F64]:
    """The simulation fails beyond the kink."""
    residuals, jacobian = bent(p)
    return (residuals if p[0] <= p[1] ** 2 else residuals * np.nan), jacobian


@pytest.mark.parametrize("linear", [smooth, failing], ids=["smooth", "failing"])
def test_there_is_no_kink(linear: Linear) -> None:
    assert minimum_at_kink(np.array([0.3, 0.6]), linear, -ENDLESS, ENDLESS) is None


def test_a_minimum_beyond_a_bound_is_none() -> None:
    upper = np.array([0.25, np.inf])
    assert minimum_at_kink(np.array([0.2, 0.6]), bent, -ENDLESS, upper) is None
