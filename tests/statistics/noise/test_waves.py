"""Tones and the steps of sensors as noise of a random phase."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import signal

from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import noise_found
from fmident.statistics.noise.processes import NoiseModel, NoisyOutput, fit_noise
from fmident.statistics.noise.series import Series, series_of
from fmident.statistics.noise.waves import Steps, Wave, tones_in

STEP = 0.001
SIZE = 600
TIMES = np.arange(SIZE) * STEP
COLUMNS = np.column_stack([np.ones(SIZE), np.sin(30.0 * TIMES), np.cos(2.0 * np.pi * 47.0 * TIMES)])
NAMES = ["offset", "slow", "near the tone"]


def coloured(correlation: float, seed: int, size: int = 2000) -> np.ndarray:
    e = np.random.default_rng(seed).standard_normal(size)
    e[0] /= np.sqrt(1.0 - correlation**2)
    return signal.lfilter([1.0], [1.0, -correlation], e)


def whole(size: int) -> Series:
    return series_of(np.arange(size), np.arange(size) * STEP)


def tone(frequency: float, amplitude: float, phase: float, size: int = SIZE) -> np.ndarray:
    return amplitude * np.cos(2.0 * np.pi * frequency * STEP * np.arange(size) + phase)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.98, 0.995, -0.9])
@pytest.mark.parametrize("size", [150, 2000])
def test_noise_of_any_colour_has_no_tone(correlation: float, size: int) -> None:
    found = [tones_in(whole(size), coloured(correlation, seed, size)) for seed in range(300)]
    assert not any(found)


@pytest.mark.parametrize("missing", ["at random", "every tenth"])
@pytest.mark.parametrize("correlation", [0.0, 0.98])
def test_missing_samples_make_no_tone(correlation: float, missing: str) -> None:
    rng = np.random.default_rng(0)
    for seed in range(200):
        there = rng.random(1000) > 0.1
        if missing == "every tenth":
            there = np.arange(1000) % 10 > 0
        kept = np.flatnonzero(there)
        series = series_of(np.arange(kept.size), kept * STEP, STEP)
        assert not tones_in(series, coloured(correlation, seed, 1000)[kept])


def test_noise_with_a_resonance_has_no_tone() -> None:
    """A damped mode that noise excites is broad: 2 % damping at 60 Hz."""
    pole = np.exp((-0.02 + 1.0j) * 2.0 * np.pi * 60.0 * STEP)
    for seed in range(50):
        white = np.random.default_rng(seed).standard_normal(20_000)
        values = signal.lfilter([1.0], np.poly([pole, pole.conj()]).real, white)
        assert not tones_in(whole(20_000), values)


@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_hum_and_its_harmonic_are_found_with_their_frequencies(correlation: float) -> None:
    noise = coloured(correlation, 1)
    noise /= noise.std()
    hum = tone(50.2, 1.0, 0.4, 2000) + tone(150.6, 0.5, 2.0, 2000)
    found = tones_in(whole(2000), noise + hum)
    # The Cramer-Rao bound for the weaker in white noise is 0.011 Hz.
    assert sorted(w.frequency for w in found) == pytest.approx([50.2, 150.6], abs=0.05)


def test_what_cannot_be_looked_at_is_left_alone() -> None:
    hum = tone(50.0, 1.0, 0.0, 2000)
    assert not tones_in(whole(50), hum[:50])
    times = np.arange(2000) * STEP + 2e-4 * np.random.default_rng(0).random(2000)
    assert not tones_in(series_of(np.arange(2000), times), hum)
    assert not tones_in(whole(2000), np.zeros(2000))
    slow = tone(1.0, 1.0, 0.0, 2000)  # two periods: what a model lacks looks like that
    assert not tones_in(whole(2000), slow + 0.1 * coloured(0.0, 2))


def dense(model: NoiseModel, size: int) -> np.ndarray:
    (fit,) = model.fits
    phi = fit.coefficients[0]
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    found = fit.deviation**2 / (1.0 - phi**2) * phi**apart
    for wave in model.waves:
        found += 0.5 * wave.amplitude**2 * wave.shape @ wave.shape.T
    return found


def test_a_model_with_a_tone_is_that_of_the_dense_covariance() -> None:
    noise = coloured(0.8, 4, SIZE) + tone(50.0, 2.0, 1.0)
    (wave,) = tones_in(whole(SIZE), noise)
    wave = Wave("tone", wave.rows, wave.shape, wave.ratio, wave.frequency, amplitude=2.0)
    model = fit_noise([NoisyOutput("y", (whole(SIZE),))], noise, COLUMNS, 1, waves=[wave])
    exact = dense(model, SIZE)
    answers = np.linalg.pinv(COLUMNS)
    moved = model.answers_to_innovations(answers)
    np.testing.assert_allclose(moved @ moved.T, answers @ exact @ answers.T, rtol=1e-9)
    matrix = model.whiten(np.eye(SIZE))
    np.testing.assert_allclose(matrix @ exact @ matrix.T, np.eye(SIZE), atol=1e-8)
    np.testing.assert_allclose(model.colour(model.whiten(noise)), noise, atol=1e-10)
    np.testing.assert_allclose(
        model.answers_to_samples(model.answers_to_innovations(answers)), answers, atol=1e-10
    )
    assert model.deviation**2 == pytest.approx(np.trace(exact) / SIZE, rel=1e-3)
    drawn = model.simulate(np.random.default_rng(1), 4000)
    variances = np.diag(answers @ np.cov(drawn.T) @ answers.T)
    np.testing.assert_allclose(variances, np.diag(answers @ exact @ answers.T), rtol=0.1)


def test_innovations_of_different_size_keep_it_with_a_tone() -> None:
    noise = coloured(0.5, 4, SIZE) + tone(50.0, 2.0, 1.0)
    _, _, found = intervals_with(noise)
    assert found is not None
    sizes = np.random.default_rng(3).uniform(0.5, 2.0, SIZE)
    model = dataclasses.replace(found.model, scales=sizes)
    answers = np.linalg.pinv(COLUMNS)
    plain = dataclasses.replace(model, waves=()).answers_to_innovations(answers)
    (wave,) = model.waves
    tones = answers @ wave.shape * wave.amplitude / np.sqrt(2.0)
    moved = model.answers_to_innovations(answers)
    np.testing.assert_allclose(moved @ moved.T, plain @ plain.T + tones @ tones.T, rtol=1e-9)


def intervals_with(noise: np.ndarray, steps: list[Steps] | None = None):
    estimate = np.linalg.lstsq(COLUMNS, noise)[0]
    left = noise - COLUMNS @ estimate
    outputs = [NoisyOutput("y", (whole(SIZE),))]
    found = noise_found(outputs, left, COLUMNS, sigma_known=False, steps=steps or [])
    statistics = LocalModel(NAMES, np.zeros(3), COLUMNS, left, sigma_known=False, coloured=found)
    return estimate, statistics, found


def test_the_amplitude_is_not_that_of_the_residuals_where_a_parameter_takes_some_of_it() -> None:
    noise = 0.3 * coloured(0.0, 7, SIZE) + tone(50.0, 1.0, 0.3)
    _, statistics, found = intervals_with(noise)
    assert found is not None
    (wave,) = found.model.waves
    # Two coefficients, each with a standard deviation of 0.3 sqrt(2 / 600) = 0.017.
    assert wave.amplitude == pytest.approx(1.0, abs=0.06)
    own = np.linalg.pinv(COLUMNS) @ wave.shape
    white = 0.09 * np.diag(np.linalg.inv(COLUMNS.T @ COLUMNS))
    expected = np.sqrt(white + 0.5 * np.sum(own**2, axis=1))
    np.testing.assert_allclose(statistics.standard_errors, expected, rtol=0.1)
    assert found.model.fits[0].order == 0


@pytest.mark.parametrize(("frequency", "driven"), [(47.0, True), (80.0, False)])
def test_a_tone_of_the_motions_own_frequency_is_known(frequency: float, driven: bool) -> None:
    noise = 0.3 * coloured(0.0, 7, SIZE) + tone(frequency, 1.0, 0.8)
    _, _, found = intervals_with(noise)
    assert found is not None
    (wave,) = found.model.waves
    assert wave.frequency == pytest.approx(frequency, abs=0.2)
    assert wave.driven == driven


@pytest.mark.nightly
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_intervals_hold_the_truth_under_hum(correlation: float) -> None:
    rng, draws, held = np.random.default_rng(3), 300, np.zeros(3)
    for seed in range(draws):
        noise = np.sqrt(1.0 - correlation**2) * coloured(correlation, seed, SIZE)
        estimate, statistics, _ = intervals_with(noise + tone(50.0, 1.0, rng.uniform(0.0, 6.3)))
        low, high = statistics.intervals.T + estimate
        held += (low <= 0.0) & (high >= 0.0)
    # What is mostly the tone has no tails: its intervals hold the truth more often than they say.
    assert (held / draws >= 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / draws)).all()
    assert held[0] / draws <= 0.95 + 3.0 * np.sqrt(0.05 * 0.95 / draws)


def test_what_a_sensor_rounds_away_has_the_waves_of_a_sawtooth() -> None:
    """Amplitudes ``d / (pi k) exp(-2 (pi k sigma / d)^2)``, of a sawtooth and Gaussian noise."""
    rng = np.random.default_rng(2)
    clean = 20.0 * np.sin(30.0 * TIMES) + 7.0 * np.cos(2.0 * np.pi * 47.0 * TIMES)
    sigma, shift = 0.05, 0.37
    measured = np.round(clean + sigma * rng.standard_normal(SIZE) - shift) + shift
    estimate = np.linalg.lstsq(COLUMNS, measured)[0]
    left = measured - COLUMNS @ estimate
    steps = [Steps(np.arange(SIZE), COLUMNS @ estimate, 1.0)]
    outputs = [NoisyOutput("y", (whole(SIZE),))]
    found = noise_found(outputs, left, COLUMNS, sigma_known=False, steps=steps)
    assert found is not None
    waves = [w for w in found.model.waves if w.kind == "steps"]
    assert [w.frequency for w in waves[:2]] == [1.0, 2.0]
    for wave in waves[:2]:
        k = wave.frequency
        exact = np.exp(-2.0 * np.pi**2 * k**2 * sigma**2) / (np.pi * k)
        # Each coefficient has a standard deviation of about 0.2 sqrt(2 / 600) = 0.012.
        assert wave.amplitude == pytest.approx(exact, abs=0.04)


def test_fine_steps_leave_no_wave() -> None:
    rng = np.random.default_rng(2)
    measured = np.round(20.0 * np.sin(30.0 * TIMES) + 2.0 * rng.standard_normal(SIZE))
    estimate = np.linalg.lstsq(COLUMNS, measured)[0]
    steps = [Steps(np.arange(SIZE), COLUMNS @ estimate, 1.0)]
    left = measured - COLUMNS @ estimate
    outputs = [NoisyOutput("y", (whole(SIZE),))]
    assert noise_found(outputs, left, COLUMNS, sigma_known=False, steps=steps) is None


def test_a_loud_output_makes_no_tone_in_a_quiet_one() -> None:
    """What it makes of the parameters is in the residuals of the other, which answers to them."""
    rng = np.random.default_rng(5)
    columns = np.vstack([COLUMNS, COLUMNS[:, [2, 1, 0]]])
    noise = np.r_[rng.standard_normal(SIZE), 0.001 * rng.standard_normal(SIZE)]
    left = noise - columns @ np.linalg.lstsq(columns, noise)[0]
    second = Series(np.arange(SIZE, 2 * SIZE), np.arange(SIZE, dtype=float), True, STEP)
    outputs = [NoisyOutput("a", (whole(SIZE),)), NoisyOutput("b", (second,))]
    found = noise_found(outputs, left, columns, sigma_known=False)
    assert found is not None
    assert found.unequal
    assert not found.model.waves
