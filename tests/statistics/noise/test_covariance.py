"""Covariance and degrees of freedom of estimates under noise that is not white."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import linalg, signal, stats

from fmident.statistics.local_model import LocalModel
from fmident.statistics.noise.covariance import NoiseFinding, noise_found
from fmident.statistics.noise.processes import NoiseModel, NoisyOutput, fit_noise, outputs_of
from fmident.statistics.noise.series import colour_level, series_of

SIZE = 300
TIMES = np.arange(SIZE) / SIZE
COLUMNS = np.column_stack(
    [np.ones(SIZE), np.sin(6.0 * TIMES), np.sin(40.0 * TIMES), np.sign(np.sin(25.0 * TIMES))]
)
NAMES = ["offset", "slow", "fast", "switching"]


def one_output(size: int = SIZE) -> list[NoisyOutput]:
    return [NoisyOutput("y", (series_of(np.arange(size), np.arange(size) * 0.01),))]


def coloured(correlation: float, rng: np.random.Generator, size: int = SIZE) -> np.ndarray:
    e = rng.standard_normal(size)
    e[0] /= np.sqrt(1.0 - correlation**2)
    return signal.lfilter([1.0], [1.0, -correlation], e)


def residuals_of(noise: np.ndarray, columns: np.ndarray = COLUMNS) -> tuple[np.ndarray, np.ndarray]:
    found = np.linalg.lstsq(columns, noise)[0]
    return found, noise - columns @ found


def statistics_of(residuals: np.ndarray, noise: NoiseFinding | None, columns=COLUMNS, names=NAMES):
    return LocalModel(
        names, np.zeros(columns.shape[1]), columns, residuals, sigma_known=False, coloured=noise
    )


def test_the_covariance_is_the_sandwich_with_the_toeplitz_matrix() -> None:
    _, left = residuals_of(coloured(0.9, np.random.default_rng(2)))
    noise = noise_found(one_output(), left, COLUMNS, sigma_known=False)
    assert noise is not None
    assert noise.coloured
    assert not noise.unequal
    (fit,) = noise.model.fits
    assert fit.order == 1
    phi = fit.coefficients[0]
    covariance = fit.deviation**2 / (1.0 - phi**2) * linalg.toeplitz(phi ** np.arange(SIZE))
    inverse = np.linalg.pinv(COLUMNS)
    found = statistics_of(left, noise)
    np.testing.assert_allclose(found.covariance, inverse @ covariance @ inverse.T, rtol=1e-8)
    half = found.intervals[:, 1]
    expected = stats.t.ppf(0.975, found.parameter_freedoms) * found.standard_errors
    np.testing.assert_allclose(half, expected, rtol=1e-10)
    white = statistics_of(left, None)
    np.testing.assert_allclose(found.white_errors, white.standard_errors, rtol=1e-10)
    # What resembles slow noise is told worse, and its error is known worse, than what switches.
    assert found.standard_errors[0] > 3.0 * white.standard_errors[0]
    assert found.parameter_freedoms[0] < found.parameter_freedoms[3] < SIZE - 4


def test_white_noise_of_one_size_has_the_formulas_for_it() -> None:
    _, left = residuals_of(np.random.default_rng(5).standard_normal(SIZE))
    assert noise_found(one_output(), left, COLUMNS, sigma_known=False) is None
    model = fit_noise(one_output(), left, COLUMNS, 0)
    assert model.white
    finding = NoiseFinding(model, (), coloured=False, unequal=False, uneven=False)
    found, white = statistics_of(left, finding), statistics_of(left, None)
    np.testing.assert_allclose(found.covariance, white.covariance, rtol=1e-9)
    np.testing.assert_allclose(found.parameter_freedoms, SIZE - 4, rtol=1e-6)
    np.testing.assert_allclose(found.intervals, white.intervals, rtol=1e-6)


def test_freedoms_of_two_unequal_outputs_are_those_of_welch_and_satterthwaite() -> None:
    """The mean of two outputs of different noise: Welch's t."""
    rng = np.random.default_rng(8)
    first, second = 0.1 * rng.standard_normal(12), 3.0 * rng.standard_normal(30)
    columns = linalg.block_diag(np.ones((12, 1)), np.ones((30, 1)))
    left = np.r_[first - first.mean(), second - second.mean()]
    outputs = [
        NoisyOutput("a", (series_of(np.arange(12), np.arange(12.0)),)),
        NoisyOutput("b", (series_of(np.arange(12, 42), np.arange(30.0)),)),
    ]
    noise = noise_found(outputs, left, columns, sigma_known=False)
    assert noise is not None
    assert noise.unequal
    assert not noise.coloured
    found = statistics_of(left, noise, columns, ["a", "b"])
    own = np.array([np.var(first, ddof=1) / 12, np.var(second, ddof=1) / 30])
    np.testing.assert_allclose(np.diag(found.covariance), own, rtol=1e-8)
    np.testing.assert_allclose(found.parameter_freedoms, [11.0, 29.0], rtol=1e-6)
    both = found.freedoms(np.array([[1.0, -1.0]]))[0]
    welch = own.sum() ** 2 / (own[0] ** 2 / 11 + own[1] ** 2 / 29)
    assert both == pytest.approx(welch, rel=1e-6)


