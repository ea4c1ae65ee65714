"""Spectral costs against signals of which the spectra are known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from fmident.problem import TimeDomain
from fmident_costs import FrequencyDomain, SeparateSpectra, SmoothedSpectrum
from fmident_costs.frequency import complex_amplitudes, line_weights, smooth, tapered

MEAN_SQUARE = TimeDomain("mean-square")


def sine(count: int, line: float, amplitude: float = 1.0, phase: float = 0.3) -> np.ndarray:
    return amplitude * np.sin(2.0 * np.pi * line * np.arange(count) / count + phase)


@pytest.mark.parametrize("count", [64, 65])
def test_a_sine_on_a_line_has_its_amplitude_there_and_nothing_elsewhere(count: int) -> None:
    found = np.abs(complex_amplitudes(sine(count, 5, 3.0)))
    expected = np.zeros(count // 2 + 1)
    expected[5] = 3.0
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_a_sine_between_lines_leaks_as_the_window_says() -> None:
    count, at = 1000, 10.5
    found = np.abs(complex_amplitudes(sine(count, at)))
    # Half a line away a rectangular window of many samples leaves 2 / pi of the amplitude.
    np.testing.assert_allclose(found[[10, 11]], 2.0 / np.pi, rtol=0.05)
    np.testing.assert_allclose(found[[8, 13]], 2.0 / (5.0 * np.pi), rtol=0.12)


def test_mean_value_and_nyquist_line_count_once() -> None:
    np.testing.assert_allclose(np.abs(complex_amplitudes(np.full(8, -2.0))), [2.0, 0, 0, 0, 0])
    alternating = np.where(np.arange(8) % 2, -1.5, 1.5)
    np.testing.assert_allclose(np.abs(complex_amplitudes(alternating)), [0, 0, 0, 0, 1.5])
    np.testing.assert_allclose(line_weights(8), [2**0.5, 1, 1, 1, 2**0.5])
    np.testing.assert_allclose(line_weights(7), [2**0.5, 1, 1, 1])


@pytest.mark.parametrize("count", [2, 3, 8, 9, 500, 501])
def test_without_smoothing_every_cost_of_the_difference_is_the_mean_square(
    count, signal, value
) -> None:
    generator = np.random.default_rng(count)
    measured, predicted = signal(generator.normal(size=count)), generator.normal(size=count)
    expected = float(np.mean((measured.measured - predicted) ** 2))
    for cost in (MEAN_SQUARE, FrequencyDomain(), SmoothedSpectrum(smoothing=0)):
        assert value(cost, measured, predicted) == pytest.approx(expected, rel=1e-14)


def test_as_many_residuals_as_samples_in_the_frequency_domain(signal) -> None:
    for count in (8, 9):
        residuals = FrequencyDomain().residuals([signal(np.ones(count))], [np.zeros(count)])
        assert residuals.shape == (count,)


def test_moving_average_by_hand() -> None:
    amplitudes = np.array([6.0, 0.0, 3.0, 9.0])
    np.testing.assert_allclose(smooth(amplitudes, 1), [3.0, 3.0, 4.0, 6.0])
    np.testing.assert_allclose(smooth(amplitudes, 2), [3.0, 4.5, 4.5, 4.0])
    np.testing.assert_allclose(smooth(amplitudes, 99), np.full(4, 4.5))
    assert smooth(amplitudes, 0) is amplitudes


def test_smoothed_cost_of_a_sine_by_hand(signal, value) -> None:
    # One line of amplitude 3 becomes three of amplitude 1: mean square 3 * 1^2 / 2.
    measured = signal(sine(64, 5, 3.0))
    assert value(FrequencyDomain(), measured, 0.0) == pytest.approx(4.5)
    assert value(SmoothedSpectrum(smoothing=1), measured, 0.0) == pytest.approx(1.5)
    # At the lower end: lines 0 and 1 share what line 0 had, and line 0 counts twice.
    measured = signal(np.full(64, 6.0))
    assert value(SmoothedSpectrum(smoothing=1), measured, 0.0) == pytest.approx(9.0 + 0.5 * 4.0)


@pytest.mark.parametrize("kind", [FrequencyDomain, SmoothedSpectrum, SeparateSpectra])
def test_what_lies_outside_of_the_band_does_not_count(kind, signal, value) -> None:
    # 100 samples, 10 ms apart: lines are 1 Hz apart.
    inside, outside = sine(100, 8, 2.0), sine(100, 20, 50.0)
    cost = kind(band=(5.0, 10.0))
    assert value(cost, signal(inside + outside), inside) == pytest.approx(0.0, abs=1e-20)
    assert value(cost, signal(inside + outside), 0.0) == pytest.approx(
        value(cost, signal(inside), 0.0)
    )


def test_both_ends_of_the_band_belong_to_it(signal, value) -> None:
    measured = signal(sine(100, 5, 2.0) + sine(100, 10, 2.0))
    assert value(FrequencyDomain((5.0, 10.0)), measured, 0.0) == pytest.approx(4.0)
    assert value(FrequencyDomain((5.0, 9.9)), measured, 0.0) == pytest.approx(2.0)
    nyquist = signal(np.where(np.arange(100) % 2, -1.0, 1.0) + 3.0)
    assert value(FrequencyDomain((50.0, 50.0)), nyquist, 0.0) == pytest.approx(1.0)
    assert value(FrequencyDomain((0.0, 0.0)), nyquist, 0.0) == pytest.approx(9.0)


def test_separate_spectra_forgive_a_delay_and_the_others_do_not(signal, value) -> None:
    values = sine(200, 3, 1.0) + sine(200, 17, 0.4)
    measured, delayed = signal(values), np.roll(values, 13)
    assert value(SeparateSpectra(), measured, delayed) < 1e-28
    assert value(SeparateSpectra(smoothing=3), measured, delayed) < 1e-28
    assert value(SmoothedSpectrum(smoothing=3), measured, delayed) > 0.01
    assert value(SeparateSpectra(), measured, 1.1 * delayed) == pytest.approx(
        0.005 * (1.0 + 0.4**2)
    )


def test_sigma_and_weight_scale_the_signals(signal, value) -> None:
    values = sine(64, 5, 3.0)
    for cost in (FrequencyDomain(), SmoothedSpectrum(smoothing=2), SeparateSpectra()):
        once, twice = (value(cost, signal(values, scale=s), 0.0) for s in (1.0, 2.0))
        assert twice == pytest.approx(4.0 * once)


@pytest.mark.parametrize("kind", [FrequencyDomain, SmoothedSpectrum, SeparateSpectra])
def test_a_right_model_has_no_cost_whatever_samples_there_are(kind, signal, value) -> None:
    times = np.sort(np.random.default_rng(1).uniform(0.0, 3.0, 80))
    values = np.sin(5.0 * times)
    assert value(kind(), signal(values, times), values) == 0.0
    gaps = values.copy()
    gaps[[0, 20, 21, 79]] = np.nan
    assert value(kind(), signal(gaps, times), values) == 0.0
    assert value(kind(), signal(gaps, times), 0.9 * values) > 0.0


def test_missing_samples_are_interpolated_on_their_own_grid(signal) -> None:
    values = 0.5 * np.arange(10.0)
    gaps = values.copy()
    gaps[[0, 4, 5]] = np.nan
    grid = signal(gaps).grid
    np.testing.assert_allclose(grid.times, 0.01 * np.arange(1, 10))
    np.testing.assert_allclose(grid.values(values[np.isfinite(gaps)]), values[1:])


def test_uneven_samples_are_interpolated_to_as_many_even_ones(signal, value) -> None:
    fine = np.arange(1000) / 1000.0
    uneven = np.sort(np.concatenate([fine, fine[500:600] + 5e-4]))
    measured = signal(np.sin(2.0 * np.pi * 5.0 * uneven), uneven)
    assert measured.grid.times.size == 1100
    assert measured.grid.step == pytest.approx(fine[-1] / 1099)
    assert value(FrequencyDomain(), measured, 0.0) == pytest.approx(0.5, rel=0.01)


def test_jitter_of_the_last_bits_is_equidistant(signal) -> None:
    times = 0.1 * np.arange(50) + 1e-15 * np.random.default_rng(0).normal(size=50)
    assert signal(np.ones(50), times).grid.known is None


def test_costs_of_several_signals_add_up(signal) -> None:
    a, b = signal(sine(64, 5, 3.0)), signal(sine(33, 2, 1.0))
    for cost in (FrequencyDomain(), SmoothedSpectrum(), SeparateSpectra(), MEAN_SQUARE):
        zeros = [np.zeros(64), np.zeros(33)]
        both = cost.residuals([a, b], zeros)
        parts = [cost.residuals([s], [z]) for s, z in zip((a, b), zeros, strict=True)]
        np.testing.assert_array_equal(both, np.concatenate(parts))


@pytest.mark.parametrize(
    ("make", "fragment"),
    [
        (lambda: FrequencyDomain(band=(5.0, 1.0)), "'band'"),
        (lambda: FrequencyDomain(band=(-1.0, 1.0)), "'band'"),
        (lambda: SmoothedSpectrum(smoothing=-1), "'smoothing'"),
        (lambda: SeparateSpectra(smoothing=-1), "'smoothing'"),
    ],
)
def test_bad_options_are_refused(make, fragment) -> None:
    with pytest.raises(ValueError, match=fragment):
        make()


def test_data_without_a_spectrum_are_refused(signal) -> None:
    with pytest.raises(ValueError, match="1 samples"):
        FrequencyDomain().check([signal([1.0])])
    with pytest.raises(ValueError, match=r"no line.*1 Hz apart and end at 50 Hz"):
        FrequencyDomain((60.0, 70.0)).check([signal(np.zeros(100))])
    FrequencyDomain((40.0, 70.0)).check([signal(np.zeros(100))])


@pytest.mark.parametrize("count", [64, 65])
def test_a_hann_window_keeps_the_mean_square_and_spreads_a_line_over_three(count: int) -> None:
    faded = tapered(sine(count, 9, 2.0), "hann")
    assert np.mean(faded**2) == pytest.approx(2.0, rel=1e-12)
    found = np.abs(complex_amplitudes(faded))
    expected = np.zeros(count // 2 + 1)
    expected[[8, 9, 10]] = np.sqrt(2.0 / 3.0) * np.array([1.0, 2.0, 1.0])
    np.testing.assert_allclose(found, expected, atol=1e-13)


def _minima_over_frequency(cost, signal, value) -> int:
    """Return the number of minima while an undamped sine moves up to six lines past the data."""
    count = 400
    measured = signal(sine(count, 20.3))
    costs = np.array([value(cost, measured, sine(count, at)) for at in np.arange(14, 26.5, 0.1)])
    inner = costs[1:-1]
    return int(np.sum((inner < costs[:-2]) & (inner < costs[2:])))


def test_a_window_leaves_one_minimum_where_leakage_makes_one_per_line(signal, value) -> None:
    assert _minima_over_frequency(MEAN_SQUARE, signal, value) > 5
    assert _minima_over_frequency(SmoothedSpectrum(smoothing=4), signal, value) > 5
    assert _minima_over_frequency(SeparateSpectra(smoothing=4), signal, value) > 5
    hann = SeparateSpectra(smoothing=4, window="hann")
    assert _minima_over_frequency(hann, signal, value) == 1
