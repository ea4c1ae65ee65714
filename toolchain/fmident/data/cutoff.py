"""The cut-off of a low-pass from the signal itself.

What a low-pass takes away is the signal above its cut-off and the noise there. The cut-off rises
until the variance of what is taken away, per degree of freedom, falls no more: then only white
noise is left above it. For white noise of variance s^2 and the gain g(f) of both passes, what is
taken away has the variance ``s^2 * mean((1 - g)^2)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.data.filters import butterworth
from fmident.errors import DataError

_RATIO = 1.1
_PERIODS = 4.0
"""Periods of the lowest cut-off in the record."""

_DEVIATIONS = 3.0
"""Standard deviations by which a variance must lie above the least to be still falling."""

_LINES = 2048


@dataclass(frozen=True)
class ChosenCutoff:
    """A cut-off and why.

    Parameters
    ----------
    cutoff
        Hz.
    noise
        Standard deviation of the white noise that is left above it.
    settled
        Whether the variance falls no more; else `cutoff` is the highest that was allowed.
    """

    cutoff: float
    noise: float
    settled: bool


def choose_cutoff(values: F64, step: float, order: int, highest: float) -> ChosenCutoff:
    """Return the lowest cut-off above which only white noise is left.

    Parameters
    ----------
    values
        Shape (n,), equidistant, no gaps.
    step
        Time between samples, s.
    order
        Of one pass of the Butterworth low-pass.
    highest
        Highest cut-off, Hz.

    Raises
    ------
    fmident.errors.DataError
        The record is too short for any cut-off.
    """
    lowest = max(_PERIODS / (values.size * step), 1e-9)
    if lowest * _RATIO > highest:
        raise DataError(
            f"{values.size} samples every {step:g} s are too few to choose a cut-off",
            hint="give 'cutoff' in Hz",
        )
    count = int(np.floor(np.log(highest / lowest) / np.log(_RATIO))) + 1
    cutoffs = lowest * _RATIO ** np.arange(count)
    variances, freedoms = np.array([_left(values, f, step, order) for f in cutoffs]).T
    limit = variances * (1.0 - _DEVIATIONS * np.sqrt(2.0 / freedoms))
    # The first that none of the higher ones is visibly below.
    least = np.minimum.accumulate(variances[::-1])[::-1]
    falls_no_more = limit <= least
    settled = bool(falls_no_more[: -max(count // 10, 1)].any())
    chosen = int(np.argmax(falls_no_more)) if settled else count - 1
    return ChosenCutoff(float(cutoffs[chosen]), float(np.sqrt(variances[chosen])), settled)


def _left(values: F64, cutoff: float, step: float, order: int) -> tuple[float, float]:
    """Return variance per degree of freedom of what is taken away, and these degrees."""
    from scipy import signal  # here, since it is slow to import and seldom needed

    padding = min(max(3 * order, int(np.ceil(1.0 / (cutoff * step)))), values.size - 1)
    taken = values - butterworth(values, cutoff, step, order, padding)
    edge = min(int(np.ceil(1.0 / (cutoff * step))), values.size // 4)
    inner = taken[edge : values.size - edge]
    sos = signal.butter(order, cutoff, fs=1.0 / step, output="sos")
    _, response = signal.freqz_sos(sos, _LINES, fs=1.0 / step)
    freedom = inner.size * float(np.mean((1.0 - np.abs(response) ** 2) ** 2))
    return float(inner @ inner) / freedom, freedom
