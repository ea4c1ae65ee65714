"""Whitening and likelihood of autoregressions against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg

from fmident.statistics.noise.processes import (
    NoisyOutput,
    RestrictedLikelihood,
    chosen_order,
    fit_noise,
    partial_of,
)
from fmident.statistics.noise.series import (
    Series,
    Whitening,
    autocovariance,
    coefficients_of,
    series_of,
    variance_of,
)

PARTIAL = np.array([0.95, -0.5, 0.2])
RANDOM = np.random.default_rng(11)
GRIDS = {
    "whole": np.arange(60),
    "gaps": np.setdiff1d(np.arange(60), [0, 7, 8, 9, 20, 22, 24, 25, *range(40, 46)]),
    "a third missing at random": np.flatnonzero(RANDOM.random(90) > 0.33),
    "two samples": np.array([3, 5]),
    "a long gap": np.r_[np.arange(20), np.arange(120, 140)],
}


def grid(kept: np.ndarray) -> Series:
    return series_of(np.arange(kept.size), 0.001 * kept, 0.001)


def dense(kept: np.ndarray, partial: np.ndarray, deviation: float) -> np.ndarray:
    gamma = autocovariance(partial, int(kept.max()) + 1)
    return deviation**2 * gamma[np.abs(kept[:, np.newaxis] - kept)]


def test_autocovariance_solves_the_equations_of_yule_and_walker() -> None:
    gamma, phi = autocovariance(PARTIAL, 40), coefficients_of(PARTIAL)
    for lag in range(40):
        earlier = gamma[np.abs(lag - np.arange(1, 4))]
        assert gamma[lag] == pytest.approx(phi @ earlier + (lag == 0), rel=1e-10)
    assert gamma[0] == pytest.approx(variance_of(PARTIAL))
    np.testing.assert_allclose(partial_of(phi), PARTIAL, rtol=1e-12)


@pytest.mark.parametrize("name", GRIDS)
def test_whitening_is_the_inverse_factor_of_the_covariance(name: str) -> None:
    kept = GRIDS[name]
    whitening, covariance = Whitening.of(grid(kept), PARTIAL, 0.3), dense(kept, PARTIAL, 0.3)
    unit = np.eye(kept.size)
    matrix = whitening.whiten(unit)
    np.testing.assert_allclose(matrix @ covariance @ matrix.T, unit, atol=1e-10)
    np.testing.assert_array_equal(matrix, np.tril(matrix))
    np.testing.assert_allclose(whitening.whiten(whitening.colour(unit)), unit, atol=1e-10)
    answers = RANDOM.standard_normal((2, kept.size))
    moved = whitening.coloured_answers(answers.T).T
    np.testing.assert_allclose(moved @ moved.T, answers @ covariance @ answers.T, rtol=1e-9)
    np.testing.assert_allclose(whitening.whitened_answers(moved.T).T, answers, atol=1e-10)


def test_uneven_samples_are_an_autoregression_in_continuous_time() -> None:
    times = np.cumsum(RANDOM.uniform(0.2, 2.0, 30))
    series = series_of(np.arange(30), times, 1.0)
    assert not series.even
    whitening = Whitening.of(series, np.array([0.8]), 0.5)
    apart = np.abs(times[:, np.newaxis] - times)
    covariance = 0.25 / (1.0 - 0.64) * 0.8**apart
    matrix = whitening.whiten(np.eye(30))
    np.testing.assert_allclose(matrix @ covariance @ matrix.T, np.eye(30), atol=1e-10)


@pytest.mark.parametrize("name", ["whole", "gaps", "a third missing at random"])
def test_restricted_likelihood_is_that_of_the_dense_covariance(name: str) -> None:
    kept = GRIDS[name]
    columns = np.linalg.qr(np.column_stack([np.ones(kept.size), kept / 60.0]))[0]
    e = RANDOM.standard_normal(kept.size)
    likelihood = RestrictedLikelihood([grid(kept)], [e], [columns], 3)
    covariance = dense(kept, PARTIAL, 1.0)
    # Of contrasts that no column can change (Harville 1977): an independent route.
    contrasts = linalg.null_space(columns.T)
    among, seen = contrasts.T @ covariance @ contrasts, contrasts.T @ e
    squares = seen @ np.linalg.solve(among, seen)
    exact = np.linalg.slogdet(among)[1] + (kept.size - 2) * np.log(squares)
    assert likelihood.deviance(np.arctanh(PARTIAL)) == pytest.approx(exact, abs=1e-8)
    fitted = likelihood.fitted()
    assert -2.0 * fitted.log_likelihood <= exact + 1e-6


@pytest.mark.parametrize("seed", range(6))
def test_the_search_does_not_end_at_a_unit_root_where_the_likelihood_is_flat(seed: int) -> None:
    size = 300
    columns = np.linalg.qr(np.column_stack([np.ones(size), np.arange(size)]))[0]
    series = grid(np.arange(size))
    whitening = Whitening.of(series, np.array([0.9]), 1.0)
    e = whitening.colour(np.random.default_rng(seed).standard_normal(size))
    likelihood = RestrictedLikelihood([series], [e], [columns], 1)
    grid_of_all = [likelihood.deviance(np.array([z])) for z in np.linspace(-4.9, 4.9, 200)]
    fitted = likelihood.fitted()
    assert -2.0 * fitted.log_likelihood <= min(grid_of_all)
    # An order that is given is the same model as one that was chosen.
    (given,) = fit_noise([NoisyOutput("y", (series,))], e, columns, 1).fits
    np.testing.assert_allclose(given.partial, fitted.partial, rtol=1e-4)
    assert 0.75 < given.partial[0] < 0.99


def test_a_long_autoregression_of_given_order_is_found_as_one_that_is_chosen() -> None:
    size = 2000
    series = grid(np.arange(size))
    partial = np.array([0.9, -0.5, 0.4, 0.0, -0.3, 0.2])
    e = Whitening.of(series, partial, 1.0).colour(np.random.default_rng(5).standard_normal(size))
    (fit,) = fit_noise([NoisyOutput("y", (series,))], e, np.ones((size, 1)), 6).fits
    errors = np.sqrt(np.diag(fit.spread))[1:]
    off = np.arctanh(fit.partial) - np.arctanh(partial)
    assert float(np.max(np.abs(off / errors))) < 3.5


def test_samples_far_apart_are_independent_and_drifting_clocks_are_grids() -> None:
    times = np.r_[np.arange(5), 90000.4 + np.arange(5)] * 0.01
    series = series_of(np.arange(10), times)
    assert series.even
    matrix = Whitening.of(series, np.array([0.9]), 1.0).whiten(np.eye(10))
    assert not matrix[5:, :5].any()
    assert series_of(np.arange(500), np.arange(500) * (1.0 + 2e-4), 1.0).even
    assert not series_of(np.arange(4), np.array([0.0, 1.0, 1.5, 3.0]), 1.0).even


def test_an_autoregression_is_found_again() -> None:
    size = 4000
    series = grid(np.setdiff1d(np.arange(size + 100), np.arange(1000, 1100)))
    e = Whitening.of(series, PARTIAL, 0.3).colour(np.random.default_rng(3).standard_normal(size))
    order, _ = chosen_order([series], [e], 12, "bic")
    assert order == 3
    model = fit_noise([NoisyOutput("y", (series,))], e, np.ones((size, 1)), "auto", "bic")
    (fit,) = model.fits
    errors = np.sqrt(np.diag(fit.spread))
    off = fit.unknowns - np.r_[2.0 * np.log(0.3), np.arctanh(PARTIAL)]
    assert float(np.max(np.abs(off / errors))) < 3.5
    # The information of the variance, and of the last coefficient (1 - partial^2) / m, are known.
    assert errors[0] == pytest.approx(np.sqrt(2.0 / size), rel=0.01)
    assert errors[3] * (1.0 - PARTIAL[2] ** 2) == pytest.approx(
        np.sqrt((1.0 - PARTIAL[2] ** 2) / size), rel=0.1
    )


def test_new_noise_has_the_covariance_of_the_model() -> None:
    kept = GRIDS["gaps"]
    e = Whitening.of(grid(kept), np.array([0.9]), 0.2).colour(RANDOM.standard_normal(kept.size))
    model = fit_noise([NoisyOutput("y", (grid(kept),))], e, np.ones((kept.size, 1)), 1)
    draws = model.simulate(np.random.default_rng(1), 20000)
    (fit,) = model.fits
    covariance = dense(kept, fit.partial, fit.deviation)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.05 * covariance[0, 0])
    np.testing.assert_allclose(model.whiten(model.colour(e)), e, atol=1e-12)


def test_a_search_may_try_processes_that_numbers_cannot_represent() -> None:
    """All unknowns at their limits: beside gaps the variance of the process itself is needed."""
    kept = np.r_[0:60, 75:140]
    columns = np.linalg.qr(np.ones((kept.size, 1)))[0]
    likelihood = RestrictedLikelihood([grid(kept)], [np.sin(0.3 * kept)], [columns], 20)
    signs = (-1.0) ** np.arange(20)
    for unknowns in (np.full(20, 5.0), np.full(20, -5.0), 5.0 * signs):
        assert np.isfinite(likelihood.deviance(unknowns))
        assert likelihood.deviance(unknowns) > likelihood.deviance(np.zeros(20))
