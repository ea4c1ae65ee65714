"""Checks of the inputs: variation, mutual dependence, range of the model."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

from fmident.arrays import F64
from fmident.checking.factors import unit_factor
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment
from fmident.errors import Diagnostic, UnitError
from fmident.estimation.diagnostics.interpolation import moves, other_courses
from fmident.estimation.validation import held_out_problem
from fmident.evaluation import Evaluator
from fmident.units import compatible, parse_unit
from fmident.words import quoted

_EXPLAINED = 0.1
"""Residuals in parts of the spread of what was measured, below which an input without jumps is
judged: far from the truth it may stand for anything."""

_LOWER = 0.99
"""Cost with an input held over that without, below which holding it is advised."""

_ALIKE = 0.999999
_DERIVATIVE = 0.98
_ENOUGH = 20


def input_findings(subject: Subject) -> list[Diagnostic]:
    """Return findings on inputs that are constant, duplicates, or in a wrong unit."""
    findings = _without_motion(subject)
    for i, e in enumerate(subject.problem.experiments):
        findings += _alike(subject, i, e)
        findings += _derivatives(subject, i, e)
        findings += _ranges(subject, i, e)
    return findings


def course_findings(
    subject: Subject, evaluator: Evaluator, jacobian: F64 | None, iterations: int
) -> list[Diagnostic]:
    """Return findings on inputs with jumps that are not held, or of uncertain interpolation.

    `jacobian` is that of the whitened residuals at the initial point, shape (m, n), if
    known; `iterations` limits a fit of the parameters as in
    :func:`~fmident.estimation.diagnostics.interpolation.other_courses`.
    """
    problem = subject.problem
    p = problem.initial
    iterations = 0 if jacobian is None else iterations
    courses = list(other_courses(problem, evaluator, p, jacobian, iterations=iterations))
    if problem.validation:
        known = {one.input for one in courses}
        others = other_courses(held_out_problem(problem), evaluator, p, iterations=0)
        courses += [one for one in others if one.input not in known]
    everything = (*problem.experiments, *problem.validation)
    findings = []
    for one in courses:
        likely = one.jumps > 0 and one.interpolation == "hold"
        proven = one.proven and (likely or one.left < _EXPLAINED)
        if proven or (likely and not one.cost_ratio > _LOWER):
            number = [e.name for e in everything].index(one.experiments[0])
            findings.append(
                Diagnostic(
                    "warning" if proven else "note",
                    f"{str(one)[:1].lower()}{str(one)[1:]}",
                    replace(problem, experiments=everything).where(
                        "experiments", number, "inputs", one.input
                    ),
                    f"{one.advice[:1].lower()}{one.advice[1:]}",
                    "input-interpolation",
                )
            )
    return findings


def _without_motion(subject: Subject) -> list[Diagnostic]:
    """Return the inputs that are constant in all experiments."""
    given: dict[str, list[bool]] = {}
    for e in subject.problem.experiments:
        for name, values in e.inputs.items():
            given.setdefault(name, []).append(moves(values))
    still = [name for name, moving in given.items() if not any(moving)]
    if not still:
        return []
    everywhere = len(still) == len(given)
    # Held at another value from the beginning is a step, which may well excite the model.
    stepped = [n for n in still if _differs_from_start(subject, n)]
    if everywhere and stepped:
        return [
            subject.finding(
                "note",
                "input-constant",
                f"the input{'' if len(still) == 1 else 's'} {quoted(still)}"
                f" {'is' if len(still) == 1 else 'are'} constant: only a step at the start and"
                " the start values drive the model",
                "right if the experiment was a step",
                "experiments",
                0,
                "inputs",
                stepped[0],
            )
        ]
    only = len(subject.problem.experiments) == 1
    verb = "is" if len(still) == 1 else "are"
    return [
        subject.finding(
            "warning" if everywhere else "note",
            "input-constant",
            f"the input{'' if len(still) == 1 else 's'} {quoted(still)} {verb} constant"
            + ("" if only else " in every experiment")
            + (": nothing drives the model but its start values" if everywhere else ""),
            "name the column that was applied, or measure again with an input that moves"
            if everywhere
            else "right if it was held on purpose",
            "experiments",
            0,
            "inputs",
            *(still[:1]),
        )
    ]


def _differs_from_start(subject: Subject, name: str) -> bool:
    """Return whether an input is held at a value other than the FMU's start value."""
    variable = subject.variable(name)
    start = variable.start if variable is not None else None
    rest = float(start) if isinstance(start, (int, float)) else 0.0
    return any(
        bool(np.any(e.inputs[name] != rest))
        for e in subject.problem.experiments
        if name in e.inputs
    )


