"""Derivatives by ladders of steps: their errors are what they say, whatever the noise is like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.evaluation.derivatives.ladder import Ladder

WIDE = np.full(2, np.inf)


def climbed(
    evaluate: Callable[[np.ndarray], np.ndarray],
    z: np.ndarray,
    directions: np.ndarray,
    reach: list[float],
    noise: float,
    lower: np.ndarray = -WIDE,
    upper: np.ndarray = WIDE,
    rounds: int = 4,
) -> tuple[np.ndarray, np.ndarray]:
    base = evaluate(z[None])[0]
    expected = np.ones(directions.shape[1])
    ladder = Ladder(evaluate, base, z, directions, np.array(reach), expected, lower, upper, noise)
    for _ in range(rounds):
        if not ladder.climb(range(directions.shape[1])):
            break
    found = ladder.found()
    return found.values, found.differences


def test_a_combination_that_nearly_cancels_stands_out_of_the_noise() -> None:
    rng = np.random.default_rng(1)
    x = np.linspace(0.0, 1.0, 500)
    noise = 1e-4

    def evaluate(points: np.ndarray) -> np.ndarray:
        clean = np.sin(5.0 * (points[:, :1] + points[:, 1:]) * x) + 4e-3 * points[:, :1] * x**2
        return clean + noise * rng.normal(size=clean.shape)

    z = np.array([1.0, 2.0])
    directions = np.array([[1.0, 1.0], [1.0, -1.0]])
    values, differences = climbed(evaluate, z, directions, [0.02, 0.4], noise)
    exact = np.column_stack([10.0 * x * np.cos(15.0 * x) + 4e-3 * x**2, 4e-3 * x**2])
    missed, told = np.linalg.norm(values - exact, axis=0), np.linalg.norm(differences, axis=0)
    assert np.all(missed < 2.0 * told)
    assert missed[1] < 0.4 * np.linalg.norm(exact[:, 1])


def test_too_long_a_step_is_corrected() -> None:
    z, way = np.array([1.0, 0.0]), np.array([[1.0], [0.0]])
    values, _ = climbed(
        lambda points: np.tile(np.sin(20.0 * points[:, :1]), 10), z, way, [0.5], 1e-12
    )
    np.testing.assert_allclose(values[:, 0], 20.0 * np.cos(20.0), rtol=1e-5)


@pytest.mark.parametrize(("lower", "upper"), [(0.9999, 3.0), (-3.0, 1.0001)])
def test_one_sided_near_a_bound(lower: float, upper: float) -> None:
    seen = []

    def evaluate(points: np.ndarray) -> np.ndarray:
        seen.extend(points[:, 0])
        return np.tile(np.exp(points[:, :1]), 4)

    values, differences = climbed(
        evaluate,
        np.array([1.0]),
        np.array([[1.0]]),
        [0.1],
        1e-12,
        np.array([lower]),
        np.array([upper]),
    )
    assert abs(values[0, 0] - np.e) <= max(abs(differences[0, 0]), 1e-9) < 0.02
    assert lower <= min(seen)
    assert max(seen) <= upper


def test_failures_shorten_the_step_and_are_told_when_nothing_works() -> None:
    def evaluate(points: np.ndarray) -> np.ndarray:
        far = np.abs(points[:, :1] - 1.0) > 0.02
        return np.tile(np.where(far, np.nan, points[:, :1] ** 2), 4)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, _ = climbed(evaluate, z, way, [0.4], 1e-2, *bounds)
    np.testing.assert_allclose(values, 2.0, rtol=1e-6)

    def broken(points: np.ndarray) -> np.ndarray:
        return np.where(points[:, :1] == 1.0, 1.0, np.nan) * np.ones((1, 4))

    values, _ = climbed(broken, z, way, [0.4], 1e-9, *bounds)
    assert np.isnan(values).all()


def test_jumps_of_the_step_sequence_do_not_pass_for_a_slope() -> None:
    """An integrator's error that is constant between places where its steps change."""
    x = np.linspace(0.5, 1.0, 300)

    def evaluate(points: np.ndarray) -> np.ndarray:
        jumps = np.sin(12.9898 * np.floor(points[:, :1] * 3e4) + 40.0 * x)
        return points[:, :1] * x + 1e-4 * jumps

    for shift in np.linspace(0.0, 1e-4, 7):
        z, way = np.array([1.0 + shift]), np.array([[1.0]])
        values, differences = climbed(
            evaluate, z, way, [0.2], 1e-14, -np.ones(1) * 9, np.ones(1) * 9, rounds=5
        )
        missed = np.linalg.norm(values[:, 0] - x)
        assert missed < 2.0 * np.linalg.norm(differences) + 1e-9
        assert missed < 0.01 * np.linalg.norm(x)


def test_one_sample_on_a_sharp_bend_has_a_shorter_step_than_the_others() -> None:
    x = np.linspace(0.1, 1.0, 200)
    rng = np.random.default_rng(0)

    def evaluate(points: np.ndarray) -> np.ndarray:
        clean = np.exp(-points[:, :1] * x)
        clean[:, 100] = 0.02 * np.tanh((points[:, 0] - 1.0) / 2e-3)
        return clean + 1e-6 * rng.normal(size=clean.shape)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, _ = climbed(evaluate, z, way, [0.2], 1e-6, *bounds, rounds=6)
    exact = -x * np.exp(-x)
    others = np.arange(200) != 100
    np.testing.assert_allclose(values[100, 0], 10.0, rtol=0.05)
    assert np.sqrt(np.mean((values[others, 0] - exact[others]) ** 2)) < 2e-4


def test_outputs_that_are_rounded_are_not_differenced_with_steps_that_they_do_not_notice() -> None:
    x = np.linspace(0.1, 1.0, 200)

    def evaluate(points: np.ndarray) -> np.ndarray:
        return 1e-4 * np.round(np.exp(-points[:, :1] * x) / 1e-4)

    z, way = np.array([1.0]), np.array([[1.0]])
    bounds = (np.array([-9.0]), np.array([9.0]))
    values, differences = climbed(evaluate, z, way, [0.2], 1e-16, *bounds, rounds=6)
    missed = np.linalg.norm(values[:, 0] + x * np.exp(-x))
    assert missed < max(np.linalg.norm(differences), 0.02 * np.linalg.norm(x * np.exp(-x)))