def test_noise_that_grows_with_the_signal_has_the_covariance_hc3() -> None:
    rng = np.random.default_rng(4)
    column = np.linspace(0.0, 1.0, SIZE)[:, np.newaxis] ** 2
    noise = rng.standard_normal(SIZE) * (0.05 + column[:, 0])
    _, left = residuals_of(noise, column)
    found = noise_found(one_output(), left, column, sigma_known=False)
    assert found is not None
    assert found.uneven
    assert not found.coloured
    errors = statistics_of(left, found, column, ["slope"]).standard_errors
    leverage = column[:, 0] ** 2 / (column[:, 0] @ column[:, 0])
    square = float(column[:, 0] @ column[:, 0])
    hc3 = np.sqrt(np.sum((column[:, 0] * left / (1.0 - leverage)) ** 2)) / square
    assert errors[0] == pytest.approx(hc3, rel=1e-9)
    assert errors[0] > 1.3 * statistics_of(left, None, column, ["slope"]).standard_errors[0]


def test_experiments_and_gaps_are_not_neighbours() -> None:
    rng = np.random.default_rng(9)
    runs = [coloured(0.95, rng, 100) for _ in range(3)]
    series = tuple(
        series_of(np.arange(100 * k, 100 * (k + 1)), np.arange(100) * 0.01) for k in range(3)
    )
    columns = np.ones((300, 1))
    _, left = residuals_of(np.concatenate(runs), columns)
    model = fit_noise([NoisyOutput("y", series)], left, columns, 1)
    phi, deviation = model.fits[0].coefficients[0], model.fits[0].deviation
    block = deviation**2 / (1.0 - phi**2) * linalg.toeplitz(phi ** np.arange(100))
    answers = np.linalg.pinv(columns)
    moved = model.answers_to_innovations(answers)
    exact = answers @ linalg.block_diag(block, block, block) @ answers.T
    np.testing.assert_allclose(moved @ moved.T, exact, rtol=1e-9)


def test_given_noise_counts_where_the_residuals_are_smaller() -> None:
    _, left = residuals_of(1e-3 * coloured(0.9, np.random.default_rng(2)))
    assert noise_found(one_output(), left, COLUMNS, sigma_known=True) is None
    assert noise_found(one_output(), left, COLUMNS, sigma_known=False) is not None


def test_freedoms_are_those_of_the_spread_of_the_estimated_variances() -> None:
    """2 V^2 / Var(V), counted over draws of the noise of a known process."""
    rng, inverse = np.random.default_rng(6), np.linalg.pinv(COLUMNS)
    variances, freedoms = [], []
    for _ in range(150):
        _, left = residuals_of(coloured(0.5, rng))
        model: NoiseModel = fit_noise(one_output(), left, COLUMNS, 1)
        variances.append(np.sum(model.answers_to_innovations(inverse) ** 2, axis=1))
        freedoms.append(model.freedoms(inverse))
    seen = 2.0 * np.mean(variances, axis=0) ** 2 / np.var(variances, axis=0)
    # The variance of 150 variances is known to a standard deviation of about 12 %.
    np.testing.assert_allclose(np.median(freedoms, axis=0), seen, rtol=0.45)


