"""Covariance and intervals against closed forms and Monte-Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fmident.statistics.local_model import LocalModel
from fmident.statistics.residuals import residual_statistics


def line(n: int) -> np.ndarray:
    return -np.column_stack([np.ones(n), np.linspace(0.0, 1.0, n)])


def test_straight_line_with_unknown_noise_is_the_textbook_result() -> None:
    n = 12
    jacobian = line(n)
    rng = np.random.default_rng(1)
    eta = 2.0 + 3.0 * np.linspace(0, 1, n) + 0.1 * rng.normal(size=n)
    p, *_ = np.linalg.lstsq(-jacobian, eta, rcond=None)
    residuals = eta + jacobian @ p
    found = LocalModel(["a", "b"], p, jacobian, residuals, sigma_known=False)
    variance = residuals @ residuals / (n - 2)
    expected = variance * np.linalg.inv(jacobian.T @ jacobian)
    np.testing.assert_allclose(found.covariance, expected, rtol=1e-10)
    np.testing.assert_allclose(found.standard_errors, np.sqrt(np.diag(expected)), rtol=1e-10)
    half = stats.t.ppf(0.975, n - 2) * found.standard_errors
    np.testing.assert_allclose(found.intervals[:, 1] - p, half, rtol=1e-10)
    assert found.degrees_of_freedom == n - 2
    assert found.correlation[0, 1] == pytest.approx(
        expected[0, 1] / np.sqrt(expected[0, 0] * expected[1, 1])
    )


def test_known_noise_is_not_scaled() -> None:
    jacobian = line(50)
    found = LocalModel(["a", "b"], np.zeros(2), jacobian, 7.0 * np.ones(50), sigma_known=True)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(jacobian.T @ jacobian), rtol=1e-10)
    assert found.intervals[0, 1] == pytest.approx(1.959964 * found.standard_errors[0], rel=1e-6)


@pytest.mark.parametrize("known", [True, False])
def test_coverage_of_the_intervals_is_95_percent(known: bool) -> None:
    n, draws = 15, 2000
    jacobian = line(n)
    rng = np.random.default_rng(11)
    inside = 0
    for _ in range(draws):
        eta = 2.0 + 3.0 * np.linspace(0, 1, n) + (1.0 if known else 0.3) * rng.normal(size=n)
        p, *_ = np.linalg.lstsq(-jacobian, eta, rcond=None)
        found = LocalModel(["a", "b"], p, jacobian, eta + jacobian @ p, sigma_known=known)
        inside += int(found.intervals[1, 0] <= 3.0 <= found.intervals[1, 1])
    # Standard deviation of the share: 0.5 %.
    assert inside / draws == pytest.approx(0.95, abs=0.015)


def test_no_degrees_of_freedom_give_no_interval() -> None:
    jacobian = np.eye(2)
    found = LocalModel(["a", "b"], np.ones(2), jacobian, np.zeros(2), sigma_known=False)
    assert found.degrees_of_freedom == 0
    assert np.isnan(found.standard_errors).all()
    assert np.isinf(found.intervals).all()


def test_ill_scaled_columns_keep_their_precision() -> None:
    scale = np.array([1e-9, 1e8])
    jacobian = line(30)
    plain = LocalModel(["a", "b"], np.ones(2), jacobian, np.ones(30), sigma_known=True)
    scaled = LocalModel(["a", "b"], scale, jacobian / scale, np.ones(30), sigma_known=True)
    np.testing.assert_allclose(scaled.standard_errors, plain.standard_errors * scale, rtol=1e-9)


def test_white_and_coloured_residuals_are_told_apart() -> None:
    rng = np.random.default_rng(2)
    white = rng.normal(size=2000)
    coloured = np.convolve(white, np.ones(5) / 5, mode="same")
    white[10] = np.nan
    found = residual_statistics(white, 3)
    assert found.white
    assert found.count == 1999
    assert found.reduced_chi2 == pytest.approx(1.0, abs=0.1)
    assert not residual_statistics(coloured).white
    assert residual_statistics(coloured).autocorrelation == pytest.approx(0.8, abs=0.05)
