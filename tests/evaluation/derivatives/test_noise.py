"""The difference table finds the noise that was put in."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.evaluation.derivatives.differences import POINTS, noise_level


def smooth(x: np.ndarray, m: int) -> np.ndarray:
    return np.sin(x[:, np.newaxis] * np.linspace(1.0, 3.0, m)) * 10.0


@pytest.mark.parametrize("sigma", [1e-9, 1e-6, 1e-3])
def test_gaussian_noise_is_found_within_a_factor_of_two(sigma: float) -> None:
    x = 1.0 + 1e-4 * np.arange(POINTS)
    values = smooth(x, 300) + sigma * np.random.default_rng(0).normal(size=(POINTS, 300))
    found = noise_level(values)
    assert found.outcome == "found"
    assert sigma / 2 < found.level < 2 * sigma


def test_one_component_is_enough() -> None:
    levels = []
    for seed in range(20):
        x = 1.0 + 1e-4 * np.arange(POINTS)
        noise = 1e-6 * np.random.default_rng(seed).normal(size=(POINTS, 1))
        found = noise_level(smooth(x, 1) + noise)
        if found.outcome == "found":
            levels.append(found.level)
    assert len(levels) >= 12
    assert 3e-7 < np.median(levels) < 3e-6


def test_rounding_is_found() -> None:
    x = 1.0 + 1e-6 * np.arange(POINTS)
    found = noise_level(smooth(x, 200))
    assert found.outcome == "found"
    assert 1e-17 < found.level < 1e-14


def test_wide_spacing_is_called_too_large() -> None:
    x = 1.0 + 0.3 * np.arange(POINTS)
    values = np.exp(x)[:, np.newaxis] * np.ones(5)
    assert noise_level(values).outcome == "too-large"


def test_constant_values_are_called_too_small() -> None:
    assert noise_level(np.ones((POINTS, 3))).outcome == "too-small"
