"""Detect time columns in milliseconds that were read as seconds.

The column name may reveal the unit. If its header has no unit, the simulation may: with
the times divided by a thousand it explains the measurement, while with seconds neither
another time scale nor other parameter values do. A merely wrong start is explained by
its parameters.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment
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

_POOR, _GOOD, _BETTER = 0.2, 0.1, 0.25
"""Parts of the measured variance that are not explained: with the times as they are at least, with
smaller ones at most, and of what anything else leaves."""

_PROMISING = 0.6
"""Part that smaller times leave at the start itself, at most."""

_GAIN = 5.0
"""Factor by which an output may be too large or too small at the start."""

_FINE = 10.0 ** np.array(
    [d * side for d in (0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5) for side in (1, -1)]
)
"""What is tried around a factor: the start need not be exact."""

_SPEEDS = 10.0 ** np.array([-0.5, -1.0, -1.5, -2.0, 0.5, 1.0])
"""Factors on the times that no unit explains."""

_COARSE = 10.0 ** np.array([d for k in range(1, 8) for d in (-0.5 * k, 0.5 * k)])
"""By which a parameter of the start may be wrong."""

_ROUNDS = 3
"""Parameters that may be wrong at once."""

_MOST = 3
"""Experiments that are simulated once more."""

_BEGINNINGS = (1.0, 0.25, 0.1)
"""Parts of a record that are looked at, from its beginning: an oscillation at a wrong start is out
of phase after some periods."""

_ENOUGH = 10


def unit_in_name(column: str) -> str | None:
    """Return the unit in a column name such as ``time_ms``; ``None`` if there is none."""
    words = [
        w for w in re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower()) if w
    ]
    return _WORDS.get(words[-1]) if words else None


def named_time_findings(subject: Subject) -> list[Diagnostic]:
    """Return the time columns whose names contradict the assumed seconds."""
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
    """Return the experiments explained by smaller units of time, but not by seconds.

    It needs up to six short simulations per experiment without a time unit that is poorly
    explained in seconds. If a smaller unit explains it, other time scales and parameters
    are simulated. `predicted` is the result of :func:`fmident.problem.residuals.predict` at
    the initial point.
    """
    findings: list[Diagnostic] = []
    tried = 0
    for i, e in enumerate(subject.problem.experiments):
        if e.time_unit is not None or unit_in_name(e.time_column) is not None or not e.time_column:
            continue  # known, or reported already
        step = float(np.median(np.diff(e.times)))
        if step < _STEP or not _unexplained(e, predicted[i]) >= _POOR:
            continue
        if tried == _MOST:
            break
        tried += 1
        for share in _BEGINNINGS:
            if not _unexplained(e, predicted[i], share) >= _POOR:
                continue
            unit_findings = _smaller_unit(_Trial(subject, evaluator, i, share))
            if unit_findings is not None:
                findings += unit_findings
                break
    return findings


def _smaller_unit(trial: _Trial) -> list[Diagnostic] | None:
    """Return findings on a smaller unit that explains the data; ``None`` if there is none."""
    for unit, factor in _SMALLER.items():
        if not trial.least(factor) < _PROMISING:
            continue
        least = min(trial.least(factor * near) for near in _FINE)
        if least < _GOOD:
            explained, point = trial.in_seconds(least / _BETTER)
            if not explained:
                return [_finding(trial.subject, trial.number, unit)]
            return (
                [] if point is None else [_open_question(trial.subject, trial.number, unit, point)]
            )
    return None


def _finding(subject: Subject, i: int, unit: str) -> Diagnostic:
    e = subject.problem.experiments[i]
    step = float(np.median(np.diff(e.times)))
    return subject.finding(
        "warning",
        "time-unit-suspicious",
        f"the time column '{e.time_column}' of experiment '{e.name}' has no unit in its header and"
        f" seems to be in {unit}: with samples every {step:.4g} {unit} in place of {step:.4g} s,"
        " the simulation explains the data, and in seconds neither another speed nor other values"
        " of the parameters do",
        f"if so, write '{e.time_column} [{unit}]' into the header of the data; else"
        f" '{e.time_column} [s]'",
        "experiments",
        i,
    )


def _open_question(subject: Subject, i: int, unit: str, point: F64) -> Diagnostic:
    """Return the finding that either the time unit or the start of parameters is wrong."""
    e, problem = subject.problem.experiments[i], subject.problem
    changes = [
        f"'{q.name}' = {value:.3g} in place of {q.initial:.3g}"
        for q, value in zip(problem.free, point, strict=True)
        if value != q.initial
    ]
    return subject.finding(
        "note",
        "time-unit-open",
        f"two things explain the data of experiment '{e.name}': {', '.join(changes)} at the start,"
        f" or times in {unit}; the time column '{e.time_column}' has no unit in its header, and s"
        " is assumed",
        f"write '{e.time_column} [s]' into the header of the data, or '{e.time_column} [{unit}]'",
        "experiments",
        i,
    )


@dataclass(frozen=True)
class _Trial:
    """Simulations of one experiment with other time scales and parameters."""

    subject: Subject
    evaluator: Evaluator
    number: int
    share: float

    def least(self, speed: float, points: F64 | None = None) -> float:
        """Return the smallest unexplained fraction with the times multiplied by `speed`."""
        return float(self.left(speed, self._start if points is None else points).min())

    @property
    def _start(self) -> F64:
        return self.subject.problem.initial[np.newaxis]

    def left(self, speed: float, points: F64) -> F64:
        """Return the unexplained fractions at points, shape (k,)."""
        problem = self.subject.problem
        e = problem.experiments[self.number]
        other = replace(e, times=e.times * speed)
        alone = replace(problem, experiments=(other,))
        simulated = self.evaluator.simulate_outputs(other, e.output_variables, points)
        return np.array(
            [
                _unexplained(e, predict(alone, [outputs], p)[0], self.share)
                if bool(np.isfinite(outputs).all())
                else np.inf
                for outputs, p in zip(simulated, points, strict=True)
            ]
        )

    def in_seconds(self, enough: float) -> tuple[bool, F64 | None]:
        """Return whether another time scale or other parameters suffice, and the latter."""
        if any(self.least(speed) <= enough for speed in _SPEEDS):
            return True, None
        problem, point = self.subject.problem, self.subject.problem.initial
        one_by_one = np.eye(point.size, dtype=np.bool_)
        for factors in (_COARSE, _FINE) * min(_ROUNDS, point.size):
            points = np.array([np.where(j, f * point, point) for j in one_by_one for f in factors])
            left = self.left(1.0, np.clip(points, problem.lower, problem.upper))
            point = np.clip(points[int(np.argmin(left))], problem.lower, problem.upper)
            if float(left.min()) <= enough:
                return True, point
        return False, None


def _unexplained(e: Experiment, predicted: tuple[F64, ...], share: float = 1.0) -> float:
    """Return the unexplained fraction of the measured variance, for any gain and offset.

    Only the given leading share of the samples is used.
    """
    parts = []
    for m, output in zip(e.measurements, predicted, strict=True):
        measured = compared_values(m)
        both = np.isfinite(measured) & np.isfinite(output)
        rows = np.flatnonzero(both)[: math.ceil(share * np.count_nonzero(both))]
        x, y = measured[rows], output[rows]
        if x.size < _ENOUGH or not np.ptp(x) > 0.0:
            continue
        x, y = x - x.mean(), y - y.mean()
        power = float(y @ y)
        gain = np.clip(float(x @ y) / power, 1.0 / _GAIN, _GAIN) if power > 0.0 else 0.0
        parts.append(float(np.mean((x - gain * y) ** 2) / np.mean(x**2)))
    return float(np.mean(parts)) if parts else np.nan
