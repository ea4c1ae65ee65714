"""Tones that several outputs of one experiment have in common: one phase for all of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import NoiseFinding, noise_found
from fmident.statistics.noise.processes import NoiseModel, fit_noise, outputs_of
from fmident.statistics.noise.waves import Wave

SIZE = 200
TIMES = np.arange(SIZE) * 0.01
FREQUENCY = 9.3
SHAPES = np.column_stack([np.ones(SIZE), np.sign(np.sin(2.0 * np.pi * TIMES + 0.3))])
COLUMNS = np.vstack([SHAPES, 1.3 * SHAPES, 1.6 * SHAPES])
ROWS = np.arange(3 * SIZE).reshape(3, SIZE)
SIGNALS = [(name, rows, TIMES) for name, rows in zip("abc", ROWS, strict=True)]
AMPLITUDES, PHASES = (2.0, 1.0, 3.0), (0.4, 1.9, -2.0)


def waves(phase: float = 0.0, frequencies: tuple[float, ...] = (FREQUENCY,) * 3) -> np.ndarray:
    """Return the tone in the three outputs, shape (3, SIZE)."""
    each = zip(AMPLITUDES, PHASES, frequencies, strict=True)
    return np.array([a * np.cos(2.0 * np.pi * f * TIMES + p + phase) for a, p, f in each])


def found_in(noise: np.ndarray, records: tuple[int, ...] | None = (0, 0, 0)) -> NoiseFinding:
    left = noise - COLUMNS @ np.linalg.lstsq(COLUMNS, noise)[0]
    found = noise_found(outputs_of(SIGNALS, records), left, COLUMNS, sigma_known=False)
    assert found is not None
    return found


def white(seed: int) -> np.ndarray:
    return 0.5 * np.random.default_rng(seed).standard_normal(3 * SIZE)


def model_with_tones() -> tuple[NoiseModel, np.ndarray, np.ndarray]:
    """Return a model, its dense covariance, and that with each tone by itself."""
    angle = 2.0 * np.pi * FREQUENCY * TIMES
    shape = np.column_stack([np.cos(angle), np.sin(angle)])
    each = [
        Wave("tone", r, shape, 50.0, FREQUENCY, amplitude=a, phase=p, record=0, span=2.0)
        for r, a, p in zip(ROWS, AMPLITUDES, PHASES, strict=True)
    ]
    model = fit_noise(outputs_of(SIGNALS, [0] * 3), white(1), COLUMNS, 1, waves=each)
    apart = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    smooth = np.zeros((3 * SIZE, 3 * SIZE))
    for rows, fit in zip(ROWS, model.fits, strict=True):
        phi = fit.coefficients[0]
        smooth[np.ix_(rows, rows)] = fit.deviation**2 / (1.0 - phi**2) * phi**apart
    now, later = waves().ravel(), waves(np.pi / 2.0).ravel()
    both = 0.5 * (np.outer(now, now) + np.outer(later, later))
    alone = both * np.kron(np.eye(3), np.ones((SIZE, SIZE)))
    return model, smooth + both, smooth + alone


def test_covariance_and_new_noise_have_one_phase() -> None:
    model, exact, alone = model_with_tones()
    (group,) = model.groups
    assert len(group) == 3
    answers = np.vstack([np.linalg.pinv(COLUMNS), np.random.default_rng(2).normal(size=600)])
    moved = model.answers_to_innovations(answers)
    np.testing.assert_allclose(moved @ moved.T, answers @ exact @ answers.T, rtol=1e-9, atol=1e-12)
    drawn = model.simulate(np.random.default_rng(3), 4000) @ answers.T
    variances = np.diag(answers @ exact @ answers.T)
    np.testing.assert_allclose(np.var(drawn, axis=0), variances, rtol=0.1)
    assert model.deviation**2 == pytest.approx(np.trace(exact) / exact.shape[0], rel=1e-9)
    # What whitens takes each wave for an unknown of its own.
    matrix = model.whiten(np.eye(3 * SIZE))
    np.testing.assert_allclose(matrix @ alone @ matrix.T, np.eye(3 * SIZE), atol=1e-8)
    np.testing.assert_allclose(model.colour(model.whiten(white(4))), white(4), atol=1e-10)


def test_degrees_of_freedom_are_those_of_the_estimated_amplitudes() -> None:
    """Relative variance of the tone's power by drawing cosine and sine of each output anew."""
    model, exact, _ = model_with_tones()
    (group,) = model.groups
    answer = np.random.default_rng(5).normal(size=600) * 0.01 + 0.02 * waves(0.7).ravel()
    power = 0.5 * sum((answer @ waves(p).ravel()) ** 2 for p in (0.0, np.pi / 2.0))
    assert power > 0.99 * answer @ exact @ answer
    rng, count = np.random.default_rng(6), 20_000
    total = np.zeros((count, 2))
    for wave, rows in zip(group, ROWS, strict=True):
        # A ratio of A^2 / (2 s^2), with the standard deviation s of either coefficient.
        deviation = wave.amplitude / np.sqrt(2.0 * wave.ratio)
        a, b = wave.amplitude * np.array([np.cos(wave.phase), -np.sin(wave.phase)])
        a, b = a + deviation * rng.normal(size=count), b + deviation * rng.normal(size=count)
        c, s = answer[rows] @ wave.shape
        total += np.column_stack([a * c + b * s, -b * c + a * s])
    powers = 0.5 * np.sum(total**2, axis=1)
    expected = 2.0 * powers.mean() ** 2 / powers.var()
    assert model.freedoms(answer[np.newaxis])[0] == pytest.approx(expected, rel=0.1)


