"""The step that remains, inside the bounds."""

from __future__ import annotations

import numpy as np
import pytest

from fmident_estimators.least_squares.convergence import JacobianErrors, remaining_step


def test_bounds_that_cut_the_step_off_do_not_hide_the_descent() -> None:
    """Each bound by itself cuts the long step off; where all do, the cost is higher than before.

    A motor whose speed was read in wrong units ended its search at the initial values that way.
    """
    jacobian = np.array([[1.0, 0.99], [0.0, 0.02]])
    residuals = np.array([-1.0, 1.0])  # the free step is (50.5, -50): two bounds cut it off
    low, high = np.array([-1.0, -2.0]), np.array([1.0, 2.0])
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-2, 2, 801)), axis=-1)
    costs = 0.5 * np.sum((residuals + grid @ jacobian.T) ** 2, axis=-1)

    left = remaining_step(residuals, jacobian, JacobianErrors(np.zeros(2)), 0.0, (low, high))

    assert np.all((low <= left.step) & (left.step <= high))
    assert left.promise == pytest.approx(1.0 - costs.min(), rel=1e-2)
    assert left.promise > 0.0


def test_without_bounds_in_the_way_the_step_is_that_of_gauss_and_newton() -> None:
    jacobian = np.array([[1.0, 0.99], [0.0, 0.02], [0.3, 0.1]])
    residuals = np.array([-1.0, 1.0, 0.2])
    room = (np.full(2, -np.inf), np.full(2, np.inf))

    left = remaining_step(residuals, jacobian, JacobianErrors(np.zeros(2)), 0.0, room)

    assert left.step == pytest.approx(np.linalg.lstsq(jacobian, -residuals)[0])
    assert not left.at_bound.any()


def test_random_boxes_are_solved() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        jacobian, residuals = rng.normal(size=(9, 4)), rng.normal(size=9)
        jacobian[:, 3] = jacobian[:, 2] + 0.01 * jacobian[:, 3]
        low, high = -rng.uniform(0.01, 1.0, 4), rng.uniform(0.01, 1.0, 4)
        left = remaining_step(residuals, jacobian, JacobianErrors(np.zeros(4)), 0.0, (low, high))
        gradient = jacobian.T @ (residuals + jacobian @ left.step)
        down, up = left.step <= low, left.step >= high
        assert np.all(gradient[~down & ~up] == pytest.approx(0.0, abs=1e-8))
        assert np.all(gradient[down] >= -1e-8)
        assert np.all(gradient[up] <= 1e-8)
        assert left.promise > 0.0
