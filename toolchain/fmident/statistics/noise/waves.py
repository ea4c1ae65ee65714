r"""Parts of the noise that are waves of a random phase: tones, and sensor rounding.

A tone, such as mains hum, adds ``A cos(2 pi f t + phase)`` to an output. With a random
phase that is the same in a whole record, its covariance is of rank two,

.. math:: \tfrac12 A^2 (c c^T + s s^T)

with the cosine c and the sine s of its frequency (Priestley, Spectral Analysis and Time
Series, 1981, section 4.9, on processes with a mixed spectrum). Rounding to steps of d
leaves a sawtooth of the signal y, the sum of ``sin(2 pi k y / d)``; the zero of the
sensor determines its phase (Widrow and Kollár, Quantization Noise, 2008, chapters 4 and
5; noise before the rounding makes waves of high k small). Hum in several outputs of an
experiment is one wave: the residuals show its amplitude and phase in each relative to
the others, and only the common phase is random. c and s are then the wave in all of
these outputs, and the same a quarter of a period later. Both kinds are regressors in
addition to the parameters: the part that no parameter can change gives the amplitude,
and the rest is noise with a smooth spectrum.

A line in the spectrum is an ordinate of the periodogram that is far above its
neighbours. Over their mean it is exponentially distributed in noise with a smooth
spectrum (Brockwell and Davis, Time Series: Theory and Methods, 2nd ed., section 10.3),
and their median gives that mean. Thomson's F test (Proc. IEEE 70, 1982) tests the same
with several tapers, each of which widens a line, which helps if a spectrum falls by
more decades than that of residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import ndimage, optimize

from fmident.arrays import F64
from fmident.statistics.noise.series import Indices, Series

FEWEST = 100
"""Samples below which nothing is looked for."""

_RARE = 1e-4
"""Probability of a tone by chance."""

_UNSURE = 3.0
"""Factor on the threshold, since the spectrum around a tone is known from few frequencies only."""

_AROUND = 31
"""Frequencies that tell the spectrum around one."""

_LOWEST = 8
"""Periods in the record below which a line cannot be told from slow noise; as far from half of the
sampling frequency, noise that alternates."""

_MOST = 6
"""Tones of a series that are looked for."""

_FULL = 0.5
"""Part of the samples that are there, at least."""

_TOLD_APART = 0.01
"""Part of a wave's power that no parameter can change, at least: less does not tell its size."""

_HARMONICS = 6
"""Waves of rounding that are looked for: one of high order needs hardly any noise."""

_CLEAR = 10.0
"""Mean square of the two coefficients of a wave of rounding, over that of noise, above which it
counts."""

Kind = Literal["tone", "steps"]


@dataclass(frozen=True, eq=False)
class Wave:
    """A part of the noise of one series that is known except for its phase.

    It is a ``"tone"`` of a `frequency`, 1/s, or the ``"steps"`` of a sensor of size `step`,
    in the unit of the output, with `frequency` as the number of periods in each. `rows` are
    the indices of the series among all residuals, and `shape`, (k, 2), has cosine and sine
    at its samples. `ratio` is the power over that of the noise at the same place of the
    spectrum; `amplitude` is in units of the residuals, `phase` in rad, `span` in s.
    `driven` says that the effect of the parameters on the output has a line there, too, so
    that a tone may be a model error. `record` is the number of the experiment, ``None`` if
    nothing else belongs to it.
    """

    kind: Kind
    rows: Indices
    shape: F64
    ratio: float
    frequency: float
    step: float = 0.0
    amplitude: float = float("nan")
    driven: bool = False
    phase: float = 0.0
    record: int | None = None
    span: float = 0.0

    @property
    def doubt(self) -> float:
        """Relative variance of the square of the amplitude."""
        return 2.0 / self.ratio

    @property
    def seen(self) -> F64:
        """The wave in the residuals, and a quarter of a period later, shape (k, 2)."""
        cosine, sine = np.cos(self.phase), np.sin(self.phase)
        return self.shape @ (self.amplitude * np.array([[cosine, sine], [-sine, cosine]]))

    def goes_with(self, other: Wave) -> bool:
        """Return whether another series of the experiment has the same tone.

        Frequencies agree if they are less than half a bin of the shorter record apart.
        """
        return (
            self.kind == other.kind == "tone"
            and self.record is not None
            and self.record == other.record
            and not np.array_equal(self.rows, other.rows)
            and 2.0 * abs(self.frequency - other.frequency) * min(self.span, other.span) < 1.0
        )

    def columns(self, size: int) -> F64:
        """Return cosine and sine as columns among all residuals, shape (size, 2)."""
        scattered = np.zeros((size, 2))
        scattered[self.rows] = self.shape
        return scattered


@dataclass(frozen=True, eq=False)
class Steps:
    """A sensor whose values come in steps, with its signal according to the model."""

    rows: Indices
    simulated: F64
    step: float


def tones_in(series: Series, values: F64, basis: F64 | None = None) -> list[Wave]:
    """Return the tones of a series, the clearest first, without their amplitudes.

    `basis` are the effects of the parameters on the series, shape (k, r).
    """
    size = values.size
    if size < FEWEST or not series.even or not np.isfinite(values).all():
        return []
    places = series.positions.astype(np.int64)
    span = int(places[-1]) + 1
    if size < _FULL * span:
        return []
    tones: list[Wave] = []
    columns = np.ones((size, 1))
    left = values - values.mean()
    for _ in range(_MOST):
        line = _line_in(places, span, left)
        if line is None:
            break
        place, ratio = line
        cycles = _refined(places, left, place, span)
        shape = _waves(2.0 * np.pi * cycles * series.positions)
        driven = basis is not None and _has_line(places, span, basis, place)
        frequency = cycles / series.step
        tones.append(
            Wave(
                "tone",
                series.rows,
                shape,
                ratio,
                frequency,
                driven=driven,
                record=series.record,
                span=span * series.step,
            )
        )
        columns = np.column_stack([columns, shape])
        left = values - columns @ np.linalg.lstsq(columns, values)[0]
    return tones


