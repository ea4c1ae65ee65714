"""Delays of sampled signals."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.problem.residuals import delayed

UNEVEN = np.array([0.0, 0.1, 0.15, 0.4, 0.5, 0.9, 1.0])


def test_no_delay_is_the_signal_itself() -> None:
    y = np.random.default_rng(0).normal(size=7)
    np.testing.assert_array_equal(delayed(UNEVEN, y, 0.0), y)
    np.testing.assert_allclose(delayed(UNEVEN, y, 1e-15), y, atol=1e-13)


@pytest.mark.parametrize("delay", [0.03, 0.25, -0.07])
def test_parabolas_are_exact_on_uneven_steps(delay: float) -> None:
    y = 2.0 - 3.0 * UNEVEN + 4.0 * UNEVEN**2
    at = np.clip(UNEVEN - delay, 0.0, 1.0)
    np.testing.assert_allclose(delayed(UNEVEN, y, delay), 2.0 - 3.0 * at + 4.0 * at**2, atol=1e-13)


def test_delay_by_whole_samples_shifts_the_samples() -> None:
    times = np.arange(20) * 0.25
    y = np.random.default_rng(1).normal(size=20)
    found = delayed(times, y, 0.75)
    np.testing.assert_allclose(found[3:], y[:-3], atol=1e-14)
    np.testing.assert_array_equal(found[:3], y[0])
    forward = delayed(times, y, -0.5)
    np.testing.assert_allclose(forward[:-2], y[2:], atol=1e-14)
    np.testing.assert_array_equal(forward[-2:], y[-1])


def test_the_error_falls_with_the_third_power_of_the_step() -> None:
    errors = []
    for n in (101, 201, 401):
        times = np.linspace(0.0, 1.0, n)
        step = times[1]
        found = delayed(times, np.sin(10.0 * times), 0.3 * step)
        inside = slice(2, -2)
        errors.append(np.abs(found - np.sin(10.0 * (times - 0.3 * step)))[inside].max())
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(8.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(8.0, rel=0.15)


def test_the_derivative_is_continuous_across_samples() -> None:
    times = np.arange(30) * 0.1
    y = np.random.default_rng(2).normal(size=30)
    h = 1e-7
    before = (delayed(times, y, 0.3) - delayed(times, y, 0.3 - h)) / h
    after = (delayed(times, y, 0.3 + h) - delayed(times, y, 0.3)) / h
    # At t = delay the signal begins, where the first value was held: a kink. The second
    # derivative is about 1e3, so the differences may differ by h times that.
    assert np.abs(before[4:]).max() > 10.0
    np.testing.assert_allclose(before[4:], after[4:], atol=1e-3)


def test_a_jump_reaches_no_further_than_two_intervals() -> None:
    times = np.arange(40) * 0.1
    y = np.where(times < 2.0, 0.0, 1.0)
    found = delayed(times, y, 0.05)
    changed = np.flatnonzero((found != 0.0) & (found != 1.0))
    assert changed.min() >= 19
    assert changed.max() <= 22


def test_linear_in_the_signal() -> None:
    a, b = np.random.default_rng(3).normal(size=(2, 7))
    both = delayed(UNEVEN, 2.0 * a - b, 0.13)
    np.testing.assert_allclose(
        both, 2.0 * delayed(UNEVEN, a, 0.13) - delayed(UNEVEN, b, 0.13), atol=1e-13
    )


def test_delay_longer_than_the_data_and_a_single_sample() -> None:
    np.testing.assert_array_equal(delayed(UNEVEN, UNEVEN + 1.0, 5.0), np.ones(7))
    np.testing.assert_array_equal(delayed(np.zeros(1), np.ones(1), 0.5), np.ones(1))
