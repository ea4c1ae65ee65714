"""Costs in the frequency domain (Ludwig and Gerstmayr, eqs. 11-21).

Each is a mean square per signal, summed over experiments and outputs, like their cost
in the time domain (eq. 9). Signals that are not equidistant or lack samples are
interpolated first, measured and predicted ones at the same instants, so that a correct
model has zero residuals.

A signal of N equidistant samples has the lines l = 0 ... floor(N/2) at
``l / (N * step)``. With X its discrete Fourier transform, a sine of amplitude a on a
line has ``A_l = 2 |X_l| / N = a``; the mean value is ``A_0 = |X_0| / N``, and the last
line of an even N, ``A_N/2 = |X_N/2| / N``, counts once. Then, by Parseval,
``mean square = A_0^2 + 1/2 sum A_l^2 + A_N/2^2``. (Eq. 14 of the paper also halves A_0,
by mistake: the sum is then not the mean square.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.problem import EquidistantGrid, MeasuredSignal, SignalCost


@dataclass(frozen=True)
class _Spectral(SignalCost):
    band: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if self.band is not None and not 0.0 <= self.band[0] <= self.band[1]:
            raise ValueError(
                f"'band' is [{self.band[0]:g}, {self.band[1]:g}] Hz; write [lowest, highest], "
                "neither below 0"
            )

    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        """Reject signals that are too short, and a band without lines."""
        for s in signals:
            if s.rows.size < 2:
                raise ValueError(
                    f"'{s.output}' of '{s.experiment}' has {s.rows.size} samples, which have no "
                    "spectrum"
                )
            lines = band_lines(s.grid, self.band)
            if lines.start == lines.stop and self.band is not None:
                freqs = frequencies(s.grid)
                raise ValueError(
                    f"no line of the spectrum of '{s.output}' of '{s.experiment}' lies in the band "
                    f"[{self.band[0]:g}, {self.band[1]:g}] Hz: its lines are {freqs[1]:g} Hz apart "
                    f"and end at {freqs[-1]:g} Hz"
                )


@dataclass(frozen=True)
class FrequencyDomain(_Spectral):
    """Amplitude spectrum of the difference.

    Without a band this is the mean square in the time domain (Parseval). The residuals are
    the real and imaginary parts of the lines: unlike amplitudes, they are smooth functions
    of the parameters.

    Parameters
    ----------
    band
        Lowest and highest frequency, Hz; ``None`` takes all.
    """

    name: ClassVar[str] = "frequency-domain"
    summary: ClassVar[str] = "amplitude spectrum of the difference, within a band"

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the real and imaginary parts of the lines in the band."""
        return self._lines(signal, signal.differences(predicted))

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives, shape (m, k); exact, since this cost is linear."""
        return _by_column(partial(self._lines, signal), -signal.scaled(changes))

    def _lines(self, signal: MeasuredSignal, differences: F64) -> F64:
        """Return the real and imaginary parts of the lines of one signal."""
        values = signal.grid.values(differences)
        inside = band_lines(signal.grid, self.band)
        weighted = (line_weights(values.size) * complex_amplitudes(values))[inside]
        # Mean and Nyquist line are real.
        last = (values.size - 1) // 2
        imaginary = weighted.imag[max(inside.start, 1) - inside.start : last + 1 - inside.start]
        return np.concatenate([weighted.real, imaginary])


@dataclass(frozen=True)
class _Smoothed(_Spectral):
    smoothing: int = 0
    window: Literal["none", "hann"] = "none"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smoothing < 0:
            raise ValueError(f"'smoothing' is {self.smoothing}; it is a number of lines, 0 or more")

    def _complex_lines(
        self, signal: MeasuredSignal, values: F64
    ) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
        windowed = tapered(signal.grid.values(values), self.window)
        return complex_amplitudes(windowed)[band_lines(signal.grid, self.band)]

    def _amplitudes(self, signal: MeasuredSignal, values: F64) -> F64:
        magnitudes: F64 = np.abs(self._complex_lines(signal, values))
        return magnitudes

    def _smoothed(self, signal: MeasuredSignal, amplitudes: F64) -> F64:
        weights = line_weights(signal.grid.times.size)[band_lines(signal.grid, self.band)]
        weighted: F64 = weights * smooth(amplitudes, self.smoothing)
        return weighted

    def _slopes(self, signal: MeasuredSignal, values: F64, changes: F64) -> F64:
        """Return the derivatives of the smoothed, weighted amplitudes of a signal, shape (m, k).

        `values` are at the existing samples, `changes` has the directions as columns. The
        derivative of an amplitude of zero is taken as 0, since it rises equally in both
        directions.
        """
        lines = self._complex_lines(signal, values)
        sizes = np.abs(lines)
        towards = np.conj(lines) / np.where(sizes > 0.0, sizes, 1.0)

        def along(direction: F64) -> F64:
            return self._smoothed(signal, (towards * self._complex_lines(signal, direction)).real)

        return _by_column(along, changes)


@dataclass(frozen=True)
class SmoothedSpectrum(_Smoothed):
    """Amplitude spectrum of the difference, smoothed by a moving average.

    Smoothing fills the valleys between the minima of an oscillating signal's cost, so that
    a search is trapped less often. Lines outside the band do not contribute to the average.

    Parameters
    ----------
    band
        Lowest and highest frequency, Hz; ``None`` takes all.
    smoothing
        n: each line becomes the mean of the lines l-n ... l+n (eq. 18); 0 does not smooth.
    window
        ``"hann"`` tapers the signals before the transform, so that an oscillation between
        two lines does not leak into all others; otherwise a smoothed cost has one minimum
        per line. Not in the paper.
    """

    name: ClassVar[str] = "smoothed-spectrum"
    summary: ClassVar[str] = "smoothed amplitude spectrum of the difference: fewer minima"

    smoothing: int = 4

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the smoothed amplitudes in the band."""
        return self._smoothed(signal, self._amplitudes(signal, signal.differences(predicted)))

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives of the smoothed amplitudes, shape (m, k)."""
        return self._slopes(signal, signal.differences(predicted), -signal.scaled(changes))


@dataclass(frozen=True)
class SeparateSpectra(_Smoothed):
    """Difference of the smoothed amplitude spectra of measurement and simulation.

    Phases do not count. A constant delay has no effect either, provided that the record is
    periodic or begins and ends at rest; a delay cannot be identified with this cost.

    Parameters
    ----------
    band
        Lowest and highest frequency, Hz; ``None`` takes all.
    smoothing
        n: each line becomes the mean of the lines l-n ... l+n (eq. 18); 0 does not smooth.
    window
        ``"hann"`` tapers the signals before the transform, so that an oscillation between
        two lines does not leak into all others; otherwise a smoothed cost has one minimum
        per line. Not in the paper.
    """

    name: ClassVar[str] = "separate-spectra"
    summary: ClassVar[str] = "difference of the amplitude spectra: forgives a constant delay"

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the differences of the smoothed amplitudes in the band."""
        measured, simulated = (
            self._amplitudes(signal, signal.scaled(values))
            for values in (signal.measured, predicted)
        )
        # The average is linear: that of the difference is the difference of the averages.
        return self._smoothed(signal, measured - simulated)

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives, shape (m, k)."""
        return -self._slopes(signal, signal.scaled(predicted), signal.scaled(changes))


def _by_column(function: Callable[[F64], F64], columns: F64) -> F64:
    if columns.shape[1] == 0:
        return np.empty((function(np.zeros(columns.shape[0])).size, 0))
    return np.column_stack([function(column) for column in columns.T])


def frequencies(grid: EquidistantGrid) -> F64:
    """Return the frequencies of the lines, shape (floor(N/2) + 1,), Hz."""
    lines: F64 = np.fft.rfftfreq(grid.times.size, grid.step).astype(np.float64)
    return lines


def band_lines(grid: EquidistantGrid, band: tuple[float, float] | None) -> slice:
    """Return the slice of lines in a band, Hz, both ends included; ``None`` takes all lines."""
    if band is None:
        return slice(0, grid.times.size // 2 + 1)
    lines = frequencies(grid)
    slack = 1e-9 * float(lines[1])
    inside = np.flatnonzero((lines >= band[0] - slack) & (lines <= band[1] + slack))
    return slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, 0)


def tapered(values: F64, window: Literal["none", "hann"]) -> F64:
    """Return equidistant samples times a window whose mean square is 1.

    ``"none"`` leaves them unchanged; ``"hann"`` is ``1 - cos(2 pi j / N)``, scaled.
    """
    if window == "none" or values.size < 3:
        return values
    phase = 2.0 * np.pi * np.arange(values.size) / values.size
    faded: F64 = values * (1.0 - np.cos(phase)) * np.sqrt(2.0 / 3.0)
    return faded


def complex_amplitudes(values: F64) -> np.ndarray[tuple[int], np.dtype[np.complex128]]:
    """Return the complex lines with magnitudes A_l, shape (floor(N/2) + 1,)."""
    count = values.size
    lines = np.fft.rfft(values) * (2.0 / count)
    lines[0] *= 0.5
    if count % 2 == 0:
        lines[-1] *= 0.5
    return lines


def line_weights(count: int) -> F64:
    """Return the factors w of ``mean square = 1/2 sum (w A)^2``, shape (floor(N/2) + 1,)."""
    weights = np.ones(count // 2 + 1)
    weights[0] = np.sqrt(2.0)
    if count % 2 == 0:
        weights[-1] = np.sqrt(2.0)
    return weights


def smooth(amplitudes: F64, lines: int) -> F64:
    """Return the mean over l-n ... l+n with n `lines` (Ludwig and Gerstmayr, eq. 18)."""
    count = amplitudes.size
    reach = min(lines, count - 1)
    if reach <= 0:
        return amplitudes
    places = np.arange(count)
    used = np.minimum(places + reach, count - 1) - np.maximum(places - reach, 0) + 1
    sums = np.convolve(amplitudes, np.ones(2 * reach + 1))[reach : reach + count]
    smoothed: F64 = sums / used
    return smoothed
