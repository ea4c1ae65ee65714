"""Amplitude spectra: lines, their share in the mean square, and smoothing.

A signal of N equidistant samples has the lines l = 0 ... floor(N/2) at ``l / (N * step)``. With X
its discrete Fourier transform, a sine of amplitude a on a line has ``A_l = 2 |X_l| / N = a``; the
mean value is ``A_0 = |X_0| / N``, and the last line of an even N, ``A_N/2 = |X_N/2| / N``, counts
once. Then, by Parseval, ``mean square = A_0^2 + 1/2 sum A_l^2 + A_N/2^2``. (Ludwig and Gerstmayr
halve A_0 as well in their eq. 14, which is a slip: the sum is then no mean square.)
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.problem import EquidistantGrid


def frequencies(grid: EquidistantGrid) -> F64:
    """Return the frequencies of the lines, shape (floor(N/2) + 1,), Hz."""
    found: F64 = np.fft.rfftfreq(grid.times.size, grid.step).astype(np.float64)
    return found


def band_lines(grid: EquidistantGrid, band: tuple[float, float] | None) -> slice:
    """Return which lines lie in a band, both ends included.

    Parameters
    ----------
    grid
        At least two instants.
    band
        Lowest and highest frequency, Hz; ``None`` for all lines.
    """
    if band is None:
        return slice(0, grid.times.size // 2 + 1)
    found = frequencies(grid)
    slack = 1e-9 * float(found[1])
    inside = np.flatnonzero((found >= band[0] - slack) & (found <= band[1] + slack))
    return slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, 0)


def tapered(values: F64, window: Literal["none", "hann"]) -> F64:
    """Return the signal times a window whose mean square is 1, as the transform will see it.

    Parameters
    ----------
    values
        Equidistant samples, shape (N,).
    window
        ``"none"`` changes nothing; ``"hann"`` is ``1 - cos(2 pi j / N)``, scaled.
    """
    if window == "none" or values.size < 3:
        return values
    phase = 2.0 * np.pi * np.arange(values.size) / values.size
    faded: F64 = values * (1.0 - np.cos(phase)) * np.sqrt(2.0 / 3.0)
    return faded


def complex_amplitudes(values: F64) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Return the lines whose magnitudes are the amplitudes A_l, shape (floor(N/2) + 1,)."""
    count = values.size
    lines = np.fft.rfft(values) * (2.0 / count)
    lines[0] *= 0.5
    if count % 2 == 0:
        lines[-1] *= 0.5
    return lines


def line_weights(count: int) -> F64:
    """Return the factors w with ``mean square = 1/2 sum (w A)^2``, shape (floor(N/2) + 1,)."""
    weights = np.ones(count // 2 + 1)
    weights[0] = np.sqrt(2.0)
    if count % 2 == 0:
        weights[-1] = np.sqrt(2.0)
    return weights


def smooth(amplitudes: F64, lines: int) -> F64:
    """Return the mean over l-n ... l+n, cut off at the ends (Ludwig and Gerstmayr, eq. 18).

    Parameters
    ----------
    amplitudes
        Shape (L,).
    lines
        n; 0 changes nothing.
    """
    count = amplitudes.size
    reach = min(lines, count - 1)
    if reach <= 0:
        return amplitudes
    places = np.arange(count)
    used = np.minimum(places + reach, count - 1) - np.maximum(places - reach, 0) + 1
    sums = np.convolve(amplitudes, np.ones(2 * reach + 1))[reach : reach + count]
    smoothed: F64 = sums / used
    return smoothed
