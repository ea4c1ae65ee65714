r"""How long the blocks of a moving-block bootstrap should be.

Of a series with autocovariance :math:`R(k)` the length that makes the mean square error of the
estimated variance of a mean least is

.. math:: b = \left(\frac{2 G^2}{D}\right)^{1/3} N^{1/3}, \quad
    G = \sum \lambda(k/M) |k| R(k), \quad D = \tfrac43 \left(\sum \lambda(k/M) R(k)\right)^2

with the flat-top window :math:`\lambda` and :math:`M` twice the lag from which on the correlations
are negligible (Politis and White, Econometric Reviews 23, 2004, with the correction by Patton,
Politis and White, Econometric Reviews 28, 2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64

_NEGLIGIBLE = 2.0
"""Correlations below this many times ``sqrt(log10 N / N)`` are."""


def block_length(runs: Sequence[F64]) -> float:
    """Return the length of Politis and White of one signal, in samples; at least 1.

    Parameters
    ----------
    runs
        The signal in runs without gaps, shape (k,) each.
    """
    count = sum(r.size for r in runs)
    longest = max((r.size for r in runs), default=0)
    if longest < 4:
        return 1.0
    mean = sum(float(np.sum(r)) for r in runs) / count
    centred = [r - mean for r in runs]
    most = min(math.ceil(math.sqrt(count)) + max(5, round(math.log10(count))), longest - 1)
    covariance = _autocovariance(centred, most, count)
    if not covariance[0] > 0.0:
        return 1.0
    correlation = covariance / covariance[0]
    in_turn = max(5, math.ceil(math.sqrt(math.log10(count))))
    limit = _NEGLIGIBLE * math.sqrt(math.log10(count) / count)
    last = _last_lag(correlation[1:], limit, in_turn)
    window = min(2 * last, most)
    lags = np.arange(1, window + 1)
    weights = np.clip(2.0 * (1.0 - lags / window), 0.0, 1.0) if window else np.empty(0)
    tail = weights * covariance[1 : window + 1]
    spread = 2.0 * float(np.sum(lags * tail))
    long_run = float(covariance[0] + 2.0 * np.sum(tail))
    if not long_run > 0.0:
        return 1.0
    length = (2.0 * spread**2 / (4.0 / 3.0 * long_run**2) * count) ** (1.0 / 3.0)
    return float(np.clip(length, 1.0, math.ceil(min(3.0 * math.sqrt(count), count / 3.0))))


def _autocovariance(runs: Sequence[F64], most: int, count: int) -> F64:
    found = np.zeros(most + 1)
    for run in runs:
        reach = min(most, run.size - 1)
        size = 1 << (2 * run.size - 1).bit_length()
        spectrum = np.fft.rfft(run, size)
        products = np.fft.irfft(spectrum * np.conj(spectrum), size)
        found[: reach + 1] += products[: reach + 1]
    covariance: F64 = found / count
    return covariance


def _last_lag(correlation: F64, limit: float, in_turn: int) -> int:
    """Return the lag after which so many correlations in turn are negligible."""
    small = np.abs(correlation) < limit
    for lag in range(small.size - in_turn + 1):
        if bool(small[lag : lag + in_turn].all()):
            return max(lag, 1)
    large = np.flatnonzero(~small)
    return int(large[-1]) + 1 if large.size else 1
