"""Correlation and spectrum of residuals, and their correlation with the inputs.

Source: Ljung, System Identification, 2nd ed., section 16.6 (residual analysis).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64

MOST_LAGS = 50
_ROUNDING = 1e-12
"""What varies less, in relation to its size, is a constant."""

_NORMAL_95 = 1.959963984540054
_SEGMENTS, _LONGEST_SEGMENT = 8, 1024


@dataclass(frozen=True)
class Correlation:
    """Correlation, between -1 and 1, over lags in samples, shape (m,) each.

    `bound` is the 95 % limit of the magnitude of uncorrelated signals.
    """

    lags: F64
    values: F64
    bound: float


def autocorrelation(residuals: F64, most: int = MOST_LAGS) -> Correlation | None:
    """Return the autocorrelation of residuals at lags of 1, 2, ... samples.

    NaN marks missing residuals, whose pairs are left out; `most` is the largest lag, less
    with few samples. ``None`` for too few samples or constant ones.
    """
    e, present = _centred(residuals)
    lags = _lags(e.size, most)
    if lags < 1 or present.sum() < 4 or not float(e @ e) > 0.0:
        return None
    values = np.array([_at(e, e, present, present, k) for k in range(1, lags + 1)])
    bound = _NORMAL_95 / np.sqrt(present.sum())
    return Correlation(np.arange(1.0, lags + 1.0), values, float(bound))


def cross_correlation(residuals: F64, signal: F64, most: int = MOST_LAGS) -> Correlation | None:
    """Return the correlation of residuals with an input before them by a lag, from -m to m.

    At positive lags, the model lacks a part of the effect of earlier inputs; at negative
    ones, the input depends on the output, as in a closed loop. NaN marks missing residuals;
    `most` is the largest lag, less with few samples. ``None`` for too few samples or a
    constant signal. The bound accounts for the autocorrelation of both.
    """
    e, present = _centred(residuals)
    u, known = _centred(signal)
    lags = _lags(e.size, most)
    if lags < 1 or present.sum() < 4 or not float(e @ e) > 0.0 or not float(u @ u) > 0.0:
        return None
    values = [_at(u, e, known, present, k) for k in range(lags + 1)]
    before = [_at(e, u, present, known, k) for k in range(lags, 0, -1)]
    own = [_at(e, e, present, present, k) * _at(u, u, known, known, k) for k in range(1, lags + 1)]
    # Of two independent signals, with the triangular weights that keep the sum positive.
    weights = 1.0 - np.arange(1, lags + 1) / (lags + 1.0)
    spread = max(1.0 + 2.0 * float(np.dot(weights, own)), 1.0 / present.sum())
    bound = _NORMAL_95 * np.sqrt(spread / present.sum())
    return Correlation(np.arange(-lags, lags + 1.0), np.array([*before, *values]), float(bound))


def spectrum(residuals: F64, step: float) -> tuple[F64, F64] | None:
    """Return frequencies and one-sided power spectral density (Welch, Hann, half overlap).

    Source: Welch, IEEE Trans. Audio Electroacoust. 15, 1967. Missing residuals count as
    zero; `step` is the sampling interval, s. Frequencies are in Hz without zero, densities
    in the square of the unit over Hz; ``None`` for few samples. White residuals of variance
    1 have the density ``2 * step``.
    """
    e, _ = _centred(residuals)
    length = min(e.size // (_SEGMENTS // 2), _LONGEST_SEGMENT)
    if length < 16:
        return None
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(length) / length)
    starts = range(0, e.size - length + 1, length // 2)
    total = np.zeros(length // 2 + 1)
    for start in starts:
        total += np.abs(np.fft.rfft(window * e[start : start + length])) ** 2
    density = 2.0 * step * total / (len(starts) * float(window @ window))
    if length % 2 == 0:
        density[-1] *= 0.5  # has no twin at a negative frequency
    frequencies = np.arange(1.0, density.size) / (length * step)
    return frequencies, np.asarray(density[1:], dtype=np.float64)


def _centred(values: F64) -> tuple[F64, F64]:
    """Return values minus their mean, zero if missing, and 1 for values that exist, else 0."""
    finite = np.isfinite(values)
    if not bool(finite.any()):
        return np.zeros(values.size), np.zeros(values.size)
    known = values[finite]
    if float(np.ptp(known)) <= _ROUNDING * float(np.max(np.abs(known))):
        return np.zeros(values.size), finite.astype(np.float64)
    return np.where(finite, values - np.mean(known), 0.0), finite.astype(np.float64)


def _at(first: F64, second: F64, has_first: F64, has_second: F64, lag: int) -> float:
    """Return the correlation of `first` with `second` `lag` samples later."""
    n = first.size - lag
    pairs = float(has_first[:n] @ has_second[lag:])
    scale = np.sqrt((first @ first) / has_first.sum() * (second @ second) / has_second.sum())
    # Divided by the number of all samples where none is missing, as usual: far lags count less.
    share = pairs / n
    return float(first[:n] @ second[lag:] / (scale * first.size * share)) if pairs else 0.0


def _lags(count: int, most: int) -> int:
    return min(most, count // 4)
