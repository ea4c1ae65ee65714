"""Periodic residuals: tones of a disturbance, and the steps of a coarse sensor.

Standard errors include both as waves of random phase, if the residuals show them (see
:mod:`fmident.statistics.noise.waves`). Here they are reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.findings import Finding, finding
from fmident.problem.cost import MeasuredSignal
from fmident.problem.residuals import measured_signals, residual_layout

if TYPE_CHECKING:
    from fmident.estimation.compared import RepeatedResiduals
    from fmident.problem.model import Problem
    from fmident.statistics.noise import NoiseFinding, Wave

_FEWEST = 100
"""Samples below which nothing is looked for."""

_COARSE = 1.5
"""Steps of a sensor, in standard deviations of the residuals, from which on they matter."""

_ROUNDING = 1e-9

_SAME = 0.9999
"""Correlation of the residuals of two experiments from which on they are one record."""

_SHOWN = 5
"""Experiments that are named."""


def disturbance_notes(
    problem: Problem, residuals: F64, noise: NoiseFinding | None = None
) -> list[Finding]:
    """Return notes on tones and steps in the whitened residuals.

    `noise` is the noise that the standard errors include.
    """
    layout = residual_layout(problem)
    if layout.size != residuals.size:
        return []
    waves = [] if noise is None else placed_waves(problem, noise)
    tones: dict[str, dict[str, str]] = {}
    driven = {output for wave, output, *_ in waves if wave.driven}
    for wave, output, unit, scale in waves:
        if wave.kind == "tone":
            size = f"{wave.amplitude / scale:.2g} {unit}".rstrip()
            tones.setdefault(output, {})[f"{wave.frequency:.3g} Hz"] = size
    counted = noise is not None and noise.sums is None
    notes = [
        _on_tones(name, heard, counted=counted, driven=name in driven)
        for name, heard in tones.items()
    ]
    signals, steps = iter(measured_signals(problem)), {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows, signal = layout.rows_of(i, j), next(signals)
            rounded = counted and any(
                w.kind == "steps" and np.isin(w.rows[0], rows) for w, *_ in waves
            )
            said = _steps(signal, residuals[rows], measurement.unit or "", counted=rounded)
            if said:
                steps[measurement.name] = said
    notes += [f"The samples of '{name}' come in steps of {s}" for name, s in steps.items()]
    return [finding("residuals-waves", text) for text in notes]


def repetition_notes(repeated: Sequence[RepeatedResiduals]) -> list[Finding]:
    """Return notes on residuals that recur in other experiments."""
    notes = []
    for one in repeated:
        names = [f"'{name}'" for name in one.experiments]
        listed = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
        text = f"The residuals of '{one.output}' repeat in the experiments {listed}"
        if one.correlation > _SAME:
            text += (
                ", sample by sample: is this the same record twice? The intervals count it as"
                " independent experiments and are too narrow. Give each record once."
            )
        else:
            text += (
                f" (correlation {one.correlation:.2f}). That is not noise: the model lacks"
                " something, or the sensor errs in the same way each time. The intervals count"
                " experiments as independent and are too narrow."
            )
        notes.append(finding("residuals-repeat", text))
    return notes


def placed_waves(problem: Problem, noise: NoiseFinding) -> list[tuple[Wave, str, str, float]]:
    """Return each wave with its output, that output's unit, and its residuals per unit."""
    layout, signals = residual_layout(problem), iter(measured_signals(problem))
    placed = []
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows, signal = layout.rows_of(i, j), next(signals)
            own = [wave for wave in noise.model.waves if np.isin(wave.rows[0], rows)]
            if own:
                scale = float(np.mean(signal.scaled(np.ones(signal.times.size))))
                unit = measurement.unit or ""
                placed += [(wave, measurement.name, unit, scale) for wave in own]
    return placed


def _on_tones(name: str, heard: Mapping[str, str], *, counted: bool, driven: bool) -> str:
    several = len(heard) > 1
    each = ", ".join(f"{frequency} ({size})" for frequency, size in heard.items())
    text = (
        f"The residuals of '{name}' hold tones of {each}."
        if several
        else f"The residuals of '{name}' hold a tone of {each}."
    )
    if counted:
        text += f" The standard errors count {'them' if several else 'it'} with any phase."
    if driven:
        text += " The motion has such a frequency, too: it may be what the model lacks."
    return f"{text} Find the source, or filter the measurement."


def _steps(signal: MeasuredSignal, residuals: F64, unit: str, *, counted: bool) -> str:
    """Return a note on the steps of a sensor; empty if they do not matter."""
    step = step_of(signal.measured[signal.rows])
    if not step > 0.0:
        return ""
    size = float(np.std(residuals / signal.scaled(np.ones(signal.times.size))))
    if not (counted or step > _COARSE * size > 0.0):
        return ""
    label = f"{step:.3g} {unit}".rstrip()
    text = (
        f"{label}, {step / size:.2g} times the standard deviation of the residuals: what is rounded"
        " away follows the signal, and comes back in a record of the same motion."
    )
    if counted:
        return f"{text} The standard errors count it for any zero of the sensor."
    return (
        f"{text} The standard errors take it for noise, and may be too small or too large; a finer"
        " sensor or a faster motion helps."
    )


def step_of(values: F64) -> float:
    """Return the step of which all differences of samples are multiples; 0 if there is none."""
    if values.size < _FEWEST:
        return 0.0
    levels = np.unique(values)
    # What was computed from one level may differ by rounding.
    levels = levels[np.r_[True, np.diff(levels) > _ROUNDING * np.ptp(levels)]]
    if levels.size <= 2:
        return 0.0
    apart = np.diff(levels)
    step = float(np.median(apart[apart < 1.5 * apart.min()]))
    whole = apart / step
    return step if float(np.max(np.abs(whole - np.round(whole)))) < 0.05 else 0.0
