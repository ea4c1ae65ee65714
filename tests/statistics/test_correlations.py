from __future__ import annotations

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.statistics.residuals import autocorrelation, cross_correlation, spectrum


def coloured(count: int, pole: float, seed: int = 3) -> F64:
    """Return noise of unit variance whose correlation is pole**lag."""
    white = np.random.default_rng(seed).standard_normal(count)
    found = np.empty(count)
    found[0] = white[0]
    for k in range(1, count):
        found[k] = pole * found[k - 1] + np.sqrt(1.0 - pole**2) * white[k]
    return found


def test_coloured_noise_has_powers_of_its_pole() -> None:
    found = autocorrelation(coloured(200_000, 0.8), 8)
    assert found is not None
    np.testing.assert_allclose(found.values, 0.8**found.lags, atol=0.02)


def test_white_noise_stays_within_the_bound_as_often_as_it_says() -> None:
    inside = []
    for seed in range(40):
        found = autocorrelation(coloured(400, 0.0, seed))
        assert found is not None
        inside.extend(np.abs(found.values) < found.bound)
    assert len(inside) == 2000
    assert np.mean(inside) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize("pole", [0.0, 0.9])
def test_independent_signals_stay_within_the_bound_however_coloured(pole: float) -> None:
    inside = []
    for seed in range(60):
        found = cross_correlation(coloured(1000, pole, seed), coloured(1000, pole, seed + 500))
        assert found is not None
        inside.extend(np.abs(found.values) < found.bound)
    assert np.mean(inside) == pytest.approx(0.95, abs=0.03)


def test_what_an_input_did_before_is_found_at_its_lag() -> None:
    u = coloured(5000, 0.0, 1)
    e = 0.1 * coloured(5000, 0.0, 2)
    e[7:] += 0.5 * u[:-7]
    found = cross_correlation(e, u)
    assert found is not None
    largest = int(np.argmax(np.abs(found.values)))
    assert found.lags[largest] == 7.0
    # cov = 0.5, variances 1 and 0.26
    assert found.values[largest] == pytest.approx(0.5 / np.sqrt(0.26), abs=0.02)
    assert np.sum(np.abs(found.values) > found.bound) < 12


def test_missing_samples_leave_the_correlation_as_it_is() -> None:
    e = coloured(100_000, 0.6)
    e[np.random.default_rng(1).random(e.size) < 0.3] = np.nan
    found = autocorrelation(e, 4)
    assert found is not None
    np.testing.assert_allclose(found.values, 0.6**found.lags, atol=0.02)


@pytest.mark.parametrize(
    "values",
    [np.zeros(100), np.full(100, 0.1), np.full(100, np.nan), np.arange(3.0), np.empty(0)],
    ids=["zero", "constant", "missing", "few", "none"],
)
def test_nothing_to_correlate(values: F64) -> None:
    assert autocorrelation(values) is None
    noise = np.random.default_rng(1).standard_normal(values.size)
    assert cross_correlation(noise, values) is None
    assert cross_correlation(values, noise) is None


def test_the_spectrum_adds_up_to_the_variance() -> None:
    e = 3.0 * coloured(50_000, 0.7)
    found = spectrum(e, 0.01)
    assert found is not None
    frequencies, density = found
    assert frequencies[-1] == pytest.approx(50.0)
    assert np.sum(density) * frequencies[0] == pytest.approx(np.var(e), rel=0.03)


def test_white_noise_has_twice_the_step() -> None:
    found = spectrum(coloured(200_000, 0.0), 0.02)
    assert found is not None
    assert np.mean(found[1][:-1]) == pytest.approx(0.04, rel=0.02)


def test_an_oscillation_is_where_it_is() -> None:
    times = 0.001 * np.arange(20_000)
    found = spectrum(np.sin(2.0 * np.pi * 60.0 * times), 0.001)
    assert found is not None
    assert found[0][int(np.argmax(found[1]))] == pytest.approx(60.0, abs=1.0)
    assert spectrum(np.ones(20), 0.1) is None
