"""Checks of the data: sampling, gaps, constant outputs, quantisation, delays."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.checking.report import ExperimentCheck
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Diagnostic
from fmident.problem.priors import Priors
from fmident.problem.residuals import residual_layout

_REGULAR = 0.01
_GAP = 5.0
"""Steps this many times the median are gaps."""

_NEARLY_SAME = 1e-3
_MANY_MISSING = 0.2
_FEW_LEVELS = 30


def experiment_checks(subject: Subject) -> tuple[ExperimentCheck, ...]:
    """Return number of samples, duration and step of each experiment."""
    checks = []
    for e in subject.problem.experiments:
        steps = np.diff(e.times)
        median = float(np.median(steps))
        regular = bool(np.ptp(steps) <= _REGULAR * median)
        length = float(e.times[-1] - e.times[0])
        checks.append(ExperimentCheck(e.name, e.samples, length, median, regular))
    return tuple(checks)


def sample_findings(subject: Subject) -> list[Diagnostic]:
    """Return findings on anomalies of the data, and on too few samples."""
    findings = _too_few(subject)
    for i, e in enumerate(subject.problem.experiments):
        findings += _steps(subject, i, e)
        for m in e.measurements:
            findings += _output(subject, i, e, m)
    return findings


def _too_few(subject: Subject) -> list[Diagnostic]:
    problem = subject.problem
    count, free = residual_layout(problem).size, len(problem.free)
    if count + Priors.of(problem).count < free:
        return [
            subject.finding(
                "error",
                "too-few-samples",
                f"{count} compared sample{'' if count == 1 else 's'} cannot determine {free} free"
                " parameters",
                "add data, or fix parameters",
                "parameters",
            )
        ]
    return []


def _steps(subject: Subject, i: int, e: Experiment) -> list[Diagnostic]:
    steps = np.diff(e.times)
    median = float(np.median(steps))
    findings = []
    gaps = np.flatnonzero(steps > _GAP * median)
    if gaps.size and gaps.size <= 0.1 * steps.size:
        k = int(gaps[np.argmax(steps[gaps])])
        more = f" (and {gaps.size - 1} more)" if gaps.size > 1 else ""
        findings.append(
            subject.finding(
                "warning" if e.inputs else "note",
                "gap",
                f"the data of experiment '{e.name}' have a gap of {steps[k]:.4g} s after"
                f" {e.times[k]:.6g} s{more}, where samples come every {median:.4g} s",
                "the inputs are interpolated over it: make two experiments of it, or cut it off"
                " with 'window'"
                if e.inputs
                else None,
                "experiments",
                i,
            )
        )
    near = np.flatnonzero(steps < _NEARLY_SAME * median)
    if near.size:
        k = int(near[0])
        findings.append(
            subject.finding(
                "warning",
                "instants-nearly-equal",
                f"in experiment '{e.name}' two samples at {e.times[k]:.9g} s are only"
                f" {steps[k]:.2g} s apart ({near.size} such pair{'' if near.size == 1 else 's'})",
                "these look like one instant whose stamps differ: remove one of each pair",
                "experiments",
                i,
            )
        )
    spread = float(np.std(np.delete(steps, gaps))) if gaps.size < steps.size else 0.0
    if spread > _REGULAR * median and not near.size:
        findings.append(
            subject.finding(
                "note",
                "irregular-sampling",
                f"the samples of experiment '{e.name}' are not equidistant: every {median:.4g} s"
                f" +- {spread:.2g} s",
                None,
                "experiments",
                i,
            )
        )
    return findings


def _output(subject: Subject, i: int, e: Experiment, m: Measurement) -> list[Diagnostic]:
    place = ("experiments", i, "outputs", m.name)
    known = m.values[np.isfinite(m.values)]
    findings = []
    if known.size > 1 and not np.ptp(known) > 0.0:
        findings.append(
            subject.finding(
                "warning",
                "output-constant",
                f"the measured '{m.name}' of experiment '{e.name}' is {known[0]:.6g} at all times",
                "look whether the column is the right one and the sensor was on",
                *place,
            )
        )
        return findings
    missing = 1.0 - known.size / m.values.size
    if missing > _MANY_MISSING and known.size < 20:
        findings.append(
            subject.finding(
                "note",
                "many-samples-missing",
                f"only {known.size} of {m.values.size} samples of '{m.name}' in experiment"
                f" '{e.name}' are {'left' if m.exclusions else 'measured'}",
                None,
                *place,
            )
        )
    findings += _quantisation(subject, place, e, m, known)
    findings += _delay(subject, place, e, m)
    return findings


def _quantisation(
    subject: Subject, place: tuple[str | int, ...], e: Experiment, m: Measurement, known: F64
) -> list[Diagnostic]:
    levels = np.unique(known)
    if known.size < 10 * _FEW_LEVELS or levels.size > _FEW_LEVELS:
        return []
    step = float(np.min(np.diff(levels)))
    whole = np.diff(levels) / step
    if levels.size < 3 or np.max(np.abs(whole - np.round(whole))) > 0.05:
        return []
    least = step / np.sqrt(12.0)
    sigma = None if m.sigma is None else float(np.min(m.sigma))
    if sigma is not None and sigma > least:
        return []
    return [
        subject.finding(
            "note" if sigma is None else "warning",
            "quantised",
            f"the measured '{m.name}' of experiment '{e.name}' takes only {levels.size} different"
            f" values, {step:.4g} apart: its noise is at least {least:.2g}"
            + ("" if sigma is None else f", not {sigma:.2g}"),
            None if sigma is None else f"sigma = {least:.2g}, or more",
            *place,
        )
    ]


def _delay(
    subject: Subject, place: tuple[str | int, ...], e: Experiment, m: Measurement
) -> list[Diagnostic]:
    step = float(np.median(np.diff(e.times)))
    if isinstance(m.delay, str):
        chosen = next(p for p in subject.problem.parameters if p.name == m.delay)
        largest = max(abs(chosen.lower), abs(chosen.upper), abs(chosen.initial))
        where: tuple[str | int, ...] = ("parameters", chosen.name)
        what = f"the delay '{chosen.name}' of '{m.name}' stays"
    else:
        largest, where, what = abs(m.delay), place, f"the delay of '{m.name}' is {m.delay:.3g} s,"
    length = float(e.times[-1] - e.times[0])
    if not isinstance(m.delay, str) and largest > 0.5 * length:
        return [
            subject.finding(
                "warning",
                "delay-long",
                f"{what} more than half of experiment '{e.name}', which lasts {length:.4g} s",
                "delays are in seconds: look at the unit",
                *where,
            )
        ]
    if not 0.0 < largest < step:
        return []
    return [
        subject.finding(
            "note",
            "delay-below-sample",
            f"{what} below one sample ({step:.3g} s): it acts through the interpolation between"
            " samples only",
            None,
            *where,
        )
    ]
