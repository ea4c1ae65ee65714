"""Checks of inputs and parameters: variation, mutual dependence, range of the model."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from fmident.checking.magnitudes import HUGE, unit_factor
from fmident.checking.sensitivities import Sensitivities, initial_sensitivities
from fmident.checking.subject import SimulatedSubject, Subject
from fmident.data.experiment import Experiment
from fmident.errors import UnitError
from fmident.estimation.diagnostics.input_courses import jumps, moves, other_courses
from fmident.estimation.validation import held_out_problem
from fmident.findings import Finding
from fmident.problem.priors import Priors
from fmident.problem.residuals import parameter_values
from fmident.units import compatible, parse_unit
from fmident.words import quoted

_EXPLAINED = 0.1
"""Residuals in parts of the spread of what was measured, below which an input without jumps is
judged: far from the truth it may stand for anything."""

_LOWER = 0.99
"""Cost with an input held over that without, below which holding it is advised."""

_FIT = 40
"""Iterations that fit the parameters with another course of the inputs."""

_ALIKE = 0.999999
_DERIVATIVE = 0.98
_ENOUGH = 20
_FAR = 5.0
"""Standard deviations of its prior that an initial value may be away unsaid."""


def input_findings(subject: Subject) -> Iterator[Finding]:
    """Yield the inputs that are constant, duplicates, or in a wrong unit."""
    yield from _without_motion(subject)
    for i, e in enumerate(subject.problem.experiments):
        yield from _alike(subject, i, e)
        yield from _derivatives(subject, i, e)
        yield from _ranges(subject, i, e)


def course_findings(subject: SimulatedSubject) -> Iterator[Finding]:
    """Yield the inputs with jumps that are not held, or of uncertain interpolation."""
    problem, evaluator, p = subject.problem, subject.evaluator, subject.problem.initial
    moving = [values for e in problem.experiments for values in e.inputs.values()]
    if subject.quick and not any(jumps(values).any() for values in moving):
        return
    known = subject.once(initial_sensitivities)
    jacobian = known.jacobian if isinstance(known, Sensitivities) else None
    fits = 2 + max(len(e.inputs) for e in problem.experiments)
    affordable = subject.affordable(_FIT, fits * (1 + len(problem.free)))
    iterations = 0 if jacobian is None else affordable
    courses = list(other_courses(problem, evaluator, p, jacobian, iterations=iterations))
    if problem.validation:
        names = {one.input for one in courses}
        others = other_courses(held_out_problem(problem), evaluator, p, iterations=0)
        courses += [one for one in others if one.input not in names]
    everything = replace(problem, experiments=(*problem.experiments, *problem.validation))
    for one in courses:
        likely = one.jumps > 0 and one.interpolation == "hold"
        proven = one.proven and (likely or one.left < _EXPLAINED)
        if proven or (likely and not one.cost_ratio > _LOWER):
            number = [e.name for e in everything.experiments].index(one.experiments[0])
            yield Finding(
                "input-interpolation",
                "warning" if proven else "note",
                f"{str(one)[:1].lower()}{str(one)[1:]}",
                everything.where("experiments", number, "inputs", one.input),
                f"{one.advice[:1].lower()}{one.advice[1:]}",
            )


def _without_motion(subject: Subject) -> Iterator[Finding]:
    experiments = subject.problem.experiments
    given = dict.fromkeys(name for e in experiments for name in e.inputs)
    still = [n for n in given if not any(moves(e.inputs[n]) for e in experiments if n in e.inputs)]
    if not still:
        return
    everywhere = len(still) == len(given)
    text = f"the input{'' if len(still) == 1 else 's'} {quoted(still)}"
    text += f" {'is' if len(still) == 1 else 'are'} constant"
    # Held at another value from the beginning is a step, which may well excite the model.
    stepped = [n for n in still if _differs_from_start(subject, n)]
    if everywhere and stepped:
        yield subject.note(
            "input-constant",
            ("experiments", 0, "inputs", stepped[0]),
            f"{text}: only a step at the start and the start values drive the model",
            "right if the experiment was a step",
        )
        return
    yield subject.finding(
        "warning" if everywhere else "note",
        "input-constant",
        ("experiments", 0, "inputs", still[0]),
        text
        + ("" if len(experiments) == 1 else " in every experiment")
        + (": nothing drives the model but its start values" if everywhere else ""),
        "name the column that was applied, or measure again with an input that moves"
        if everywhere
        else "right if it was held on purpose",
    )


def _differs_from_start(subject: Subject, name: str) -> bool:
    variable = subject.variable(name)
    start = variable.start if variable is not None else None
    rest = float(start) if isinstance(start, (int, float)) else 0.0
    given = [e.inputs[name] for e in subject.problem.experiments if name in e.inputs]
    return any(bool(np.any(values != rest)) for values in given)


def _alike(subject: Subject, i: int, e: Experiment) -> Iterator[Finding]:
    """Yield pairs of inputs that are proportional to each other."""
    names = [n for n, x in e.inputs.items() if moves(x)]
    for a, first in enumerate(names):
        for second in names[a + 1 :]:
            x, y = e.inputs[first], e.inputs[second]
            if x.size >= _ENOUGH and abs(np.corrcoef(x, y)[0, 1]) >= _ALIKE:
                how = "equal" if np.array_equal(x, y) else "proportional to each other"
                yield subject.note(
                    "inputs-alike",
                    ("experiments", i, "inputs", second),
                    f"the inputs '{first}' and '{second}' of experiment '{e.name}' are {how}: what"
                    " they do cannot be told apart",
                    "check that both name the right column",
                )


def _derivatives(subject: Subject, i: int, e: Experiment) -> Iterator[Finding]:
    """Compare inputs with derivatives of others: position, velocity and acceleration."""
    if e.times.size < _ENOUGH:
        return
    names = [n for n, x in e.inputs.items() if moves(x)]
    for low in names:
        slope = np.gradient(e.inputs[low], e.times)
        power = float(slope @ slope)
        for high in names:
            unit, rate = _rate(subject.unit(low), subject.unit(high)), e.inputs[high]
            if low == high or unit is None or power == 0.0:
                continue
            if abs(np.corrcoef(slope, rate)[0, 1]) < _DERIVATIVE:
                continue
            ratio = float(slope @ rate) / (unit * power)
            factor = unit_factor(ratio, 0.05)
            keys = ("experiments", i, "inputs", high)
            if factor is not None:
                yield subject.warning(
                    "units-of-inputs-differ",
                    keys,
                    f"the input '{high}' of experiment '{e.name}' is {abs(ratio):.4g} times the"
                    f" derivative of '{low}': one of them is in another unit"
                    f" ({factor.large} for {factor.small}?)",
                    f"the FMU takes '{low}' in {subject.unit(low)} and '{high}' in"
                    f" {subject.unit(high)}; write the unit of the data into the header",
                )
            elif ratio < 0.0 and abs(abs(ratio) - 1.0) < 0.05:
                yield subject.warning(
                    "signs-of-inputs-differ",
                    keys,
                    f"the input '{high}' of experiment '{e.name}' is the derivative of '{low}'"
                    " with the sign reversed",
                    "reverse the sign of one of them",
                )


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


def _ranges(subject: Subject, i: int, e: Experiment) -> Iterator[Finding]:
    for name, values in e.inputs.items():
        low, high = subject.range(name)
        if values.min() < low or values.max() > high:
            yield subject.warning(
                "input-outside-range",
                ("experiments", i, "inputs", name),
                f"the input '{name}' of experiment '{e.name}' runs from {values.min():.4g} to"
                f" {values.max():.4g}, while the model allows {low:.4g} to {high:.4g}"
                f" {subject.unit(name) or ''}".rstrip(),
                "check the unit of the column",
            )


def parameter_findings(subject: Subject) -> Iterator[Finding]:
    """Yield the parameters whose values contradict the FMU's declaration."""
    for p in subject.problem.parameters:
        variable = subject.variable(p.variable)
        if variable is None:
            continue
        low, high = subject.range(p.variable)
        unit = f" {variable.unit}" if variable.unit not in (None, "", "1") else ""
        keys = ("parameters", p.name, "initial")
        start = variable.start
        if not low <= p.initial <= high:
            yield subject.warning(
                "initial-outside-range",
                keys,
                f"the initial value {p.initial:.4g} of '{p.name}' lies outside of the range"
                f" {low:.4g} to {high:.4g}{unit} that the model allows",
                "check the unit, or change the model",
            )
        elif not p.fixed and (-math.inf < p.lower < low or high < p.upper < math.inf):
            yield subject.note(
                "bounds-outside-range",
                ("parameters", p.name, "bounds"),
                f"the bounds of '{p.name}' reach beyond the range {low:.4g} to"
                f" {high:.4g}{unit} that the model allows",
            )
        elif isinstance(start, float) and start * p.initial > 0.0:
            ratio = p.initial / start
            if max(ratio, 1.0 / ratio) >= HUGE:
                yield subject.note(
                    "initial-far-from-model",
                    keys,
                    f"the initial value {p.initial:.4g} of '{p.name}' is {ratio:.3g} times the"
                    f" model's own value {start:.4g}{unit}",
                    f"correct if intended; values are in{unit or ' the unit of the model'}",
                )


def prior_findings(subject: Subject) -> Iterator[Finding]:
    """Yield initial values that lie far in the tails of their priors."""
    problem = subject.problem
    values = parameter_values(problem, problem.initial)
    for name, prior in Priors.of(problem).terms:
        far = abs(prior.deviation(values[name]))
        if far > _FAR:
            yield subject.note(
                "initial-far-from-prior",
                ("parameters", name, "prior"),
                f"the initial value {values[name]:.4g} of '{name}' lies {far:.3g} standard"
                f" deviations from its prior ({prior})",
                "leave 'initial' out, and the search starts at the prior",
            )
