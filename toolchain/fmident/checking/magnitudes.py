"""Compare magnitudes of measurement and initial simulation to detect wrong units.

The initial parameters may be wrong, so a ratio alone means little. A typical factor
between confused units counts if measurement and simulation have the same shape;
otherwise only a ratio of hundreds does.
"""

from __future__ import annotations

import math

import numpy as np

from fmident.arrays import F64
from fmident.checking.factors import confused_unit, unit_factor
from fmident.checking.subject import Subject
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Diagnostic
from fmident.problem.priors import Priors
from fmident.problem.residuals import compared_values, parameter_values

_ENOUGH = 10
_SAME_SHAPE = 0.95
_HUGE = 300.0
_FAR = 5.0
"""Standard deviations of its prior that an initial value may be away unsaid."""
_FREEZING = 273.15


def magnitude_findings(
    subject: Subject, predicted: tuple[tuple[F64, ...], ...]
) -> list[Diagnostic]:
    """Return outputs whose measurement and simulation appear to have different units.

    `predicted` is the result of :func:`fmident.problem.residuals.predict` at the initial
    point.
    """
    findings = []
    for i, (e, columns) in enumerate(zip(subject.problem.experiments, predicted, strict=True)):
        for m, simulated in zip(e.measurements, columns, strict=True):
            finding = _judge(subject, i, e, m, simulated)
            if finding is not None:
                findings.append(finding)
    return findings


def parameter_findings(subject: Subject) -> list[Diagnostic]:
    """Return parameters whose values contradict the FMU's declaration."""
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
    larger, smaller = ("measured", "simulated") if varying > 1.0 else ("simulated", "measured")
    if abs(likeness) >= _SAME_SHAPE:
        factor = unit_factor(ratio)
        if m.unit and not m.unit_given and m.gain == 1.0:
            factor = confused_unit(ratio, m.unit) or factor
        if factor is not None and size > 1.5:
            return subject.finding(
                "warning",
                "unit-suspicious",
                f"the {larger} '{m.name}' of experiment '{e.name}' has the shape of the"
                f" {smaller} one but is {size:.4g} times as large:"
                f" {factor.large} instead of {factor.small}?",
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
            f" the {smaller} one: a unit (mm for m, N for kN), or initial values that are far away",
            f"the FMU's values are in{unit or ' no unit'}; write the unit of the column into the"
            " header",
            *place,
        )
    return None


def prior_findings(subject: Subject) -> list[Diagnostic]:
    """Return initial values that lie far in the tails of their priors."""
    problem = subject.problem
    values = parameter_values(problem, problem.initial)
    findings = []
    for name, prior in Priors.of(problem).terms:
        far = abs(prior.deviation(values[name]))
        if far > _FAR:
            findings.append(
                subject.finding(
                    "note",
                    "initial-far-from-prior",
                    f"the initial value {values[name]:.4g} of '{name}' lies {far:.3g} standard"
                    f" deviations from its prior ({prior})",
                    "leave 'initial' out, and the search starts at the prior",
                    "parameters",
                    name,
                    "prior",
                )
            )
    return findings
