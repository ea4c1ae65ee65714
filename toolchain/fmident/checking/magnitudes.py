"""Compare measurement and initial simulation to detect wrong units of values and times.

The initial parameters may be wrong, so a ratio alone means little. A typical factor
between confused units counts if measurement and simulation have the same shape;
otherwise only a ratio of hundreds does.

Milliseconds read as seconds show if with the times divided by a thousand the simulation
explains the measurement, while with seconds neither another time scale nor other
parameter values do. A merely wrong start is explained by its parameters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.samples import unit_in_name
from fmident.checking.subject import SimulatedSubject
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import UnitError
from fmident.findings import Finding
from fmident.problem.residuals import compared_values, predict
from fmident.units import parse_unit

_ENOUGH = 10
_SAME_SHAPE = 0.95
HUGE = 300.0
"""Factor above which hardly anything but a wrong unit explains it."""

_FREEZING = 273.15


@dataclass(frozen=True)
class UnitFactor:
    """A factor between two units that are easily confused.

    `value` is greater than 1; `small` and `large` are example units with smaller and larger
    numbers.
    """

    value: float
    small: str
    large: str


UNIT_FACTORS = (
    UnitFactor(1e6, "m or MPa", "um or Pa"),
    UnitFactor(1e5, "bar", "Pa"),
    UnitFactor(1e3, "m or kN", "mm or N"),
    UnitFactor(100.0, "m or 1", "cm or %"),
    UnitFactor(60.0, "min", "s"),
    UnitFactor(180.0 / math.pi, "rad", "deg"),
    UnitFactor(60.0 / (2.0 * math.pi), "rad/s", "rpm"),
    UnitFactor(9.80665, "kgf", "N"),
    UnitFactor(2.0 * math.pi, "Hz or turns", "rad/s or rad"),
    UnitFactor(3.6, "m/s or kWh", "km/h or MJ"),
)

_CONFUSED = (
    "rad/s", "rpm", "deg/s", "rev/s", "rad", "deg", "rev", "m", "cm", "mm", "um", "m/s", "km/h",
    "mm/s", "m/s2", "mm/s2", "N", "kN", "N.m", "kN.m", "N.mm", "Pa", "kPa", "MPa", "bar", "V", "mV",
    "A", "mA", "W", "kW", "kg", "g", "s", "ms", "min", "m3/s", "l/s", "l/min", "kg/s", "kg/h",
)  # fmt: skip
"""Units in which the same quantity is often recorded."""

_WITHIN, _WITHIN_LARGE, _WITHIN_WITHOUT_UNIT = 0.03, 0.12, math.log(1.2)
"""Tolerance of a factor, of one beyond `HUGE`, and where nobody gave the unit of the numbers:
initial values are off by some percent."""

_OTHER = 1.5
"""Ratio of units below which these cannot be told apart from wrong initial values."""

_STEP = 0.5
"""Times between samples above which they may be milliseconds, s."""

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
"""Factors tried around another one, since the start need not be exact."""

_SPEEDS = 10.0 ** np.array([-0.5, -1.0, -1.5, -2.0, 0.5, 1.0])
"""Factors on the times that no unit explains."""

_COARSE = 10.0 ** np.array([d for k in range(1, 8) for d in (-0.5 * k, 0.5 * k)])
"""Factors by which a parameter of the start may be wrong."""

_ROUNDS = 3
"""Parameters that may be wrong at once."""

_MOST = 3
"""Experiments that are simulated once more."""

_BEGINNINGS = (1.0, 0.25, 0.1)
"""Parts of a record that are compared, from its beginning: an oscillation at a wrong start is out
of phase after some periods."""


def unit_factor(ratio: float, within: float = _WITHIN) -> UnitFactor | None:
    """Return the factor that equals a ratio or its inverse within a relative tolerance.

    The tolerance is wider for large factors, since initial values are never exact.
    """
    size = abs(ratio)
    if not 0.0 < size < math.inf:
        return None
    size = max(size, 1.0 / size)
    near = min(UNIT_FACTORS, key=lambda f: abs(math.log(size / f.value)))
    allowed = max(within, _WITHIN_LARGE) if near.value > HUGE else within
    return near if abs(math.log(size / near.value)) <= allowed else None


def confused_unit(ratio: float, unit: str) -> UnitFactor | None:
    """Return the likely unit of numbers without one, given the FMU's unit.

    Only units of the same quantity are considered, and only in the observed direction: this
    permits a wider tolerance, so that inexact initial values do not hide the confusion.
    `ratio` is that of the measured numbers to those of the FMU; its sign is ignored.
    """
    size = abs(ratio)
    if not 0.0 < size < math.inf:
        return None
    try:
        own = parse_unit(unit)
    except UnitError:
        return None
    candidates: list[tuple[float, UnitFactor]] = []
    for text in _CONFUSED:
        other = parse_unit(text)
        if other.exponents != own.exponents:
            continue
        value = own.factor / other.factor
        off = abs(math.log(size / value))
        if off <= _WITHIN_WITHOUT_UNIT and max(value, 1.0 / value) > _OTHER:
            pair = (unit, text) if value > 1.0 else (text, unit)
            candidates.append((off, UnitFactor(max(value, 1.0 / value), *pair)))
    return min(candidates, key=lambda item: item[0])[1] if candidates else None


def magnitude_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield outputs whose measurement and simulation appear to have different units."""
    predicted = subject.predicted
    for i, k, e, m in subject.outputs():
        measured, simulated = compared_values(m), predicted[i][k]
        both = np.isfinite(measured) & np.isfinite(simulated)
        x, y = measured[both], simulated[both]
        if x.size >= _ENOUGH and np.ptp(x) > 0.0:
            suspicion = _suspicion(e, m, x, y)
            if suspicion is not None:
                code, text, hint = suspicion
                yield subject.warning(code, ("experiments", i, "outputs", m.name), text, hint)


