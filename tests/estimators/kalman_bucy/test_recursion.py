"""Filter, recursion and covariance, against closed forms, plain least squares, Monte-Carlo."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.signal import cont2discrete, lfilter, lsim

from fmident_estimators.compiled import FILLING, MISSING, OK, compiled
from fmident_estimators.kalman_bucy import kernels
from fmident_estimators.kalman_bucy.recursion import (
    Differentiator,
    KalmanBucy,
    differentiator,
    finite_differences,
)
from fmident_estimators.linear_equation import LinearEquation

STEP = 1e-3
TIMES = np.arange(3001) * STEP
MSD = LinearEquation(2, ("a1", "a0"), {"b0": 1.0})


def oscillation(omega: float = 20.0, theta1: float = 2.0, theta2: float = 133.0):
    """Steady response of x'' + theta1 x' + theta2 x = u, so that no free motion is in it."""
    gain = 1.0 / (theta2 - omega**2 + 1j * omega * theta1)
    return (gain * np.exp(1j * omega * TIMES)).imag, np.sin(omega * TIMES)


def filtered(filter_, signal):
    state, states = signal[0] * np.eye(filter_.order)[0], []  # after a long constant signal
    for k, x in enumerate(signal):
        if k:
            state = filter_.transition @ state + filter_.before * signal[k - 1] + filter_.now * x
        states.append(state * filter_.scales)
    return np.array(states)


@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_states_are_derivatives_of_the_filtered_signal(order: int) -> None:
    cutoff, omega = 15.0, 12.0
    states = filtered(differentiator(order, cutoff, STEP), np.sin(omega * TIMES))
    corner = 2.0 * np.pi * cutoff
    gain = (corner / (1j * omega + corner)) ** order
    # The straight lines between samples carry the fundamental with this factor.
    gain *= np.sinc(omega * STEP / (2.0 * np.pi)) ** 2
    late = slice(2000, None)
    for i in range(order):
        exact = (gain * (1j * omega) ** i * np.exp(1j * omega * TIMES)).imag[late]
        np.testing.assert_allclose(states[late, i], exact, atol=5e-5 * abs(gain) * omega**i)


def test_a_ramp_is_followed_exactly() -> None:
    filter_ = differentiator(3, 15.0, STEP)
    states = filtered(filter_, 2.0 + 3.0 * TIMES)
    delay = 3.0 / (2.0 * np.pi * 15.0)
    np.testing.assert_allclose(states[-1], [2.0 + 3.0 * (TIMES[-1] - delay), 3.0, 0.0], atol=1e-9)


def test_without_noise_the_truth_is_found() -> None:
    x, u = oscillation()
    found = KalmanBucy(MSD, differentiator(3, 20.0, STEP), settle=300)
    thetas, *_, flags = found.batch(x, u)
    assert (flags[:319] == FILLING).all()
    assert (flags[319:] == OK).all()
    np.testing.assert_allclose(thetas[-1], [2.0, 133.0], rtol=1e-4)


@pytest.mark.parametrize("forgetting", [1.0, 0.99])
def test_the_recursion_is_weighted_least_squares(forgetting: float) -> None:
    x, u = oscillation()
    x = x + 1e-4 * np.random.default_rng(0).normal(size=x.size)
    filter_ = differentiator(3, 20.0, STEP)
    found = KalmanBucy(MSD, filter_, settle=100, start=10, forgetting=forgetting)
    thetas, covariances, *_ = found.batch(x[:800], u[:800])
    states, drive = filtered(filter_, x[:800]), filtered(filter_, u[:800])
    rows = states[100:, [1, 0]]
    targets = drive[100:, 0] - states[100:, 2]
    # The ten rows of the start entered together, and eq. 3 discounts only after a row was
    # used: they weigh as much as the first row after them.
    age = np.minimum(np.arange(rows.shape[0])[::-1], rows.shape[0] - 11)
    weights = forgetting ** age.astype(float)
    normal = rows.T @ (weights[:, np.newaxis] * rows)
    expected = np.linalg.solve(normal, rows.T @ (weights * targets))
    np.testing.assert_allclose(thetas[-1], expected, rtol=1e-7)
    residual = targets - rows @ expected
    variance = np.sum(weights * residual**2) / (np.sum(weights) - 2)
    inverse = np.linalg.inv(normal)
    squared = rows.T @ (weights[:, np.newaxis] ** 2 * rows)
    np.testing.assert_allclose(covariances[-1], variance * inverse @ squared @ inverse, rtol=1e-5)


@compiled()
def process(state: Any, rows: np.ndarray, targets: np.ndarray) -> None:
    for k in range(targets.size):
        state.phi[:] = rows[k]
        state.coloured[:] = rows[k]
        kernels.recursion(state, targets[k])


