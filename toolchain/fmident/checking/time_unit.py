"""Time columns that are in milliseconds although seconds were taken.

The name of a column may say so. Else the simulation does: with the times divided by a thousand, the
outputs have the shape, or the size, of the measured ones, and with the times as they are they have
not.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Diagnostic
from fmident.evaluation import Evaluator
from fmident.problem.residuals import compared_values, predict

_WORDS = {
    "ms": "ms", "msec": "ms", "msecs": "ms", "millis": "ms", "millisec": "ms",
    "milliseconds": "ms", "millisekunden": "ms", "us": "us", "usec": "us", "micros": "us",
    "microseconds": "us", "ns": "ns", "nanoseconds": "ns", "min": "min", "minutes": "min",
    "minuten": "min", "h": "h", "hours": "h", "stunden": "h", "day": "d", "days": "d", "date": "d",
    "datum": "d",
}  # fmt: skip
"""What the last word of a column's name says of its unit."""

_EPOCH_MS = 1e11
"""Milliseconds since 1970 in the year 1973; so many seconds are three thousand years."""

_STEP = 0.5
"""Times between samples from which on they may be milliseconds, s."""

_SMALLER = {"ms": 1e-3, "us": 1e-6}

_POOR, _GOOD, _BETTER = 0.2, 0.3, 0.25
"""Parts of the measured variance that are not explained: with the times as they are at least, with
smaller ones at most, and of the former."""

_MOST = 3
"""Experiments that are simulated once more."""

_ENOUGH = 10


def unit_in_name(column: str) -> str | None:
    """Return the unit that a column's name says, as in ``time_ms``; ``None`` if it says none."""
    words = [
        w for w in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()) if w
    ]
    return _WORDS.get(words[-1]) if words else None


def named_time_findings(subject: Subject) -> list[Diagnostic]:
    """Return the time columns whose names say another unit than the seconds that are assumed."""
    findings = []
    for i, e in enumerate(subject.problem.experiments):
        unit = unit_in_name(e.time_column) if e.time_unit is None else None
        how = "is named as if it were"
        if unit is None and e.time_unit is None and e.times[0] > _EPOCH_MS:
            unit, how = "ms", f"begins at {e.times[0]:.6g}, as if it counted from 1970"
        if unit is not None:
            findings.append(
                subject.finding(
                    "warning",
                    "time-unit-suspicious",
                    f"the time column '{e.time_column}' of experiment '{e.name}' {how} in {unit}, "
                    "but no unit is in its header: seconds are assumed",
                    f"write the unit behind the name in the header: '{e.time_column} [{unit}]', or"
                    f" '{e.time_column} [s]' if it is right",
                    "experiments",
                    i,
                )
            )
    return findings


def time_unit_findings(
    subject: Subject, evaluator: Evaluator, predicted: tuple[tuple[F64, ...], ...]
) -> list[Diagnostic]:
    """Return the experiments that smaller units of time explain, and seconds do not.

    Costs up to two short simulations for an experiment that seconds explain badly.

    Parameters
    ----------
    subject, evaluator
        What is checked.
    predicted
        At the initial point, from :func:`fmident.problem.residuals.predict`.
    """
    findings: list[Diagnostic] = []
    tried = 0
    for i, e in enumerate(subject.problem.experiments):
        if e.time_unit is None and unit_in_name(e.time_column) is not None:
            continue  # reported already
        step = float(np.median(np.diff(e.times)))
        present = _unexplained(e, predicted[i])
        if not e.time_column or step < _STEP or not present or min(present) < _POOR:
            continue
        if tried == _MOST:
            break
        tried += 1
        for unit, factor in _SMALLER.items():
            other = _simulated(subject, evaluator, i, factor)
            if any(y < min(_GOOD, _BETTER * x) for x, y in zip(present, other, strict=False)):
                findings.append(_finding(subject, i, unit, step))
                break
    return findings


def _finding(subject: Subject, i: int, unit: str, step: float) -> Diagnostic:
    e = subject.problem.experiments[i]
    said = (
        "no unit is in its header, and seconds are assumed"
        if e.time_unit is None
        else f"its header says {e.time_unit}"
    )
    return subject.finding(
        "warning",
        "time-unit-suspicious",
        f"the time column '{e.time_column}' of experiment '{e.name}' seems to be in {unit}: with"
        f" samples every {step:.4g} {unit} in place of {step:.4g} s, the simulation explains the"
        f" data far better ({said})",
        f"if so, write '{e.time_column} [{unit}]' into the header of the data",
        "experiments",
        i,
    )


def _simulated(subject: Subject, evaluator: Evaluator, i: int, factor: float) -> list[float]:
    """Return what is left unexplained with other times; empty where the simulation fails."""
    problem = subject.problem
    e = problem.experiments[i]
    faster = replace(e, times=e.times * factor)
    point = problem.initial[np.newaxis]
    outputs = evaluator.simulate_outputs(faster, e.output_variables, point)[0]
    if not bool(np.isfinite(outputs).all()):
        return []
    alone = replace(problem, experiments=(faster,))
    return _unexplained(e, predict(alone, [outputs], problem.initial)[0])


def _unexplained(e: Experiment, predicted: tuple[F64, ...]) -> list[float]:
    """Return the parts of the measured variance that remain: by shape, then by values."""
    pairs = [_compared(m, y) for m, y in zip(e.measurements, predicted, strict=True)]
    usable = [(x, y) for x, y in pairs if x.size >= _ENOUGH and np.ptp(x) > 0.0]
    if not usable:
        return []
    shapes = [1.0 - _likeness(x, y) ** 2 for x, y in usable]
    values = [float(np.mean((x - y) ** 2) / np.var(x)) for x, y in usable]
    return [float(np.mean(shapes)), float(np.mean(values))]


def _compared(m: Measurement, predicted: F64) -> tuple[F64, F64]:
    measured = compared_values(m)
    both = np.isfinite(measured) & np.isfinite(predicted)
    return measured[both], predicted[both]


def _likeness(x: F64, y: F64) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if np.ptp(y) > 1e-12 * np.max(np.abs(y)) else 0.0