def _suspicion(e: Experiment, m: Measurement, x: F64, y: F64) -> tuple[str, str, str] | None:
    """Return code, text and hint where measured `x` and simulated `y` are in other units."""
    name = f"'{m.name}' of experiment '{e.name}'"
    unit = f" ({m.unit})" if m.unit not in (None, "", "1") else " no unit"
    shift = abs(float(np.mean(x) - np.mean(y)))
    if abs(shift - _FREEZING) < 0.1 * _FREEZING and 200.0 < max(np.mean(x), np.mean(y)) < 2e3:
        return (
            "unit-suspicious",
            f"measured and simulated {name} differ by {shift:.4g}: kelvin and degC?",
            "write the unit of the column into the header, such as 'temperature [degC]'",
        )
    if isinstance(m.gain, str) or not np.ptp(y) > 0.0:
        return None
    likeness = float(np.corrcoef(x, y)[0, 1])
    varying = float(np.std(x) / np.std(y))
    ratio = math.copysign(varying, likeness)
    size = max(varying, 1.0 / varying)
    larger, smaller = ("measured", "simulated") if varying > 1.0 else ("simulated", "measured")
    if abs(likeness) >= _SAME_SHAPE:
        factor = unit_factor(ratio)
        if m.unit and not m.unit_given and m.gain == 1.0:
            factor = confused_unit(ratio, m.unit) or factor
        if factor is not None and size > 1.5:
            return (
                "unit-suspicious",
                f"the {larger} {name} has the shape of the {smaller} one but is {size:.4g} times as"
                f" large: {factor.large} instead of {factor.small}?",
                f"the FMU's values are in{unit}; write the unit of the column into the header, or"
                " correct the initial values",
            )
        if likeness < 0.0 and size < 10.0:
            return (
                "sign-suspicious",
                f"measured and simulated {name} mirror each other: is the sign reversed?",
                "gain = -1 at this output reverses it",
            )
    if size >= HUGE and float(np.sqrt(np.mean(y**2))) > 0.0:
        return (
            "magnitude-suspicious",
            f"the {larger} {name} varies {size:.3g} times as much as the {smaller} one: a unit (mm"
            " for m, N for kN), or initial values that are far away",
            f"the FMU's values are in{unit}; write the unit of the column into the header",
        )
    return None