@pytest.mark.each_time("0.5")
@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.98])
def test_intervals_hold_the_truth(correlation: float) -> None:
    """400 draws; the settings were chosen on no draw at all."""
    rng, draws = np.random.default_rng(20), 400
    held = np.zeros(4)
    for _ in range(draws):
        estimate, left = residuals_of(coloured(correlation, rng))
        noise = noise_found(one_output(), left, COLUMNS, sigma_known=False)
        intervals = statistics_of(left, noise).intervals + estimate[:, np.newaxis]
        held += (intervals[:, 0] <= 0.0) & (intervals[:, 1] >= 0.0)
    allowed = 3.0 * np.sqrt(0.95 * 0.05 / draws)
    assert (np.abs(held / draws - 0.95) <= allowed).all(), held / draws


def test_the_size_of_innovations_may_be_given_one_by_one() -> None:
    _, left = residuals_of(coloured(0.9, np.random.default_rng(2)))
    model = fit_noise(one_output(), left, COLUMNS, 1)
    scaled = dataclasses.replace(model, scales=np.full(SIZE, 2.0))
    answers = np.linalg.pinv(COLUMNS)
    np.testing.assert_allclose(
        scaled.answers_to_innovations(answers), 2.0 * model.answers_to_innovations(answers)
    )


def test_a_loud_output_does_not_colour_a_quiet_one() -> None:
    """What it does to the parameters is in the residuals of the other, which is white."""
    rng = np.random.default_rng(5)
    columns = np.vstack([COLUMNS, COLUMNS[:, [3, 1, 2, 0]]])
    true = np.r_[rng.standard_normal(SIZE), 0.01 * rng.standard_normal(SIZE)]
    _, left = residuals_of(true, columns)
    assert np.std(left[SIZE:]) > 3.0 * 0.01
    outputs = [
        NoisyOutput("a", (series_of(np.arange(SIZE), np.arange(SIZE) * 0.01),)),
        NoisyOutput("b", (series_of(np.arange(SIZE, 2 * SIZE), np.arange(SIZE) * 0.01),)),
    ]
    noise = noise_found(outputs, left, columns, sigma_known=False)
    assert noise is not None
    assert noise.unequal
    assert not noise.coloured
    assert [f.order for f in noise.model.fits] == [0, 0]
    # 296 degrees of freedom each: 4 % of a standard deviation.
    assert noise.model.fits[0].deviation == pytest.approx(1.0, rel=0.15)
    assert noise.model.fits[1].deviation == pytest.approx(0.01, rel=0.15)
    assert noise.outputs[1].p_white > 1e-3


def test_few_samples_that_hang_together_are_seen() -> None:
    # A record of 100 with a correlation of 0.5 takes 3 in 4 of the information.
    size, generator = 100, np.random.default_rng(31)
    outputs = outputs_of([("y", np.arange(size), np.arange(size) * 0.01)])
    columns = np.column_stack([np.ones(size), np.linspace(-1.0, 1.0, size)])
    seen = {0.0: 0, 0.5: 0}
    for correlation in seen:
        for _ in range(100):
            e = signal.lfilter([1.0], [1.0, -correlation], generator.standard_normal(2 * size))
            e = e[size:]
            left = e - columns @ np.linalg.lstsq(columns, e)[0]
            found = noise_found(outputs, left, columns, sigma_known=False)
            seen[correlation] += found is not None and found.coloured
    assert seen[0.5] >= 85
    assert seen[0.0] <= 8  # 2.5 % of white records, within three standard deviations


def test_the_longer_a_record_the_stronger_the_evidence_that_it_takes() -> None:
    assert colour_level(30) == 0.05
    assert colour_level(250) == pytest.approx(0.01)
    assert colour_level(100_000) == 1e-3
