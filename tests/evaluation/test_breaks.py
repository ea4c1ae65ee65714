"""Breaks of sampled signals: found where they are, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.evaluation.matching import find_breaks

TIMES = np.linspace(0.0, 10.0, 201)
UNEVEN = TIMES + np.random.default_rng(3).uniform(-0.012, 0.012, TIMES.size)


@pytest.mark.parametrize("times", [TIMES, UNEVEN])
@pytest.mark.parametrize("order", [0, 1], ids=["jump", "bend"])
def test_a_break_lies_between_two_samples(times: np.ndarray, order: int) -> None:
    at = 0.5 * (times[79] + times[80])
    after = np.where(times > at, 1.0, 0.0) * (times - at) ** order
    (k,) = find_breaks(times, np.sin(times) + after)
    assert k == 79


def test_each_of_several_breaks_is_found() -> None:
    triangle = np.abs((TIMES + 0.013) % 2.0 - 1.0)
    found = find_breaks(TIMES, triangle)
    np.testing.assert_allclose(TIMES[found] + 0.025, np.arange(1.0, 10.0), atol=0.04)


@pytest.mark.parametrize(
    "signal",
    [
        np.sin(TIMES),
        np.exp(-TIMES),
        np.sin(TIMES**2 / 3.0),
        np.exp(-((TIMES - 5.0) ** 2) / 0.05),
        np.tanh(8.0 * (TIMES - 4.0)),
        np.zeros(TIMES.size),
        1.0 / (1.0 + (TIMES - 3.0) ** 2 * 20.0),
    ],
)
def test_a_smooth_signal_has_none(signal: np.ndarray) -> None:
    assert find_breaks(TIMES, signal).size == 0


def test_the_noise_of_an_integrator_is_no_break() -> None:
    noise = 1e-6 * np.random.default_rng(0).normal(size=TIMES.size)
    assert find_breaks(TIMES, TIMES + noise).size == 0


def test_too_few_samples_have_none() -> None:
    assert find_breaks(TIMES[:7], np.array([0.0, 0, 0, 0, 1, 1, 1])).size == 0
