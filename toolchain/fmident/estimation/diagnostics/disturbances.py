"""Residuals that repeat: the tone of a disturbance, and the steps of a coarse sensor.

Standard errors count noise with a smooth spectrum. A tone, such as hum of the mains, is a line in
it; what a coarse sensor rounds away follows the signal. Both are found here, and said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.problem.residuals import compared_sigma, compared_values, residual_layout
from fmident.statistics.noise import sampling_interval

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_FEWEST = 100
"""Samples below which nothing is looked for."""

_RARE = 1e-4
"""Probability of a tone by chance."""

_UNSURE = 3.0
"""Factor on the threshold, since the spectrum around a tone is known from few frequencies only."""

_AROUND, _BESIDE = 15, 2
"""Frequencies on each side that tell the spectrum, and those that belong to the tone."""

_LOWEST = 8
"""Periods in the record below which a line cannot be told from slow noise."""

_SHARE = 0.1
"""Part of the residuals' power from which on a tone matters."""

_EVEN = 1e-3
_COARSE = 1.5
"""Steps of a sensor, in standard deviations of the residuals, from which on they matter."""

_DIFFERENT = 0.7
"""Part of the samples that may be different from each other where there are steps."""


@dataclass(frozen=True)
class Tone:
    """A line in the spectrum.

    Parameters
    ----------
    frequency
        Hz.
    share
        Part of the power.
    """

    frequency: float
    share: float


def disturbance_notes(problem: Problem, residuals: F64) -> list[str]:
    """Return notes on tones and steps in the residuals.

    Parameters
    ----------
    problem
        With residuals sample by sample.
    residuals
        Whitened, shape (m,).
    """
    layout = residual_layout(problem)
    if layout.size != residuals.size:
        return []
    tones: dict[str, Tone] = {}
    steps: dict[str, tuple[float, float, str]] = {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows = layout.rows_of(i, j)
            tone = tone_in(residuals[rows], layout.time[rows])
            known = tones.get(measurement.name)
            if tone is not None and (known is None or tone.share > known.share):
                tones[measurement.name] = tone
            sigma = compared_sigma(measurement)
            size = float(np.std(residuals[rows] * (1.0 if sigma is None else sigma)))
            step = step_of(compared_values(measurement))
            if step > _COARSE * size > 0.0:
                steps[measurement.name] = (step, step / size, measurement.unit or "")
    notes = [
        f"The residuals of '{name}' hold a tone of {tone.frequency:.3g} Hz, {tone.share:.0%} "
        "of their power: standard errors take it for noise with a smooth spectrum, and may be "
        "wrong. Find where it comes from, or filter the measurement."
        for name, tone in tones.items()
    ]
    notes += [
        f"The samples of '{name}' come in steps of {f'{step:.3g} {unit}'.rstrip()}, "
        f"{ratio:.2g} times the standard deviation of the residuals: what is rounded away follows "
        "the signal, which standard errors do not count. They may be too small; a finer sensor or "
        "a faster motion helps."
        for name, (step, ratio, unit) in steps.items()
    ]
    return notes


def tone_in(values: F64, times: F64) -> Tone | None:
    """Return the strongest line in the spectrum of evenly spaced samples, if there is one.

    An ordinate of the periodogram over the spectrum is exponentially distributed in noise with a
    smooth spectrum (Brockwell and Davis, Time Series: Theory and Methods, 2nd ed., section 10.3),
    which the median of those around it tells.

    Parameters
    ----------
    values, times
        Shape (k,); s.
    """
    if values.size < _FEWEST or not np.isfinite(values).all():
        return None
    step = sampling_interval(times)
    if not step > 0.0 or np.max(np.abs(np.diff(times) - step)) > _EVEN * step:
        return None
    power = np.abs(np.fft.rfft(values - values.mean())) ** 2
    total = float(power[1:].sum())
    if total == 0.0:
        return None
    best = int(np.argmax(power[_LOWEST:])) + _LOWEST
    reach = min(_AROUND, best // 2)
    around = np.r_[
        power[best - reach : best - _BESIDE], power[best + _BESIDE + 1 : best + reach + 1]
    ]
    share = float(power[max(best - _BESIDE, 1) : best + _BESIDE + 1].sum()) / total
    if around.size < _LOWEST or share < _SHARE:
        return None
    level = float(np.median(around)) / np.log(2.0)
    if power[best] <= _UNSURE * np.log(power.size / _RARE) * level:
        return None
    return Tone(best / (values.size * step), share)


def step_of(values: F64) -> float:
    """Return the step whose multiples all samples are apart; 0 where there is none."""
    levels = np.unique(values)
    if values.size < _FEWEST or not 2 < levels.size <= _DIFFERENT * values.size:
        return 0.0
    apart = np.diff(levels)
    step = float(np.median(apart[apart < 1.5 * apart.min()]))
    whole = apart / step
    return step if float(np.max(np.abs(whole - np.round(whole)))) < 0.05 else 0.0