@pytest.mark.each_time("0.98")
@pytest.mark.parametrize("forgetting", [1.0, 0.98])
def test_the_covariance_is_that_of_a_monte_carlo(forgetting: float) -> None:
    """Of the recursion itself, with independent errors, as eq. 11 counts them."""
    rng = np.random.default_rng(5)
    count, sigma, truth = 400, 0.3, np.array([2.0, -1.0])
    rows = np.column_stack([np.sin(0.1 * np.arange(count)), np.ones(count)])
    finals, predicted = [], None
    equation = LinearEquation(1, ("a0", "b0"))
    filter_ = differentiator(2, 1.0, STEP)
    state = KalmanBucy(equation, filter_, forgetting=forgetting, start=40)._state
    for _ in range(1200):
        targets = rows @ truth + sigma * rng.normal(size=count)
        state.rows[:], state.targets[:] = rows[:40], targets[:40]
        assert kernels.begin(state)
        state.squared[:] = rows[:40].T @ rows[:40]
        process(state, rows[40:], targets[40:])
        finals.append(state.theta.copy())
        predicted = sigma**2 * state.inverse @ state.squared @ state.inverse
    found = np.cov(np.array(finals).T)
    np.testing.assert_allclose(np.diag(found), np.diag(predicted), rtol=0.17)
    assert (
        np.abs(np.mean(finals, axis=0) - truth).max() < 5.0 * np.sqrt(np.diag(found) / 1200).max()
    )


@pytest.mark.parametrize("poles", [1, 2, 3])
def test_finite_differences_pass_a_low_pass_filter(poles: int) -> None:
    """Each difference is held over its interval, for which the discrete filter is exact."""
    x, cutoff = 0.3 + np.sin(12.0 * TIMES[:600]), 20.0
    states = filtered(finite_differences(3, poles, cutoff, STEP), x)[:, :4]
    corner = 2.0 * np.pi * cutoff
    low = [corner**poles], np.poly([-corner] * poles)
    numerator, denominator, _ = cont2discrete(low, STEP, "zoh")
    first = lfilter(numerator.ravel()[1:], denominator, np.diff(x, prepend=x[0]) / STEP)
    second = np.diff(first, prepend=0.0) / STEP
    expected = [x, first, second, np.diff(second, prepend=0.0) / STEP]
    for i, column in enumerate(expected):
        np.testing.assert_allclose(states[:, i], column, atol=1e-8 * np.abs(column).max())


def test_derivatives_that_lag_bias_the_estimate() -> None:
    """With eq. 2 of the paper the equation does not hold: theta2 is too small by the lag."""
    x, u = oscillation()
    found = {}
    for name, filter_ in (
        ("all", differentiator(3, 20.0, STEP)),
        ("derivatives", finite_differences(2, 1, 20.0, STEP)),
    ):
        recursion = KalmanBucy(MSD, filter_, settle=200)
        recursion.batch(x, u)
        found[name] = recursion.coefficients
    np.testing.assert_allclose(found["all"], [2.0, 133.0], rtol=1e-4)
    # x'' and x' of the sine turn by 1/(1 + s/w) and the delays of the differences.
    omega, corner = 20.0, 2.0 * np.pi * 20.0
    decay, turn = np.exp(-corner * STEP), np.exp(-1j * omega * STEP)
    low = (1.0 - decay) / (1.0 - decay * turn)
    first = low * (1.0 - turn) / STEP
    second = first * (1.0 - turn) / STEP
    force = (1j * omega) ** 2 + 2.0 * 1j * omega + 133.0  # over x
    columns = np.array([[first.real, 1.0], [first.imag, 0.0]])
    lagged = np.linalg.solve(columns, [(force - second).real, (force - second).imag])
    np.testing.assert_allclose(found["derivatives"], lagged, rtol=1e-3)


@pytest.mark.each_time("0.997-filter_2")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("forgetting", "filter_"),
    [
        (1.0, differentiator(3, 10.0, STEP)),
        (1.0, differentiator(3, 40.0, STEP)),
        (0.997, differentiator(3, 20.0, STEP)),
        (1.0, finite_differences(2, 2, 50.0, STEP)),
    ],
)
def test_the_colour_of_filtered_noise_counts(forgetting: float, filter_: Differentiator) -> None:
    """White noise on the position: the whole estimator against a Monte-Carlo."""
    x, u = oscillation()
    sigma, count = 2e-6, 1500
    finals = []
    for seed in range(300):
        noisy = x[:count] + sigma * np.random.default_rng(seed).normal(size=count)
        found = KalmanBucy(MSD, filter_, settle=100, forgetting=forgetting, sigma=sigma)
        thetas, covariances, *_ = found.batch(noisy, u[:count])
        finals.append(thetas[-1])
    scatter = np.std(finals, axis=0)
    # 300 draws know a standard deviation to 4 %; four of these.
    np.testing.assert_allclose(scatter, np.sqrt(np.diag(covariances[-1])), rtol=0.17)