def _alike(subject: Subject, i: int, e: Experiment) -> list[Diagnostic]:
    """Return pairs of inputs that are proportional to each other."""
    names = [n for n, x in e.inputs.items() if moves(x)]
    findings = []
    for a, first in enumerate(names):
        for second in names[a + 1 :]:
            x, y = e.inputs[first], e.inputs[second]
            if x.size >= _ENOUGH and abs(np.corrcoef(x, y)[0, 1]) >= _ALIKE:
                same = bool(np.array_equal(x, y))
                findings.append(
                    subject.finding(
                        "note",
                        "inputs-alike",
                        f"the inputs '{first}' and '{second}' of experiment '{e.name}' are"
                        f" {'equal' if same else 'proportional to each other'}: what they do"
                        " cannot be told apart",
                        "look whether both name the right column",
                        "experiments",
                        i,
                        "inputs",
                        second,
                    )
                )
    return findings


def _derivatives(subject: Subject, i: int, e: Experiment) -> list[Diagnostic]:
    """Compare inputs with derivatives of others: position, velocity and acceleration."""
    if e.times.size < _ENOUGH:
        return []
    names = [n for n, x in e.inputs.items() if moves(x)]
    findings = []
    for low in names:
        slope = None
        for high in names:
            unit = _rate(subject.unit(low), subject.unit(high))
            if low == high or unit is None:
                continue
            slope = np.gradient(e.inputs[low], e.times) if slope is None else slope
            rate = e.inputs[high]
            power = float(slope @ slope)
            if power == 0.0 or abs(np.corrcoef(slope, rate)[0, 1]) < _DERIVATIVE:
                continue
            ratio = float(slope @ rate) / (unit * power)
            factor = unit_factor(ratio, 0.05)
            if factor is not None:
                findings.append(
                    subject.finding(
                        "warning",
                        "units-of-inputs-differ",
                        f"the input '{high}' of experiment '{e.name}' is {abs(ratio):.4g} times the"
                        f" derivative of '{low}': one of them is in another unit"
                        f" ({factor.large} for {factor.small}?)",
                        f"the FMU takes '{low}' in {subject.unit(low)} and '{high}' in"
                        f" {subject.unit(high)}; write the unit of the data into the header",
                        "experiments",
                        i,
                        "inputs",
                        high,
                    )
                )
            elif ratio < 0.0 and abs(abs(ratio) - 1.0) < 0.05:
                findings.append(
                    subject.finding(
                        "warning",
                        "signs-of-inputs-differ",
                        f"the input '{high}' of experiment '{e.name}' is the derivative of '{low}'"
                        " with the sign reversed",
                        "reverse the sign of one of them",
                        "experiments",
                        i,
                        "inputs",
                        high,
                    )
                )
    return findings


@functools.cache
def _rate(low: str | None, high: str | None) -> float | None:
    """Return the factor from the unit ``low/s`` to `high`; ``None`` if they are incompatible."""
    if low is None or high is None:
        return None
    try:
        rate, other = parse_unit(low) / parse_unit("s"), parse_unit(high)
    except UnitError:
        return None
    return rate.factor / other.factor if compatible(rate, other) else None


def _ranges(subject: Subject, i: int, e: Experiment) -> list[Diagnostic]:
    """Return the inputs that leave the range declared by the FMU."""
    findings = []
    for name, values in e.inputs.items():
        variable = subject.variable(name)
        if variable is None:
            continue
        low = -np.inf if variable.minimum is None else variable.minimum
        high = np.inf if variable.maximum is None else variable.maximum
        if values.min() < low or values.max() > high:
            findings.append(
                subject.finding(
                    "warning",
                    "input-outside-range",
                    f"the input '{name}' of experiment '{e.name}' runs from {values.min():.4g} to"
                    f" {values.max():.4g}, while the model allows {low:.4g} to {high:.4g}"
                    f" {variable.unit or ''}".rstrip(),
                    "look at the unit of the column",
                    "experiments",
                    i,
                    "inputs",
                    name,
                )
            )
    return findings
