"""Measured against simulated at the initial point: factors, offsets and shifts that hint at units.

The initial parameters may be wrong, so a ratio alone says little. A factor that is known from
confused units counts when measured and simulated have the same shape; without that, only a
ratio of hundreds does.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.checking.factors import unit_factor
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Diagnostic
from fmident.problem.residuals import compared_times, compared_values

_ENOUGH = 10
_SAME_SHAPE = 0.95
_HUGE = 300.0
_FREEZING = 273.15

_SHIFTED = 0.95
_BETTER = 4.0
_LONGEST_SHIFT = 0.1
_EXPLAINS = 0.5


def magnitude_findings(
    subject: Subject, predicted: tuple[tuple[F64, ...], ...]
) -> list[Diagnostic]:
    """Return outputs that look as if measured and simulated had different units.

    Parameters
    ----------
    subject
        What is checked.
    predicted
        At the initial point, from :func:`fmident.problem.residuals.predict`.
    """
    findings = []
    for i, (e, columns) in enumerate(zip(subject.problem.experiments, predicted, strict=True)):
        for m, simulated in zip(e.measurements, columns, strict=True):
            found = _judge(subject, i, e, m, simulated)
            if found is not None:
                findings.append(found)
    return findings


def parameter_findings(subject: Subject) -> list[Diagnostic]:
    """Return parameters whose values do not fit what the FMU says of them."""
    findings = []
    for p in subject.problem.parameters:
        variable = subject.variable(p.variable)
        if variable is None:
            continue
        low = -math.inf if variable.minimum is None else variable.minimum
        high = math.inf if variable.maximum is None else variable.maximum
        unit = f" {variable.unit}" if variable.unit not in (None, "", "1") else ""
        keys = ("parameters", p.name, "initial")
        start = variable.start
        if not low <= p.initial <= high:
            findings.append(
                subject.finding(
                    "warning",
                    "initial-outside-range",
                    f"the initial value {p.initial:.4g} of '{p.name}' lies outside of the range"
                    f" {low:.4g} to {high:.4g}{unit} that the model allows",
                    "look at the unit, or change the model",
                    *keys,
                )
            )
        elif not p.fixed and (
            (p.lower < low and math.isfinite(p.lower)) or (p.upper > high and np.isfinite(p.upper))
        ):
            findings.append(
                subject.finding(
                    "note",
                    "bounds-outside-range",
                    f"the bounds of '{p.name}' reach beyond the range {low:.4g} to"
                    f" {high:.4g}{unit} that the model allows",
                    None,
                    "parameters",
                    p.name,
                    "bounds",
                )
            )
        elif isinstance(start, float) and start * p.initial > 0.0:
            ratio = p.initial / start
            if max(ratio, 1.0 / ratio) >= _HUGE:
                findings.append(
                    subject.finding(
                        "note",
                        "initial-far-from-model",
                        f"the initial value {p.initial:.4g} of '{p.name}' is {ratio:.3g} times the"
                        f" model's own value {start:.4g}{unit}",
                        f"right if meant so; values are in{unit or ' the unit of the model'}",
                        *keys,
                    )
                )
    return findings


def shift_findings(
    subject: Subject,
    predicted: tuple[tuple[F64, ...], ...],
    jacobians: dict[tuple[int, str], tuple[F64, F64]],
) -> list[Diagnostic]:
    """Return outputs that are measured later or earlier than they are simulated.

    Wrong parameters shift signals, too. A shift counts when it makes the curves nearly equal
    and, to first order, no change of the parameters can do what it does.

    Parameters
    ----------
    subject, predicted
        As for :func:`magnitude_findings`.
    jacobians
        Residuals and Jacobian of each output, whitened, by number of the experiment and name.
    """
    findings = []
    for i, (e, columns) in enumerate(zip(subject.problem.experiments, predicted, strict=True)):
        for m, simulated in zip(e.measurements, columns, strict=True):
            if isinstance(m.delay, str):
                continue
            times = compared_times(m, e.times)
            shift = _shift(times, compared_values(m), simulated)
            if shift is None:
                continue
            residuals, jacobian = jacobians[i, m.name]
            slope = np.gradient(simulated, times)[np.isfinite(compared_values(m))] * m.whitening
            if _explained(residuals, jacobian, slope) < _EXPLAINS:
                continue
            step = float(np.median(np.diff(times)))
            late = "later" if shift > 0.0 else "earlier"
            findings.append(
                subject.finding(
                    "warning",
                    "time-shift",
                    f"the measured '{m.name}' of experiment '{e.name}' comes {abs(shift):.3g} s"
                    f" ({abs(shift) / step:.3g} samples) {late} than the simulated one, which no"
                    " parameter explains",
                    f'shift the data, or estimate it: delay = "shift" at this output and'
                    f" [parameters.shift] initial = {shift:.2g}",
                    "experiments",
                    i,
                    "outputs",
                    m.name,
                )
            )
    return findings


def _judge(
    subject: Subject, i: int, e: Experiment, m: Measurement, simulated: F64
) -> Diagnostic | None:
    measured = compared_values(m)
    both = np.isfinite(measured) & np.isfinite(simulated)
    x, y = measured[both], simulated[both]
    if x.size < _ENOUGH or not np.ptp(x) > 0.0:
        return None
    place = ("experiments", i, "outputs", m.name)
    unit = f" ({m.unit})" if m.unit not in (None, "", "1") else ""
    shift = float(np.mean(x) - np.mean(y))
    if abs(abs(shift) - _FREEZING) < 0.1 * _FREEZING and 200.0 < max(np.mean(x), np.mean(y)) < 2e3:
        return subject.finding(
            "warning",
            "unit-suspicious",
            f"measured and simulated '{m.name}' of experiment '{e.name}' differ by"
            f" {abs(shift):.4g}: kelvin and degC?",
            "write the unit of the column into the header, such as 'temperature [degC]'",
            *place,
        )
    if isinstance(m.gain, str) or not np.ptp(y) > 0.0:
        return None
    likeness = float(np.corrcoef(x, y)[0, 1])
    varying = float(np.std(x) / np.std(y))
    ratio = math.copysign(varying, likeness)
    size = max(varying, 1.0 / varying)
    larger = "measured" if varying > 1.0 else "simulated"
    if abs(likeness) >= _SAME_SHAPE:
        factor = unit_factor(ratio)
        if factor is not None and size > 1.5:
            return subject.finding(
                "warning",
                "unit-suspicious",
                f"the {larger} '{m.name}' of experiment '{e.name}' has the shape of the other but"
                f" is {size:.4g} times as large: {factor.large} instead of {factor.small}?",
                f"the FMU's values are in{unit or ' no unit'}; write the unit of the column into"
                " the header, or correct the initial values",
                *place,
            )
        if likeness < 0.0 and size < 10.0:
            return subject.finding(
                "warning",
                "sign-suspicious",
                f"measured and simulated '{m.name}' of experiment '{e.name}' mirror each other:"
                " is the sign reversed?",
                "gain = -1 at this output reverses it",
                *place,
            )
    if size >= _HUGE and float(np.sqrt(np.mean(y**2))) > 0.0:
        return subject.finding(
            "warning",
            "magnitude-suspicious",
            f"the {larger} '{m.name}' of experiment '{e.name}' varies {size:.3g} times as much as"
            " the other: a unit (mm for m, N for kN), or initial values that are far away",
            f"the FMU's values are in{unit or ' no unit'}; write the unit of the column into the"
            " header",
            *place,
        )
    return None


def _shift(times: F64, measured: F64, simulated: F64) -> float | None:
    """Return by how much the measured curve comes later, s, if a shift makes them alike."""
    good = np.isfinite(measured)
    if np.count_nonzero(good) < 5 * _ENOUGH:
        return None
    step = float(np.median(np.diff(times)))
    count = min(int(np.ceil((times[-1] - times[0]) / step)) + 1, 20_000)
    grid = np.linspace(times[0], times[-1], count)
    x = np.interp(grid, times[good], measured[good])
    y = np.interp(grid, times, simulated)
    if not (np.ptp(x) > 0.0 and np.ptp(y) > 0.0):
        return None
    longest = max(int(_LONGEST_SHIFT * count), 2)
    lags = np.arange(-longest, longest + 1)
    likeness = _correlations(x, y, longest)
    here, best = float(likeness[longest]), int(np.argmax(likeness))
    if best in (0, lags.size - 1) or lags[best] == 0 or likeness[best] < _SHIFTED:
        return None
    if 1.0 - here < _BETTER * (1.0 - float(likeness[best])):
        return None
    before, at, after = likeness[best - 1 : best + 2]
    bend = before - 2.0 * at + after
    fine = 0.5 * (before - after) / bend if bend < 0.0 else 0.0
    return float((lags[best] + fine) * (grid[1] - grid[0]))


def _correlations(x: F64, y: F64, longest: int) -> F64:
    """Return the correlation of ``x[k]`` with ``y[k - lag]`` over the overlap, by lag."""
    values = []
    for lag in range(-longest, longest + 1):
        a = x[max(lag, 0) : x.size + min(lag, 0)]
        b = y[max(-lag, 0) : y.size - max(lag, 0)]
        spread = float(np.std(a) * np.std(b))
        values.append(float(np.mean((a - a.mean()) * (b - b.mean()))) / spread if spread else 0.0)
    return np.array(values)


def _explained(residuals: F64, jacobian: F64, slope: F64) -> float:
    """Return the share of what the parameters leave of the residuals that a shift explains."""
    norms = np.linalg.norm(jacobian, axis=0)
    basis: npt.NDArray[np.float64]
    basis, _ = np.linalg.qr(np.column_stack([jacobian[:, norms > 0.0] / norms[norms > 0.0]]))
    left = residuals - basis @ (basis.T @ residuals)
    way = slope - basis @ (basis.T @ slope)
    power = float(way @ way) * float(left @ left)
    return float(way @ left) ** 2 / power if power > 0.0 else 0.0
