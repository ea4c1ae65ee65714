"""Derivatives along directions: their errors are what they say, also near bounds."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.evaluation import directional_derivatives

WIDE = np.full(2, np.inf)


def test_a_combination_that_nearly_cancels_stands_out_of_the_noise() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 1.0, 500)
    noise = 1e-4

    def evaluate(points: np.ndarray) -> np.ndarray:
        clean = np.sin(5.0 * (points[:, :1] + points[:, 1:]) * x) + 4e-3 * points[:, :1] * x**2
        return clean + noise * rng.normal(size=clean.shape)

    z = np.array([1.0, 2.0])
    directions = np.array([[1.0, 1.0], [1.0, -1.0]])
    found = directional_derivatives(
        evaluate, evaluate(z[None])[0], z, directions, np.array([0.02, 0.4]), -WIDE, WIDE, noise
    )
    exact = np.column_stack([10.0 * x * np.cos(15.0 * x) + 4e-3 * x**2, 4e-3 * x**2])
    missed = np.linalg.norm(found.values - exact, axis=0)
    assert np.all(missed < 2.0 * found.errors)
    assert found.errors[1] < 0.4 * np.linalg.norm(exact[:, 1])


def test_too_long_a_step_is_corrected() -> None:
    def evaluate(points: np.ndarray) -> np.ndarray:
        return np.tile(np.sin(20.0 * points[:, :1]), 10)

    z = np.array([1.0, 0.0])
    found = directional_derivatives(
        evaluate,
        evaluate(z[None])[0],
        z,
        np.array([[1.0], [0.0]]),
        np.array([0.5]),
        -WIDE,
        WIDE,
        1e-12,
    )
    np.testing.assert_allclose(found.values[:, 0], 20.0 * np.cos(20.0), rtol=1e-5)


@pytest.mark.parametrize(("lower", "upper"), [(0.9999, 3.0), (-3.0, 1.0001)])
def test_one_sided_near_a_bound(lower: float, upper: float) -> None:
    seen = []

    def evaluate(points: np.ndarray) -> np.ndarray:
        seen.extend(points[:, 0])
        return np.tile(np.exp(points[:, :1]), 4)

    z = np.array([1.0])
    found = directional_derivatives(
        evaluate,
        evaluate(z[None])[0],
        z,
        np.array([[1.0]]),
        np.array([0.1]),
        np.array([lower]),
        np.array([upper]),
        1e-12,
    )
    missed = abs(found.values[0, 0] - np.e) * 2.0
    assert missed <= found.errors[0] < 0.02
    assert lower <= min(seen)
    assert max(seen) <= upper


def test_failures_shorten_the_step_and_are_told_when_nothing_works() -> None:
    def evaluate(points: np.ndarray) -> np.ndarray:
        far = np.abs(points[:, :1] - 1.0) > 0.05
        return np.tile(np.where(far, np.nan, points[:, :1] ** 2), 4)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    found = directional_derivatives(evaluate, np.ones(4), z, way, np.array([0.4]), *bounds, 1e-9)
    np.testing.assert_allclose(found.values, 2.0, rtol=1e-6)
    lost = directional_derivatives(
        lambda points: np.full((len(points), 4), np.nan),
        np.ones(4),
        z,
        way,
        np.array([0.4]),
        *bounds,
        1e-9,
    )
    assert np.isnan(lost.values).all()
    assert np.isinf(lost.errors).all()
