"""What the residuals at the solution say about the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail, normal_quantile


@dataclass(frozen=True)
class ResidualStatistics:
    """Size and whiteness of residuals.

    Parameters
    ----------
    count
        Residuals that are not NaN.
    chi2
        Sum of the squared whitened residuals.
    reduced_chi2
        `chi2` per degree of freedom: near 1 for a right model with known noise.
    p_value
        Probability of a `chi2` as large as this for a right model with known noise.
    autocorrelation
        Correlation of neighbouring residuals; near 0 for white noise.
    white
        Whether `autocorrelation` is within 99.9 % limits of white noise.
    """

    count: int
    chi2: float
    reduced_chi2: float
    p_value: float
    autocorrelation: float
    white: bool


def residual_statistics(residuals: F64, parameters: int = 0) -> ResidualStatistics:
    """Return size and whiteness of the residuals of one output, in order of time.

    Parameters
    ----------
    residuals
        Whitened, shape (m,); NaN where a sample is missing.
    parameters
        Number of fitted parameters to take off the degrees of freedom.
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
