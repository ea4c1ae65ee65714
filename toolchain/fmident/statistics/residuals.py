r"""Residuals at the solution: their size, correlation and spectrum, and robust losses.

**Robust losses.** An M-estimate solves :math:`\sum \psi(r_i) \, \partial r_i / \partial p = 0` with
the score :math:`\psi`, the derivative of the loss. Its covariance is

.. math:: K^2 \, \frac{\frac{1}{m - n} \sum \psi(r_i)^2}{\left(\frac{1}{m} \sum
    \psi'(r_i)\right)^2} \, (J^T J)^{-1}, \qquad
    K = 1 + \frac{n}{m} \, \frac{\operatorname{var} \psi'}{(\operatorname{mean} \psi')^2}

(Huber and Ronchetti, Robust Statistics, 2nd edition, 2009, section 7.6; Huber, Annals of
Statistics 1, 1973). Outliers count with their bounded score, so that they do not widen the
intervals as they would widen those of least squares.

**Correlation and spectrum** of residuals, and their correlation with the inputs:
Ljung, System Identification, 2nd ed., section 16.6 (residual analysis).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail, normal_quantile

MOST_LAGS = 50
_ROUNDING = 1e-12
"""Variation, in relation to the size, below which a signal is constant."""

UNLIKELY = 1e-6
"""A chi-square less probable than this says that the model does not explain the data."""

NOTICEABLE = 1.05
"""Chi-square per degree of freedom up to which a difference is of no consequence."""

_NORMAL_95 = 1.959963984540054
_SEGMENTS, _LONGEST_SEGMENT = 8, 1024


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

    @property
    def exceeds_noise(self) -> bool:
        """Whether the residuals are larger than noise alone can explain."""
        return self.p_value < UNLIKELY and self.reduced_chi2 > NOTICEABLE


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
        return self.values / self.mean_slope

    def weights(self, residuals: F64) -> F64:
        """Return the weights for which the sum of squares has the slope of the loss, shape (m,).

        With fixed weights it is a parabola that lies above the loss and touches it here (Huber
        and Ronchetti, section 7.8). The residuals must be those of the scores.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            squared = np.where(residuals != 0.0, self.values / residuals, self.slopes)
        return np.sqrt(np.maximum(squared, 0.0))

    def variance(self, parameters: int) -> float:
        """Return the factor on ``(J^T J)^-1`` for a number of determined parameters.

        NaN without degrees of freedom, or if the loss is not convex on average.
        """
        count = self.values.size
        freedom = count - parameters
        mean = self.mean_slope
        if freedom <= 0 or not mean > 0.0:
            return float("nan")
        correction = 1.0 + parameters / count * float(np.var(self.slopes)) / mean**2
        return correction**2 * float(self.values @ self.values) / freedom / mean**2

    @property
    def mean_slope(self) -> float:
        """Curvature of the loss in relation to that of squares, on average."""
        return float(np.mean(self.slopes))


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
    segments = np.lib.stride_tricks.sliding_window_view(e, length)[:: length // 2]
    density: F64 = np.mean(np.abs(np.fft.rfft(segments * window)) ** 2, axis=0)
    density *= 2.0 * step / float(window @ window)
    if length % 2 == 0:
        density[-1] /= 2.0  # the Nyquist frequency has no other side
    frequencies = np.fft.rfftfreq(length, step)
    return np.asarray(frequencies[1:], dtype=np.float64), density[1:]


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