def _line_in(places: Indices, span: int, values: F64) -> tuple[int, float] | None:
    """Return the index of the clearest line in the periodogram, and its relative power."""
    power = _periodogram(places, span, values)
    if power.size < 2 * _LOWEST + _AROUND or not power.max() > 0.0:
        return None
    inside = slice(_LOWEST, power.size - _LOWEST)
    ratios = power[inside] / _level(power)[inside]
    best = int(np.argmax(ratios))
    if ratios[best] <= _threshold(power.size):
        return None
    return best + _LOWEST, float(ratios[best])


def _has_line(places: Indices, span: int, columns: F64, place: int) -> bool:
    for column in columns.T:
        power = _periodogram(places, span, column)
        near = slice(place - 1, place + 2)
        if float(np.max(power[near] / _level(power)[near])) > _threshold(power.size):
            return True
    return False


def _threshold(size: int) -> float:
    return _UNSURE * float(np.log(size / _RARE))


def _periodogram(places: Indices, span: int, values: F64) -> F64:
    # Zeros in place of missing samples would repeat slow noise as lines where they are regular.
    grid = np.interp(np.arange(span), places, values)
    return np.abs(np.fft.rfft(grid)) ** 2


def _level(power: F64) -> F64:
    """Return the smooth part of a periodogram."""
    level = ndimage.median_filter(power, _AROUND, mode="reflect") / np.log(2.0)
    # A line is not judged against what rounding leaves of a silent band.
    floored: F64 = np.maximum(level, max(1e-12 * float(power.max()), 1e-300))
    return floored


def _refined(places: Indices, values: F64, place: int, span: int) -> float:
    """Return the frequency in cycles per sampling interval at which a wave fits best."""

    def left(cycles: float) -> float:
        return -float(np.abs(np.exp(-2j * np.pi * cycles * places) @ values))

    bounds = ((place - 1.0) / span, (place + 1.0) / span)
    optimum = optimize.minimize_scalar(
        left, bounds=bounds, method="bounded", options={"xatol": 1e-4 / span}
    )
    return float(optimum.x)


def steps_in(series: Series, values: F64, basis: F64, simulated: F64, step: float) -> list[Wave]:
    """Return the waves of a sensor's rounding of a signal, without their amplitudes.

    `basis` is orthonormal and spans the possible changes by parameters.
    """
    waves: list[Wave] = []
    if values.size < FEWEST or not step > 0.0:
        return waves
    columns, left = basis, values
    for harmonic in range(1, _HARMONICS + 1):
        shape = _waves(2.0 * np.pi * harmonic * simulated / step)
        own = shape - columns @ (columns.T @ shape)
        if float(np.sum(own**2)) < _TOLD_APART * values.size:
            break
        own = np.linalg.qr(own)[0]
        parts = own.T @ left
        after = left - own @ parts
        freedom = values.size - columns.shape[1] - 2
        noise = float(after @ after) / freedom
        ratio = float(parts @ parts) / 2.0 / noise if noise > 0.0 else np.inf
        if ratio < _CLEAR:
            break
        waves.append(Wave("steps", series.rows, shape, ratio, float(harmonic), step))
        columns, left = np.column_stack([columns, own]), after
    return waves


def _waves(phase: F64) -> F64:
    return np.column_stack([np.cos(phase), np.sin(phase)])


def with_amplitudes(waves: Sequence[Wave], residuals: F64, basis: F64) -> tuple[Wave, ...]:
    """Return the waves with amplitudes from the residuals, except what parameters explain."""
    separate: list[Wave] = []
    columns = np.empty((residuals.size, 0))
    for wave in waves:
        own = wave.columns(residuals.size)
        left = own - basis @ (basis.T @ own)
        if float(np.sum(left**2)) >= _TOLD_APART * float(np.sum(own**2)):
            separate.append(wave)
            columns = np.column_stack([columns, left])
    if not separate:
        return ()
    sizes = np.linalg.lstsq(columns, residuals, rcond=1e-8)[0].reshape(-1, 2)
    amplitudes = np.linalg.norm(sizes, axis=1)
    phases = np.arctan2(-sizes[:, 1], sizes[:, 0])
    return tuple(
        replace(w, amplitude=float(a), phase=float(p))
        for w, a, p in zip(separate, amplitudes, phases, strict=True)
        if a > 0.0
    )


def in_common(waves: Sequence[Wave]) -> tuple[tuple[Wave, ...], ...]:
    """Return the waves in groups of one phase, in common to outputs of an experiment."""
    groups: list[list[Wave]] = []
    for wave in waves:
        near = [g for g in groups if all(wave.goes_with(w) for w in g)]
        if near:
            min(near, key=lambda g: abs(g[0].frequency - wave.frequency)).append(wave)
        else:
            groups.append([wave])
    return tuple(tuple(g) for g in groups)


def factor_of(group: Sequence[Wave], size: int) -> F64:
    """Return the factor of the covariance of waves of one phase, shape (size, 2)."""
    factor = np.zeros((size, 2))
    for wave in group:
        own = wave.shape * wave.amplitude if len(group) == 1 else wave.seen
        factor[wave.rows] = own / np.sqrt(2.0)
    return factor
