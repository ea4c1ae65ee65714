r"""What the residuals at the solution say about the model.

Covariance of estimates that minimise a robust loss.

An M-estimate solves :math:`\sum \psi(r_i) \, \partial r_i / \partial p = 0` with the score
:math:`\psi`, the derivative of the loss. Its covariance is

.. math:: K^2 \, \frac{\frac{1}{m - n} \sum \psi(r_i)^2}{\left(\frac{1}{m} \sum
    \psi'(r_i)\right)^2} \, (J^T J)^{-1}, \qquad
    K = 1 + \frac{n}{m} \, \frac{\operatorname{var} \psi'}{(\operatorname{mean} \psi')^2}

(Huber and Ronchetti, Robust Statistics, 2nd edition, 2009, section 7.6; Huber, Annals of
Statistics 1, 1973). Outliers count with their bounded score, so that they do not widen the
intervals as they would widen those of least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail, normal_quantile


@dataclass(frozen=True)
class ResidualStatistics:
    """Size and whiteness of residuals.

    `count` and `chi2` are the number and sum of squares of whitened residuals;
    `reduced_chi2`, per degree of freedom, is near 1 for a correct model with known noise,
    and `p_value` is the probability of so large a `chi2` for it. `white` says whether the
    autocorrelation of neighbours is within 99.9 % limits of white noise.
    """

    count: int
    chi2: float
    reduced_chi2: float
    p_value: float
    autocorrelation: float
    white: bool


def residual_statistics(residuals: F64, parameters: int = 0) -> ResidualStatistics:
    """Return size and whiteness of the residuals of one output, in order of time.

    The residuals are whitened, NaN for missing samples; `parameters` is subtracted from the
    degrees of freedom.
    """
    known = residuals[np.isfinite(residuals)]
    count = int(known.size)
    chi2 = float(known @ known)
    freedom = count - parameters
    reduced = chi2 / freedom if freedom > 0 else float("nan")
    p_value = chi_squared_tail(freedom, chi2) if freedom > 0 else float("nan")
    correlation = _lag_one(residuals)
    # Under white noise the lag-one correlation is normal with standard deviation 1/sqrt(m).
    limit = normal_quantile(0.9995) / np.sqrt(max(count, 1))
    white = bool(not np.isfinite(correlation) or abs(correlation) <= limit)
    return ResidualStatistics(count, chi2, reduced, p_value, correlation, white)


def _lag_one(residuals: F64) -> float:
    first, second = residuals[:-1], residuals[1:]
    both = np.isfinite(first) & np.isfinite(second)
    known = residuals[np.isfinite(residuals)]
    if np.count_nonzero(both) < 10:
        return float("nan")
    mean = float(known.mean())
    power = float(np.mean((known - mean) ** 2))
    if power == 0.0:
        return float("nan")
    return float(np.mean((first[both] - mean) * (second[both] - mean))) / power


@dataclass(frozen=True, eq=False)
class ResidualScores:
    """Scores of the residuals at a robust estimate.

    The score is the derivative of the loss of a whitened residual, shape (m,); `slopes` are
    its derivatives, 1 for the quadratic loss.
    """

    values: F64
    slopes: F64

    @property
    def as_residuals(self) -> F64:
        """Residuals of a least-squares problem with the same next step, shape (m,)."""
        residuals: F64 = self.values / self._mean_slope
        return residuals

    def weights(self, residuals: F64) -> F64:
        """Return the weights for which the sum of squares has the slope of the loss, shape (m,).

        With fixed weights it is a parabola that lies above the loss and touches it here (Huber
        and Ronchetti, section 7.8). The residuals must be those of the scores.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            squared = np.where(residuals != 0.0, self.values / residuals, self.slopes)
        factors: F64 = np.sqrt(np.maximum(squared, 0.0))
        return factors

    def variance(self, parameters: int) -> float:
        """Return the factor on ``(J^T J)^-1`` for a number of determined parameters.

        NaN without degrees of freedom, or if the loss is not convex on average.
        """
        count = self.values.size
        freedom = count - parameters
        mean = self._mean_slope
        if freedom <= 0 or not mean > 0.0:
            return float("nan")
        correction = 1.0 + parameters / count * float(np.var(self.slopes)) / mean**2
        return correction**2 * float(self.values @ self.values) / freedom / mean**2

    @property
    def _mean_slope(self) -> float:
        return float(np.mean(self.slopes))
