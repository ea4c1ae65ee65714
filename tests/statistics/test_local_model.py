"""Intervals on the feasible set, against profiles of the quadratic model and closed forms."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from scipy import optimize, stats

from fmident.statistics.feasible_set import FeasibleSet
from fmident.statistics.local_model import LocalModel

F64 = npt.NDArray[np.float64]
T95 = float(stats.norm.ppf(0.975))


def box(p: F64, lower: F64, upper: F64) -> FeasibleSet:
    """Return the set within bounds around a point."""
    rows = np.vstack([np.eye(p.size), -np.eye(p.size)])
    slacks = np.concatenate([p - lower, upper - p])
    finite = np.isfinite(slacks)
    return FeasibleSet(np.empty((0, p.size)), rows[finite], slacks[finite])


def fitted(jacobian: F64, measured: F64, lower: F64, upper: F64) -> LocalModel:
    """Return the local model of a linear one, with noise of 1, at its least squares in the box."""
    p = optimize.lsq_linear(jacobian, measured, (lower, upper), method="bvls", tol=1e-14).x
    names = [f"p{j}" for j in range(p.size)]
    residuals = measured - jacobian @ p
    return LocalModel(names, p, -jacobian, residuals, True, feasible=box(p, lower, upper))


def profiled(jacobian: F64, measured: F64, lower: F64, upper: F64, way: F64) -> tuple[float, float]:
    """Return the interval of ``way @ p`` by the likelihood ratio, from constrained refits."""
    p = optimize.lsq_linear(jacobian, measured, (lower, upper), method="bvls", tol=1e-14).x
    least = float(np.sum((measured - jacobian @ p) ** 2))

    def excess(value: float) -> float:
        # The value is kept by a row that outweighs all others.
        rows, right = np.vstack([jacobian, 1e6 * way]), np.append(measured, 1e6 * value)
        q = optimize.lsq_linear(rows, right, (lower, upper), method="bvls", tol=1e-14).x
        return float(np.sum((measured - jacobian @ q) ** 2)) - least - T95**2

    at, ends = float(way @ p), []
    for sign, corner in (
        (-1.0, np.where(way > 0, lower, upper)),
        (1.0, np.where(way > 0, upper, lower)),
    ):
        far = float(way[way != 0.0] @ corner[way != 0.0])
        far = far if np.isfinite(far) else at + sign * 100.0
        ends.append(
            far if excess(far) <= 0.0 else float(optimize.brentq(excess, at, far, xtol=1e-12))
        )
    return ends[0], ends[1]


@pytest.mark.parametrize("seed", range(8))
def test_intervals_are_those_of_the_likelihood_ratio_in_the_box(seed: int) -> None:
    """Some bounds are active, some within reach of an interval, some are far."""
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(12, 4)) @ np.diag([1.0, 0.5, 2.0, 0.2])
    measured = jacobian @ np.array([0.3, -0.2, 0.1, 1.0]) + rng.normal(size=12)
    lower, upper = np.array([0.0, -1.0, -np.inf, 0.5]), np.array([9.0, 0.1, np.inf, 2.0])
    model = fitted(jacobian, measured, lower, upper)
    sums = rng.normal(size=4)
    _, (ends,) = model.errors_and_ranges(sums[np.newaxis])
    for way, interval in [
        *zip(np.eye(4), model.intervals, strict=True),
        (sums, sums @ model.values + ends),
    ]:
        expected = profiled(jacobian, measured, lower, upper, way)
        np.testing.assert_allclose(interval, expected, atol=2e-4)


@pytest.mark.parametrize("seed", range(8))
def test_no_step_is_left_at_the_least_squares_in_the_box(seed: int) -> None:
    """Whatever the multiplier of a bound is: beyond it the cost does not count."""
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(12, 4))
    measured = jacobian @ np.array([0.1, -0.2, 0.1, 0.2]) + rng.normal(size=12)
    lower, upper = np.array([0.0, -0.2, -np.inf, 0.1]), np.array([9.0, 0.1, np.inf, 0.2])
    model = fitted(jacobian, measured, lower, upper)
    np.testing.assert_allclose(model.remaining_step, 0.0, atol=1e-7)


def test_the_step_that_is_left_goes_away_from_a_bound() -> None:
    jacobian, measured = np.eye(3)[:, :2], np.array([1.0, 2.0, 0.5])
    p = np.zeros(2)
    limits = box(p, np.array([0.0, 0.0]), np.array([9.0, 9.0]))
    model = LocalModel(["a", "b"], p, -jacobian, measured, True, feasible=limits)
    np.testing.assert_allclose(model.remaining_step, [1.0, 2.0], rtol=1e-12)


def test_far_from_all_bounds_intervals_are_symmetrical() -> None:
    rng = np.random.default_rng(0)
    jacobian = rng.normal(size=(20, 3))
    wide = 1e3 * np.ones(3)
    model = fitted(jacobian, jacobian @ np.ones(3) + rng.normal(size=20), -wide, wide)
    errors = np.sqrt(np.diag(np.linalg.inv(jacobian.T @ jacobian)))
    np.testing.assert_allclose(model.intervals[:, 1] - model.values, T95 * errors, rtol=1e-10)
    np.testing.assert_allclose(model.values - model.intervals[:, 0], T95 * errors, rtol=1e-10)
    assert not model.cut.any()


def valley(offset: float) -> LocalModel:
    """Return two parameters, nearly only whose sum is seen, with the first on its bound.

    `offset` is how far beyond the bound least squares would go, in standard errors.
    """
    jacobian = np.array([[1.0, 1.0], [0.05, -0.05], [0.0, 0.0]])
    error = float(np.sqrt(np.linalg.inv(jacobian.T @ jacobian)[0, 0]))
    free = np.array([2.0 - offset * error, 1.0])
    return fitted(jacobian, jacobian @ free, np.array([2.0, -100.0]), np.array([100.0, 100.0]))


def test_a_bound_that_nothing_pushes_against_leaves_the_others_as_uncertain() -> None:
    model = valley(0.5)
    assert model.values[0] == 2.0
    assert not model.on_bound.any()
    np.testing.assert_allclose(model.standard_errors, np.sqrt(100.25), rtol=1e-12)
    low, high = model.intervals[1]
    assert high < model.values[1] + 3.0  # the first parameter cannot be smaller
    assert low < model.values[1] - 10.0


def test_a_bound_that_the_data_push_against_holds_its_parameter() -> None:
    model = valley(8.0)
    assert model.on_bound.tolist() == [True, False]
    assert np.isnan(model.standard_errors[0])
    assert model.standard_errors[1] == pytest.approx(1.0 / np.sqrt(1.0025), rel=1e-12)
    assert model.intervals[0, 0] == 2.0
    assert model.intervals[0, 1] == pytest.approx(
        2.0 + 10.0125 * (np.hypot(8.0, T95) - 8.0), rel=1e-3
    )


@pytest.mark.parametrize("beyond", [3.0, 1e3, 1e6])
def test_what_is_far_beyond_a_bound_is_not_lost_in_rounding(beyond: float) -> None:
    jacobian = np.eye(2)
    measured = np.array([-beyond, 0.3])
    model = fitted(jacobian, measured, np.array([0.0, -9.0]), np.array([9.0, 9.0]))
    reach = T95**2 / (np.hypot(beyond, T95) + beyond)
    assert model.intervals[0].tolist() == [0.0, pytest.approx(reach, rel=1e-6)]
    np.testing.assert_allclose(model.intervals[1], [0.3 - T95, 0.3 + T95], rtol=1e-6)


def test_what_the_data_leave_open_reaches_from_bound_to_bound() -> None:
    jacobian = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    p, lower, upper = np.ones(3), np.array([0.0, -np.inf, 0.5]), np.array([5.0, 4.0, np.inf])
    model = LocalModel(list("abc"), p, -jacobian, np.zeros(2), True, feasible=box(p, lower, upper))
    assert model.is_open.tolist() == [True, True, False]
    assert model.intervals[0].tolist() == [0.0, 5.0]
    assert model.intervals[1].tolist() == [-np.inf, 4.0]
    # The sum is determined; moving along what is open, it is not limited by the bounds.
    errors, ((low, high),) = model.errors_and_ranges(np.array([[1.0, 1.0, 0.0]]))
    assert errors[0] == pytest.approx(1.0)
    assert (low, high) == (pytest.approx(-T95), pytest.approx(T95))
    assert model.intervals[2].tolist() == [0.5, pytest.approx(1.0 + T95)]


def test_of_two_active_bounds_only_the_one_that_is_pushed_against_holds() -> None:
    jacobian = np.eye(3)
    measured = np.array([-5.0, -0.5, 0.2])
    model = fitted(jacobian, measured, np.array([0.0, 0.0, -9.0]), 9.0 * np.ones(3))
    assert model.on_bound.tolist() == [True, False, False]
    assert model.identifiability.rank == 2


@pytest.mark.parametrize("seed", range(10))
def test_an_interval_that_a_bound_ends_ends_exactly_there(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jacobian = rng.normal(size=(20, 2))
    jacobian[:, 1] = jacobian[:, 0] + 0.05 * jacobian[:, 1]
    measured = jacobian @ np.array([0.5, 1.5]) + rng.normal(size=20)
    model = fitted(jacobian, measured, np.array([0.0, -50.0]), np.array([50.0, 50.0]))
    assert model.intervals[0, 0] == 0.0


def test_an_equality_and_a_bound_leave_one_direction() -> None:
    rng = np.random.default_rng(1)
    jacobian = rng.normal(size=(15, 3))
    p = np.array([1.0, 2.0, 3.0])
    limits = FeasibleSet(np.array([[1.0, 1.0, 0.0]]), np.array([[0.0, 0.0, 1.0]]), np.zeros(1))
    model = LocalModel(
        list("abc"), p, jacobian, np.zeros(15), True, feasible=limits, holding=np.array([True])
    )
    way = np.array([1.0, -1.0, 0.0])
    error = 1.0 / np.linalg.norm(jacobian @ way)
    np.testing.assert_allclose(model.standard_errors[:2], error, rtol=1e-12)
    assert np.isnan(model.standard_errors[2])
    assert model.covariance[0, 1] == pytest.approx(-(error**2), rel=1e-12)


def test_as_many_samples_as_parameters_leave_bounds_as_intervals() -> None:
    jacobian, p = np.array([[1.0, 0.2], [0.1, 2.0]]), np.array([1.0, 2.0])
    limits = box(p, np.array([1.0, 0.0]), np.array([5.0, np.inf]))
    # Least squares would take the first parameter to 0.5, or to 1.5.
    for step, holds in ((-0.5, True), (0.5, False)):
        residuals = -jacobian @ np.array([step, 0.0])
        model = LocalModel(list("ab"), p, jacobian, residuals, False, feasible=limits)
        assert model.on_bound.tolist() == [holds, False]
        assert np.isnan(model.standard_errors[0])
        assert model.intervals.tolist() == [[1.0, 5.0], [0.0, np.inf]]


def test_what_inexact_derivatives_leave_open_is_open_beside_a_bound_that_holds() -> None:
    rng = np.random.default_rng(0)
    jacobian = rng.normal(size=(20, 3))
    jacobian[:, 2] = jacobian[:, 1] + 1e-5 * rng.normal(size=20)
    spread = 1e-4 * rng.normal(size=(20, 3)) * np.array([0.0, 1.0, 1.0])
    p, far = np.ones(3), 1e9 * np.ones(3)
    limits = box(p, np.array([1.0, -1e9, -1e9]), far)
    residuals = 9.0 * jacobian[:, 0] + rng.normal(size=20)
    model = LocalModel(list("abc"), p, jacobian, residuals, True, spread=spread, feasible=limits)
    assert model.on_bound.tolist() == [True, False, False]
    assert model.is_open.tolist() == [False, True, True]
    assert model.intervals[1:].tolist() == [[-1e9, 1e9]] * 2
    errors, ranges = model.errors_and_ranges(np.array([[0.0, 1.0, 1.0]]))
    assert np.isfinite(errors).all()
    assert np.isfinite(ranges).all()
    for other in (model.released, model.releasing([0])):
        assert other.is_open.tolist() == [False, True, True]