def from_rest(ratio: float, omega0: float = 11.547, theta1: float = 2.0):
    """Response from rest to a sine: free motion is in it."""
    u = np.sin(ratio * omega0 * TIMES)
    return lsim(([1.0], [1.0, theta1, omega0**2]), u, TIMES)[1], u, np.array([theta1, omega0**2])


@pytest.mark.slow
@pytest.mark.parametrize(("ratio", "forgetting"), [(1.0, 1.0), (3.0, 1.0), (3.0, 0.997)])
def test_the_bias_by_noise_in_the_regressor_is_predicted(ratio: float, forgetting: float) -> None:
    """At 25 dB and 50 Hz, to 15 % and what 60 draws know of a mean (four of its errors)."""
    x, u, truth = from_rest(ratio)
    sigma = float(np.sqrt(np.mean(x**2))) * 10.0 ** (-25.0 / 20.0)
    finals, biases, scatter = [], [], np.nan
    filter_ = differentiator(3, 50.0, STEP)
    for seed in range(60):
        noisy = x + sigma * np.random.default_rng(seed).normal(size=x.size)
        found = KalmanBucy(MSD, filter_, settle=25, forgetting=forgetting, sigma=sigma)
        found.batch(noisy, u)
        finals.append(found.coefficients - truth)
        biases.append(found.bias())
    measured, predicted = np.mean(finals, axis=0)[1], np.mean(biases, axis=0)[1]
    scatter = np.std(finals, axis=0)[1]
    assert measured > 2.0 * scatter  # the test would say nothing otherwise
    assert abs(predicted - measured) < 0.15 * measured + 4.0 * scatter / np.sqrt(60.0)


def test_without_sigma_the_bias_is_unknown_and_the_whole_record_gives_that_of_the_stream() -> None:
    x, u = oscillation()
    x = x + 1e-4 * np.random.default_rng(1).normal(size=x.size)
    for sigma in (None, 1e-4):
        found = KalmanBucy(MSD, differentiator(3, 50.0, STEP), settle=50, sigma=sigma)
        _, _, biases, flags = found.batch(x, u)
        np.testing.assert_allclose(biases[-1], found.bias(), rtol=1e-9)
        assert np.isfinite(biases[flags == OK]).all() == (sigma is not None)


def test_forgetting_follows_a_change() -> None:
    x1, u = oscillation(theta2=133.0)
    x2, _ = oscillation(theta2=150.0)
    x = np.where(TIMES < 1.5, x1, x2)
    finals = {}
    for forgetting in (1.0, 0.99):
        found = KalmanBucy(MSD, differentiator(3, 20.0, STEP), settle=100, forgetting=forgetting)
        finals[forgetting] = found.batch(x, u)[0][-1][1]
    assert finals[0.99] == pytest.approx(150.0, rel=0.01)
    assert abs(finals[1.0] / 150.0 - 1.0) > 0.02


def test_streaming_is_the_batch_to_rounding() -> None:
    x, u = oscillation()
    x = x + 1e-3 * np.random.default_rng(1).normal(size=x.size)
    batch, stream = (
        KalmanBucy(MSD, differentiator(3, 20.0, STEP), settle=50, forgetting=0.995)
        for _ in range(2)
    )
    thetas, covariances, _, flags = batch.batch(x, u)
    for k in range(x.size):
        assert stream.update(x[k], u[k]) == flags[k]
        if flags[k] == OK:
            np.testing.assert_allclose(stream.coefficients, thetas[k], rtol=1e-9)
            np.testing.assert_allclose(stream.covariance, covariances[k], rtol=1e-7)


def test_rest_is_singular_until_something_moves() -> None:
    x, u = oscillation()
    found = KalmanBucy(MSD, differentiator(3, 20.0, STEP), settle=0)
    assert [found.update(0.0, 0.0) for _ in range(100)] == [1] * 19 + [2] * 81
    flags = [found.update(a, b) for a, b in zip(x[1:], u[1:], strict=True)]
    assert flags[-1] == OK
    assert found.update(np.nan, 0.0) == MISSING


def test_refusals() -> None:
    filter_ = differentiator(2, 20.0, STEP)
    with pytest.raises(ValueError, match="no derivative of order 2"):
        KalmanBucy(MSD, filter_)
    with pytest.raises(ValueError, match="forgetting must lie"):
        KalmanBucy(MSD, differentiator(3, 20.0, STEP), forgetting=0.0)
    with pytest.raises(ValueError, match="too few"):
        KalmanBucy(MSD, differentiator(3, 20.0, STEP), start=2)