def time_unit_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the experiments explained by smaller units of time, but not by seconds.

    It needs up to six short simulations per experiment without a time unit that is poorly
    explained in seconds. If a smaller unit explains it, other time scales and parameters
    are simulated.
    """
    tried = 0
    for i, (e, predicted) in enumerate(
        zip(subject.problem.experiments, subject.predicted, strict=True)
    ):
        if e.time_unit is not None or unit_in_name(e.time_column) is not None or not e.time_column:
            continue  # known, or reported already
        step = float(np.median(np.diff(e.times)))
        if step < _STEP or not _unexplained(e, predicted) >= _POOR:
            continue
        if tried == _MOST:
            break
        tried += 1
        for share in _BEGINNINGS:
            trial = _Trial(subject, e, share)
            unit = trial.smaller_unit() if _unexplained(e, predicted, share) >= _POOR else None
            if unit is None:
                continue
            explained, point = trial.in_seconds(unit[1] / _BETTER)
            if not explained or point is not None:
                yield _time_finding(subject, i, unit[0], step, point)
            break


def _time_finding(
    subject: SimulatedSubject, i: int, unit: str, step: float, point: F64 | None
) -> Finding:
    """Return that the times are in another unit, or that a `point` would explain them, too."""
    problem, e = subject.problem, subject.problem.experiments[i]
    if point is None:
        return subject.warning(
            "time-unit-suspicious",
            ("experiments", i),
            f"the time column '{e.time_column}' of experiment '{e.name}' has no unit in its header"
            f" and seems to be in {unit}: with samples every {step:.4g} {unit} in place of"
            f" {step:.4g} s, the simulation explains the data, and in seconds neither another speed"
            " nor other values of the parameters do",
            f"if so, write '{e.time_column} [{unit}]' into the header of the data; else"
            f" '{e.time_column} [s]'",
        )
    changes = [
        f"'{q.name}' = {value:.3g} in place of {q.initial:.3g}"
        for q, value in zip(problem.free, point, strict=True)
        if value != q.initial
    ]
    return subject.note(
        "time-unit-open",
        ("experiments", i),
        f"two things explain the data of experiment '{e.name}': {', '.join(changes)} at the start,"
        f" or times in {unit}; the time column '{e.time_column}' has no unit in its header, and s"
        " is assumed",
        f"write '{e.time_column} [s]' into the header of the data, or '{e.time_column} [{unit}]'",
    )


@dataclass(frozen=True)
class _Trial:
    """Simulations of one experiment with other time scales and parameters.

    Only the leading `share` of the samples is compared.
    """

    subject: SimulatedSubject
    experiment: Experiment
    share: float

    def unexplained(self, speed: float, points: F64) -> F64:
        """Return the unexplained fractions at points, shape (k,), with other times."""
        e = self.experiment
        other = replace(e, times=e.times * speed)
        alone = replace(self.subject.problem, experiments=(other,))
        simulated = self.subject.evaluator.simulate_outputs(other, e.output_variables, points)
        return np.array(
            [
                _unexplained(e, predict(alone, [outputs], p)[0], self.share)
                if bool(np.isfinite(outputs).all())
                else np.inf
                for outputs, p in zip(simulated, points, strict=True)
            ]
        )

    def at_start(self, speed: float) -> float:
        return float(self.unexplained(speed, self.subject.problem.initial[np.newaxis])[0])

    def smaller_unit(self) -> tuple[str, float] | None:
        """Return a smaller unit that explains the data, and what it leaves unexplained."""
        for unit, factor in _SMALLER.items():
            if self.at_start(factor) < _PROMISING:
                least = min(self.at_start(factor * near) for near in _FINE)
                if least < _GOOD:
                    return unit, least
        return None

    def in_seconds(self, enough: float) -> tuple[bool, F64 | None]:
        """Return whether another time scale or other parameters suffice, and the latter."""
        if any(self.at_start(speed) <= enough for speed in _SPEEDS):
            return True, None
        problem, point = self.subject.problem, self.subject.problem.initial
        one_by_one = np.eye(point.size, dtype=np.bool_)
        for factors in (_COARSE, _FINE) * min(_ROUNDS, point.size):
            points = np.array([np.where(j, f * point, point) for j in one_by_one for f in factors])
            points = np.clip(points, problem.lower, problem.upper)
            left = self.unexplained(1.0, points)
            point = points[int(np.argmin(left))]
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
        rows = np.flatnonzero(np.isfinite(measured) & np.isfinite(output))
        rows = rows[: math.ceil(share * rows.size)]
        x, y = measured[rows], output[rows]
        if x.size < _ENOUGH or not np.ptp(x) > 0.0:
            continue
        x, y = x - x.mean(), y - y.mean()
        power = float(y @ y)
        gain = np.clip(float(x @ y) / power, 1.0 / _GAIN, _GAIN) if power > 0.0 else 0.0
        parts.append(float(np.mean((x - gain * y) ** 2) / np.mean(x**2)))
    return float(np.mean(parts)) if parts else np.nan
