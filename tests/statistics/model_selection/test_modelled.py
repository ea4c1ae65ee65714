"""The likelihood of a model of the noise, against its dense covariance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, signal, stats

from fmident.arrays import F64
from fmident.statistics.model_selection import Fit, likelihood_ratio, modelled_likelihood
from fmident.statistics.noise.processes import outputs_of


def covariance(coefficients: F64, variance: float, places: F64) -> F64:
    """Return the covariance of an autoregression from its impulse response."""
    impulse = np.zeros(4000)
    impulse[0] = 1.0
    response = signal.lfilter([1.0], np.r_[1.0, -coefficients], impulse)
    lags = np.abs(places[:, np.newaxis] - places).astype(int)
    found = [float(response[: 4000 - k] @ response[k:]) for k in range(int(lags.max()) + 1)]
    matrix: F64 = variance * np.array(found)[lags]
    return matrix


def test_two_outputs_two_records_and_missing_samples() -> None:
    rng = np.random.default_rng(4)
    true = np.array([1.3, -0.6])
    records, signals, rows = [], [], 0
    for name, size in (("x", 60), ("y", 40), ("x", 45)):
        places = np.delete(np.arange(size), [10, 11, 30])
        matrix = covariance(true, 4.0, places) if name == "x" else np.eye(places.size) * 9.0
        values = rng.multivariate_normal(np.zeros(places.size), matrix)
        records.append((name, places, values))
        signals.append((name, np.arange(rows, rows + places.size), 0.1 * places))
        rows += places.size
    residuals = np.concatenate([values for _, _, values in records])
    outputs = outputs_of(signals)
    found = modelled_likelihood(outputs, [np.array([1.0, -0.3]), np.empty(0)], residuals)
    assert found.unknowns == 4
    np.testing.assert_allclose(
        np.sum(found.innovations[:57] ** 2) + np.sum(found.innovations[94:] ** 2), 99.0
    )

    def deviance(unknowns: F64) -> float:
        coefficients, variance = unknowns[:2], float(np.exp(unknowns[2]))
        if abs(coefficients[1]) >= 0.99 or abs(coefficients[0]) >= 0.99 - coefficients[1]:
            return 1e6
        return -2.0 * sum(
            float(
                stats.multivariate_normal(cov=covariance(coefficients, variance, places)).logpdf(v)
            )
            for name, places, v in records
            if name == "x"
        )

    best = optimize.minimize(
        deviance, [1.3, -0.6, 1.4], method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-8}
    )
    (white,) = (v for name, _, v in records if name == "y")
    rest = white.size * (np.log(2.0 * np.pi * np.mean(white**2)) + 1.0)
    assert found.deviance == pytest.approx(best.fun + rest, rel=1e-8)


def test_the_ratio_of_two_models_of_the_noise() -> None:
    smaller, larger = Fit(100, 100.0, 50.0, 2, False, 2), Fit(100, 100.0, 44.0, 3, False, 2)
    found = likelihood_ratio(smaller, larger)
    assert found.statistic == 6.0
    assert found.p_value == pytest.approx(float(stats.chi2.sf(6.0, 1)))
    assert (smaller.parameters, larger.parameters) == (4, 5)


def test_residuals_that_are_zero_have_no_likelihood() -> None:
    outputs = outputs_of([("x", np.arange(20), np.arange(20.0))])
    assert modelled_likelihood(outputs, [np.array([0.5])], np.zeros(20)).deviance == -np.inf
