"""How many coloured residuals hold as much information as one independent one.

The mean of n samples with autocorrelations rho_k has the variance of ``n / tau`` independent
samples, ``tau = 1 + 2 sum rho_k`` (G. V. Bayley and J. M. Hammersley, Supplement to the Journal of
the Royal Statistical Society 8, 1946). The sum ends where nothing but noise is left: with the last
pair ``rho_2k + rho_2k+1`` before one that is not positive (C. J. Geyer, Statistical Science 7,
1992, section 3.3).

It is right for parameters that act on the outputs more slowly than the noise changes, such as an
offset; for others it overstates what is lost, so that a parameter is rather left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.statistics.residuals import residual_statistics


def inflation_of(series: Sequence[F64]) -> float:
    """Return the number of samples that hold as much as one independent sample; at least 1.

    Parameters
    ----------
    series
        Residuals of each output, in order of time, NaN where a sample is missing. One whose
        neighbours are not correlated (99.9 % limits) counts as white.
    """
    count = sum(int(np.count_nonzero(np.isfinite(r))) for r in series)
    independent = sum(_independent(r) for r in series)
    return count / independent if independent > 0.0 else 1.0


def _independent(residuals: F64) -> float:
    known = int(np.count_nonzero(np.isfinite(residuals)))
    found = residual_statistics(residuals)
    if found.white or not found.autocorrelation > 0.0:
        return float(known)
    return known / correlation_time(residuals)


def correlation_time(residuals: F64) -> float:
    """Return ``1 + 2 sum rho_k`` of residuals, in samples; at least 1.

    Parameters
    ----------
    residuals
        In order of time, NaN where a sample is missing, shape (m,).
    """
    there = np.isfinite(residuals)
    if np.count_nonzero(there) < 2:
        return 1.0
    centred = np.where(there, residuals - np.mean(residuals[there]), 0.0)
    correlations = _autocovariances(centred)
    if not correlations[0] > 0.0:
        return 1.0
    correlations = correlations / correlations[0]
    even = correlations[: correlations.size // 2 * 2]
    pairs = even[0::2] + even[1::2]
    end = np.flatnonzero(pairs <= 0.0)
    pairs = pairs[: end[0]] if end.size else pairs
    return max(1.0, float(2.0 * np.sum(pairs) - 1.0))


def _autocovariances(values: F64) -> F64:
    """Return ``sum x_i x_i+k``, shape (m,)."""
    size = 1 << (2 * values.size - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(values, size)) ** 2
    found: F64 = np.fft.irfft(spectrum, size)[: values.size]
    return found