def test_the_residuals_tell_how_a_tone_lies_in_the_outputs() -> None:
    found = found_in(white(7) + waves(1.0).ravel())
    (group,) = found.model.groups
    assert [w.amplitude for w in group] == pytest.approx(AMPLITUDES, abs=0.2)
    seen = np.array([w.seen for w in group])
    np.testing.assert_allclose(seen[..., 0], waves(1.0), atol=0.3)
    np.testing.assert_allclose(seen[..., 1], waves(1.0 - np.pi / 2.0), atol=0.3)


def test_other_frequencies_and_other_experiments_have_a_phase_of_their_own() -> None:
    noise = white(7) + waves(1.0, (9.3, 13.4, 17.5)).ravel()
    apart, alone = found_in(noise), found_in(noise, None)
    assert [len(g) for g in apart.model.groups] == [1, 1, 1]
    answers = np.linalg.pinv(COLUMNS)
    np.testing.assert_array_equal(
        apart.answers_to_innovations(answers), alone.answers_to_innovations(answers)
    )
    np.testing.assert_array_equal(apart.freedoms(answers), alone.freedoms(answers))
    hum = found_in(white(7) + waves(1.0).ravel(), (0, 1, 0))
    assert sorted(len(g) for g in hum.model.groups) == [1, 2]


@pytest.mark.nightly
def test_intervals_hold_the_truth_under_the_same_hum_in_all_outputs() -> None:
    rng, draws = np.random.default_rng(8), 300
    held = {"one phase": np.zeros(2), "each its own": np.zeros(2)}
    for seed in range(draws):
        angle = 2.0 * np.pi * FREQUENCY * TIMES + rng.uniform(0.0, 2.0 * np.pi)
        noise = white(seed) + np.tile(2.0 * np.cos(angle), 3)
        p = np.linalg.lstsq(COLUMNS, noise)[0]
        for total, records in zip(held.values(), ((0, 0, 0), (0, 1, 2)), strict=True):
            ends = LocalModel(
                ["offset", "square"],
                p,
                COLUMNS,
                noise - COLUMNS @ p,
                sigma_known=False,
                coloured=found_in(noise, records),
            ).intervals
            total += (ends[:, 0] <= 0.0) & (ends[:, 1] >= 0.0)
    # What is mostly the tone has no tails: its intervals hold the truth more often than they say.
    low = stats.binom.ppf(5e-4, draws, 0.95)
    assert (held["one phase"] >= low).all()
    assert (held["each its own"] < low).any()
