"""Exact differences and superposition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident_estimators.linear_regression.affine import (
    AffineModel,
    Box,
    FailedEvaluationError,
    affine_model,
    nonlinear_parameters,
    superposition_error,
)

MATRIX = np.random.default_rng(0).normal(size=(30, 3)) * [1.0, 1e4, 1e-9]
OFFSET = np.random.default_rng(1).normal(size=30)
BOX = Box(np.array([1.0, 2.0, 0.0]), np.full(3, -np.inf), np.full(3, np.inf), np.ones(3))


def linear(points: np.ndarray) -> np.ndarray:
    return OFFSET + points @ MATRIX.T


def test_columns_are_exact_even_if_they_hardly_count() -> None:
    model = affine_model(linear, BOX)
    np.testing.assert_allclose(model.matrix[:, :2], MATRIX[:, :2], rtol=1e-9, atol=1e-9)
    # The third is 1e13 times smaller than the second; one step of size 1 loses it in rounding.
    error = np.linalg.norm(model.matrix[:, 2] - MATRIX[:, 2]) / np.linalg.norm(MATRIX[:, 2])
    assert error < 0.01


def test_steps_stay_inside_bounds() -> None:
    box = Box(
        np.array([1.0, 1.0, 1.0]), np.array([0.0, 0.9, 1.0]), np.array([1.0, 1.2, 9.0]), np.ones(3)
    )
    np.testing.assert_allclose(box.steps(), [-1.0, 0.2, 1.0])
    points = box.random(np.random.default_rng(0), 100)
    assert np.all((points >= box.lower) & (points <= box.upper))


def test_random_points_spread_where_there_is_no_bound() -> None:
    points = BOX.random(np.random.default_rng(0), 1000)
    assert np.all(np.ptp(points, axis=0) > 1.9)


def test_superposition_holds_for_a_linear_function() -> None:
    model = affine_model(linear, BOX)
    worst, errors = superposition_error(linear, model, BOX.random(np.random.default_rng(0), 5))
    assert worst < 1e-11
    assert errors.shape == (5,)


def test_an_even_function_is_seen_through() -> None:
    """Its difference is the same at both sides, so that random points are needed."""

    def even(points: np.ndarray) -> np.ndarray:
        return np.abs(points[:, :1] - 1.0) + np.ones((1, 4))

    box = Box(np.array([1.0]), np.array([0.0]), np.array([2.0]), np.array([1.0]))
    model = affine_model(even, box)
    worst, _ = superposition_error(even, model, box.random(np.random.default_rng(0), 3))
    assert worst > 0.1


def test_no_influence_is_an_exact_zero() -> None:
    model = affine_model(lambda p: OFFSET + p[:, :1] * OFFSET, BOX)
    assert np.all(model.matrix[:, 1:] == 0.0)


def failing(where: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Return the linear function that fails where the second parameter is so."""

    def function(points: np.ndarray) -> np.ndarray:
        values = linear(points)
        values[where(points[:, 1])] = np.nan
        return values

    return function


def test_failures_are_told() -> None:
    for where in (lambda p: p == 2.0, lambda p: np.abs(p - 2.0) > 1e-3):
        with pytest.raises(FailedEvaluationError):
            affine_model(failing(where), BOX)


@pytest.mark.parametrize(
    "where",
    [lambda p: p > 2.5, lambda p: np.abs(p - 2.0) > 0.05, lambda p: (p < 1.95) | (p > 2.4)],
)
def test_where_a_step_fails_another_one_is_taken(where) -> None:
    model = affine_model(failing(where), BOX)
    np.testing.assert_allclose(model.matrix[:, :2], MATRIX[:, :2], rtol=1e-8, atol=1e-8)


def test_no_point_lies_outside_not_even_by_rounding() -> None:
    box = Box(np.array([0.1]), np.array([0.1]), np.array([0.3]), np.array([0.2]))
    seen = []

    def watched(points: np.ndarray) -> np.ndarray:
        seen.extend(points[:, 0])
        return points

    affine_model(watched, box)  # 0.1 + 0.2 is larger than 0.3
    assert max(seen) == 0.3


def test_the_guilty_are_named() -> None:
    def square(points: np.ndarray) -> np.ndarray:
        return linear(points) + 1e4 * points[:, 2:] ** 2

    model = affine_model(square, BOX)
    assert nonlinear_parameters(square, model, BOX, 1e-6, ("x", "y", "z")) == "'z'"


def test_a_model_is_callable() -> None:
    model = AffineModel(np.zeros(2), np.ones(3), np.ones((3, 2)))
    np.testing.assert_array_equal(model(np.array([[1.0, 2.0]])), [[4.0, 4.0, 4.0]])
