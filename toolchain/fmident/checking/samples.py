"""Checks of the measured samples: times, gaps, constant outputs, quantisation, delays."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from fmident.arrays import F64, scaled_least_squares
from fmident.checking.result import ExperimentCheck
from fmident.checking.sensitivities import Sensitivities, initial_sensitivities
from fmident.checking.subject import Key, SimulatedSubject, Subject
from fmident.data.experiment import Experiment, Measurement
from fmident.estimation.diagnostics.delays import Place, with_delays
from fmident.findings import Finding
from fmident.problem.priors import Priors
from fmident.problem.residuals import residual_layout, whitened_residuals
from fmident.words import counted

_REGULAR = 0.01
_GAP = 5.0
"""Steps this many times the median are gaps."""

_NEARLY_SAME = 1e-3
_MANY_MISSING = 0.2
_FEW_LEVELS = 30

_WORDS = {
    "ms": "ms", "msec": "ms", "msecs": "ms", "millis": "ms", "millisec": "ms",
    "milliseconds": "ms", "millisekunden": "ms", "us": "us", "usec": "us", "micros": "us",
    "microseconds": "us", "ns": "ns", "nanoseconds": "ns", "min": "min", "minutes": "min",
    "minuten": "min", "h": "h", "hours": "h", "stunden": "h", "day": "d", "days": "d", "date": "d",
    "datum": "d",
}  # fmt: skip
"""The unit of a column, by the last word of its name."""

_EPOCH_MS = 1e11
"""Milliseconds since 1970 in the year 1973; as seconds, three thousand years."""

_BETTER, _EXPLAINED = 0.25, 0.1
"""Cost with a delay over that without, and residuals with it in parts of the spread of the
measurement. Far from the true parameters one step explains little, and a delay may stand for
anything."""

_VISIBLE, _LONGEST = 0.2, 0.1
"""Smallest shift, in samples, and longest, in parts of the record."""


def experiment_checks(subject: Subject, bandwidths: Sequence[float]) -> tuple[ExperimentCheck, ...]:
    """Return number of samples, duration and step of each experiment, beside its bandwidth."""
    checks = []
    for e, bandwidth in zip(subject.problem.experiments, bandwidths, strict=True):
        steps = np.diff(e.times)
        median = float(np.median(steps))
        regular = bool(np.ptp(steps) <= _REGULAR * median)
        length = float(e.times[-1] - e.times[0])
        checks.append(ExperimentCheck(e.name, e.samples, length, median, regular, bandwidth))
    return tuple(checks)


def unit_in_name(column: str) -> str | None:
    """Return the unit in a column name such as ``time_ms``; ``None`` if there is none."""
    words = re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", column).lower())
    return _WORDS.get(words[-1]) if words else None


def time_column_findings(subject: Subject) -> Iterator[Finding]:
    """Yield the time columns whose names or values contradict the assumed seconds."""
    for i, e in enumerate(subject.problem.experiments):
        if e.time_unit is not None:
            continue
        unit, how = unit_in_name(e.time_column), "is named as if it were"
        if unit is None and e.times[0] > _EPOCH_MS:
            unit, how = "ms", f"begins at {e.times[0]:.6g}, as if it counted from 1970"
        if unit is not None:
            yield subject.warning(
                "time-unit-suspicious",
                ("experiments", i),
                f"the time column '{e.time_column}' of experiment '{e.name}' {how} in {unit}, "
                "but no unit is in its header: seconds are assumed",
                f"write the unit behind the name in the header: '{e.time_column} [{unit}]', or"
                f" '{e.time_column} [s]' if it is right",
            )


def sample_findings(subject: Subject) -> Iterator[Finding]:
    """Yield anomalies of the data, and that there are too few samples."""
    problem = subject.problem
    count, free = residual_layout(problem).size, len(problem.free)
    if count + Priors.of(problem).count < free:
        yield subject.finding(
            "warning" if subject.inert_allowed else "error",  # a regression keeps what it cannot
            "too-few-samples",
            ("parameters",),
            f"{counted(count, 'compared sample')} cannot determine {free} free parameters",
            "add data, or fix parameters",
        )
    for i, e in enumerate(problem.experiments):
        yield from _steps(subject, ("experiments", i), e)
        for m in e.measurements:
            yield from _output(subject, ("experiments", i, "outputs", m.name), e, m)


def _steps(subject: Subject, keys: Key, e: Experiment) -> Iterator[Finding]:
    steps = np.diff(e.times)
    median = float(np.median(steps))
    gaps = np.flatnonzero(steps > _GAP * median)
    if gaps.size and gaps.size <= 0.1 * steps.size:
        k = int(gaps[np.argmax(steps[gaps])])
        more = f" (and {gaps.size - 1} more)" if gaps.size > 1 else ""
        yield subject.finding(
            "warning" if e.inputs else "note",
            "gap",
            keys,
            f"the data of experiment '{e.name}' have a gap of {steps[k]:.4g} s after"
            f" {e.times[k]:.6g} s{more}, where samples come every {median:.4g} s",
            "the inputs are interpolated over it: split the experiment in two, or cut it off"
            " with 'window'"
            if e.inputs
            else "",
        )
    near = np.flatnonzero(steps < _NEARLY_SAME * median)
    if near.size:
        k = int(near[0])
        yield subject.warning(
            "instants-nearly-equal",
            keys,
            f"in experiment '{e.name}' two samples at {e.times[k]:.9g} s are only"
            f" {steps[k]:.2g} s apart ({counted(near.size, 'such pair')})",
            "each pair looks like one instant with two time stamps: remove one of them",
        )
    spread = float(np.std(np.delete(steps, gaps))) if gaps.size < steps.size else 0.0
    if spread > _REGULAR * median and not near.size:
        yield subject.note(
            "irregular-sampling",
            keys,
            f"the samples of experiment '{e.name}' are not equidistant: every {median:.4g} s"
            f" +- {spread:.2g} s",
        )


def _output(subject: Subject, keys: Key, e: Experiment, m: Measurement) -> Iterator[Finding]:
    known = m.values[np.isfinite(m.values)]
    if known.size > 1 and not np.ptp(known) > 0.0:
        yield subject.warning(
            "output-constant",
            keys,
            f"the measured '{m.name}' of experiment '{e.name}' is {known[0]:.6g} at all times",
            "check that the column is the right one and that the sensor was on",
        )
        return
    if 1.0 - known.size / m.values.size > _MANY_MISSING and known.size < 20:
        yield subject.note(
            "many-samples-missing",
            keys,
            f"only {known.size} of {m.values.size} samples of '{m.name}' in experiment"
            f" '{e.name}' are {'left' if m.exclusions else 'measured'}",
        )
    yield from _quantisation(subject, keys, e, m, known)
    yield from _delay(subject, keys, e, m)


def _quantisation(
    subject: Subject, keys: Key, e: Experiment, m: Measurement, known: F64
) -> Iterator[Finding]:
    levels = np.unique(known)
    if known.size < 10 * _FEW_LEVELS or not 3 <= levels.size <= _FEW_LEVELS:
        return
    step = float(np.min(np.diff(levels)))
    whole = np.diff(levels) / step
    least = step / np.sqrt(12.0)
    sigma = None if m.sigma is None else float(np.min(m.sigma))
    if np.max(np.abs(whole - np.round(whole))) > 0.05 or (sigma is not None and sigma > least):
        return
    yield subject.finding(
        "note" if sigma is None else "warning",
        "quantised",
        keys,
        f"the measured '{m.name}' of experiment '{e.name}' takes only {levels.size} different"
        f" values, {step:.4g} apart: its noise is at least {least:.2g}"
        + ("" if sigma is None else f", not {sigma:.2g}"),
        "" if sigma is None else f"sigma = {least:.2g}, or more",
    )


def _delay(subject: Subject, keys: Key, e: Experiment, m: Measurement) -> Iterator[Finding]:
    step, length = float(np.median(np.diff(e.times))), float(e.times[-1] - e.times[0])
    if isinstance(m.delay, str):
        chosen = next(p for p in subject.problem.parameters if p.name == m.delay)
        largest = max(abs(chosen.lower), abs(chosen.upper), abs(chosen.initial))
        keys = ("parameters", chosen.name)
        what = f"the delay '{chosen.name}' of '{m.name}' stays"
    else:
        largest, what = abs(m.delay), f"the delay of '{m.name}' is {m.delay:.3g} s,"
        if largest > 0.5 * length:
            yield subject.warning(
                "delay-long",
                keys,
                f"{what} more than half of experiment '{e.name}', which lasts {length:.4g} s",
                "delays are in seconds: check the unit",
            )
            return
    if 0.0 < largest < step:
        yield subject.note(
            "delay-below-sample",
            keys,
            f"{what} below one sample ({step:.3g} s): it acts through the interpolation between"
            " samples only",
        )


def shift_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the outputs that a delay would explain; needs two simulations.

    Wrong parameters shift signals, too. Therefore a Gauss-Newton step of the parameters is
    compared with one of the parameters and a delay of each output, both simulated: the data
    contain a delay if it reduces the cost of an output far more than the parameters can.
    """
    known = subject.once(initial_sensitivities)
    if not isinstance(known, Sensitivities):
        return
    problem, evaluator = subject.problem, subject.evaluator
    layout = residual_layout(problem)
    slopes = _slopes(subject)
    before, count = known.residuals, problem.initial.size
    if not slopes or before.size <= count + len(slopes):
        return
    alone = scaled_least_squares(known.jacobian, -before)
    columns = np.column_stack([known.jacobian, *slopes.values()])
    together = scaled_least_squares(columns, -before)
    delays = dict(zip(slopes, together[count:], strict=True))
    points = problem.initial + np.stack([alone, together[:count]])
    alone, together = np.clip(points, problem.lower, problem.upper)
    without = evaluator.probe(alone[np.newaxis])[0]
    outputs = [o for o in evaluator.simulate(together) if isinstance(o, np.ndarray)]
    if len(outputs) < len(problem.experiments):
        return
    after = whitened_residuals(with_delays(problem, delays), outputs, together)
    for (i, k), delay in delays.items():
        rows = layout.rows_of(i, k)
        e = problem.experiments[i]
        m = e.measurements[k]
        step = float(np.median(np.diff(e.times)))
        best = np.nanmin([np.sum(before[rows] ** 2), np.sum(without[rows] ** 2)])
        spread = float(np.nanstd(m.compared)) * float(np.sqrt(np.sum(m.whitening**2)))
        visible = _VISIBLE * step < abs(delay) < _LONGEST * (e.times[-1] - e.times[0])
        if visible and np.sum(after[rows] ** 2) < min(_BETTER * best, (_EXPLAINED * spread) ** 2):
            yield subject.warning(
                "time-shift",
                ("experiments", i, "outputs", m.name),
                f"the measured '{m.name}' of experiment '{e.name}' comes about {abs(delay):.2g} s"
                f" ({abs(delay) / step:.2g} samples) {'later' if delay > 0.0 else 'earlier'} than"
                " the simulated one, which no parameter explains as well",
                'estimate it: delay = "shift" at this output, and [parameters.shift] with initial ='
                f" {delay:.2g}; or correct the time stamps",
            )


def _slopes(subject: SimulatedSubject) -> dict[Place, F64]:
    """Return the derivative of all residuals with respect to the delay of each output."""
    layout, predicted = residual_layout(subject.problem), subject.predicted
    slopes = {}
    for i, k, e, m in subject.outputs():
        rows = layout.rows_of(i, k)
        if isinstance(m.delay, str) or rows.size < 3:
            continue
        compared = predicted[i][k][np.isfinite(predicted[i][k])]
        if compared.size != rows.size:
            times = e.times[: predicted[i][k].size]
            compared = np.interp(layout.time[rows], times, predicted[i][k])
        column = np.zeros(layout.size)
        column[rows] = m.whitening * np.gradient(compared, layout.time[rows])
        if column.any():
            slopes[i, k] = column
    return slopes
