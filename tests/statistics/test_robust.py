"""Covariance of robust estimates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from fmident.statistics.feasible_set import FeasibleSet
from fmident.statistics.local_model import LocalModel
from fmident.statistics.prior import PriorRows
from fmident.statistics.residuals import ResidualScores

N = 40
LINE = -np.column_stack([np.ones(N), np.linspace(0.0, 1.0, N)])


def test_a_loss_that_is_a_square_everywhere_gives_least_squares() -> None:
    residuals = np.random.default_rng(1).normal(size=N)
    plain = LocalModel(["a", "b"], np.ones(2), LINE, residuals, sigma_known=False)
    scores = ResidualScores(residuals, np.ones(N))
    found = LocalModel(["a", "b"], np.ones(2), LINE, residuals, sigma_known=True, scores=scores)
    np.testing.assert_allclose(found.covariance, plain.covariance, rtol=1e-12)
    np.testing.assert_allclose(found.intervals, plain.intervals, rtol=1e-12)
    np.testing.assert_allclose(found.remaining_step, plain.remaining_step, rtol=1e-12)


def test_the_published_formula_in_numbers() -> None:
    residuals = np.array([0.5, -0.5, 3.0, 0.2])
    scores = ResidualScores(np.clip(residuals, -1.0, 1.0), np.array([1.0, 1.0, 0.0, 1.0]))
    correction = 1.0 + 1 / 4 * (3 / 16) / (9 / 16)
    squares = 0.25 + 0.25 + 1.0 + 0.04
    assert scores.variance(1) == pytest.approx(correction**2 * squares / 3 / (9 / 16))
    assert np.isnan(scores.variance(4))
    assert np.isnan(ResidualScores(residuals, np.full(4, -1.0)).variance(1))


def test_priors_beside_a_robust_loss_have_the_sandwich_of_both() -> None:
    """Curvature ``m J'J + D'D``, scores ``v J'J + D'D``."""
    residuals = np.random.default_rng(2).standard_t(2.0, N)
    scores = ResidualScores(np.clip(residuals, -1.0, 1.0), (np.abs(residuals) <= 1.0).astype(float))
    prior = PriorRows(np.array([0.7]), np.array([[0.0, 1.0 / 0.3]]))
    names = ["a", "b"]
    found = LocalModel(names, np.ones(2), LINE, residuals, True, scores=scores, prior=prior)
    slope, squares = scores.mean_slope, scores.variance(2) * scores.mean_slope**2
    data, known = LINE.T @ LINE, prior.slopes.T @ prior.slopes
    inverse = np.linalg.inv(slope * data + known)
    covariance = inverse @ (squares * data + known) @ inverse
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-12)
    gradient = LINE.T @ scores.values + prior.slopes.T @ prior.deviations
    np.testing.assert_allclose(found.remaining_step, -inverse @ gradient, rtol=1e-12)
    shares = np.diag(inverse @ known @ inverse) / np.diag(covariance)
    np.testing.assert_allclose(found.prior_shares, shares, rtol=1e-12)
    np.testing.assert_allclose(found.parameter_freedoms, 38.0 / (1.0 - shares) ** 2, rtol=1e-9)


def test_a_bound_beside_a_prior_and_a_robust_loss_ends_intervals() -> None:
    """The prior and the data pull ``b`` below its bound, where the sandwich says how far."""
    residuals = np.random.default_rng(2).standard_t(2.0, N)
    scores = ResidualScores(np.clip(residuals, -1.0, 1.0), (np.abs(residuals) <= 1.0).astype(float))
    prior = PriorRows(np.array([9.0]), np.array([[0.0, 1.0 / 0.3]]))
    feasible = FeasibleSet(np.empty((0, 2)), np.array([[0.0, 1.0]]), np.zeros(1))
    given = {"scores": scores, "prior": prior, "feasible": feasible}
    found = LocalModel(["a", "b"], np.ones(2), LINE, residuals, True, **given)
    assert found.holds.all()
    alone = scores.variance(1) / (LINE[:, 0] @ LINE[:, 0])
    assert found.standard_errors[0] == pytest.approx(np.sqrt(alone), rel=1e-12)
    assert found.intervals[1, 0] == 1.0


def huber(eta: np.ndarray, c: float) -> np.ndarray:
    """Return the line of least Huber loss."""
    return optimize.least_squares(
        lambda p: eta + LINE @ p, np.zeros(2), jac=lambda p: LINE, loss="huber", f_scale=c
    ).x


@pytest.mark.nightly
@pytest.mark.parametrize("outliers", [0.0, 0.1])
def test_robust_intervals_cover_95_percent_with_and_without_outliers(outliers: float) -> None:
    rng = np.random.default_rng(7)
    draws, c = 2000, 1.345
    inside = np.zeros(2)
    lengths = np.zeros(2)
    for _ in range(draws):
        far = rng.random(N) < outliers
        noise = rng.normal(size=N) * np.where(far, 10.0, 1.0)
        eta = -LINE @ np.array([2.0, 3.0]) + noise
        p = huber(eta, c)
        residuals = eta + LINE @ p
        scores = ResidualScores(
            np.clip(residuals, -c, c), np.where(np.abs(residuals) <= c, 1.0, 0.0)
        )
        for k, options in enumerate(({"scores": scores}, {})):
            found = LocalModel(["a", "b"], p, LINE, residuals, sigma_known=False, **options)
            inside[k] += found.intervals[1, 0] <= 3.0 <= found.intervals[1, 1]
            lengths[k] += found.standard_errors[1]
    # Standard deviation of the share: 0.5 %. The formula is asymptotic: it has 40 samples here.
    assert inside[0] / draws == pytest.approx(0.95, abs=0.015)
    # Counted in full, outliers make the intervals more than twice as long as need be.
    if outliers:
        assert lengths[1] > 2.0 * lengths[0]
        assert inside[1] / draws > 0.99
