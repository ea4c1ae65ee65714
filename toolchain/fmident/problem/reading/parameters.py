"""Read ``[parameters]``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from fmident.data import Experiment
from fmident.errors import Code, Diagnostic, FmidentError, FmuError, Location, ProblemError
from fmident.fmu import ModelDescription, Variable
from fmident.problem.dependent import check_dependent, with_values
from fmident.problem.expressions import Expression, ExpressionError, names_in, read_relation
from fmident.problem.model import Parameter, Prior, Scaling
from fmident.problem.reading.quantities import in_own_unit, is_number, note_as_is, to_unit
from fmident.problem.reading.tables import ParameterTable, PriorTable, StartTable
from fmident.problem.validate import check_declared, check_settable, not_settable
from fmident.toml_file import Section

_ALIKE = 0.7
"""Similarity, from 0 to 1, at which a name may be meant as that of a variable."""

_LIMITS = ("min", "max")
_MOMENTS = ("mean", "sd")

Convert = Callable[[float, str], float]
"""A value in the unit of the table, and what it is, to the value in the parameter's unit."""


def read_parameters(
    tables: Mapping[str, ParameterTable],
    description: ModelDescription,
    experiments: tuple[Experiment, ...],
    root: Section,
    constraints: Iterable[str] = (),
) -> tuple[tuple[Parameter, ...], tuple[Diagnostic, ...]]:
    """Read the tables ``[parameters.NAME]``; return notes on values in a unit that is not SI.

    `experiments` are those whose measurement models may refer to parameters, as the texts of
    `constraints` may.
    """
    measured = {name for e in experiments for m in e.measurements for name in m.references}
    texts = [t.expression for t in tables.values() if t.expression is not None]
    used = measured | _named([*texts, *constraints])
    if not tables:
        raise root.error(
            "the problem has no parameters", hint="add a table [parameters.NAME] for each"
        )
    # An output that names 'T_mess' must not become an error on [parameters.T_meas].
    check_declared(list(tables), experiments, root.where)
    delays = {m.delay for e in experiments for m in e.measurements}
    notes: list[Diagnostic] = []
    parameters = tuple(
        (_parameter if table.expression is None else _dependent)(
            table, name, description, name in used, name in delays, notes
        )
        for name, table in tables.items()
    )
    try:
        check_dependent(parameters)
    except ProblemError as error:
        section = tables[str(error.key)].section
        raise in_expression(section, "expression", error) from error
    return with_values(parameters), tuple(notes)


def in_expression(section: Section, key: str, error: ProblemError) -> FmidentError:
    """Return an error of an expression with its line and column in the file."""
    located = section.at_key(error, key)
    place = located.location
    if isinstance(error, ExpressionError) and place is not None and place.line is not None:
        for line, text in enumerate(section.source.text.split("\n")[place.line - 1 :], place.line):
            start = text.find(error.text) if error.text else -1
            if start >= 0:  # of several in a list, each may have a line of its own
                column = start + error.position + 1
                located.location = replace(place, line=line, column=column)
                break
    return located


def _named(texts: Iterable[str]) -> set[str]:
    names: set[str] = set()
    for text in texts:
        with suppress(ExpressionError):
            names |= names_in(*read_relation(text, complete=False)[0])
    return names | {name[1:-1] for name in names if name.startswith("'")}


def _alike(name: str, description: ModelDescription) -> str | None:
    known = {v.name.casefold(): v.name for v in description.settable_parameters}
    matches = get_close_matches(name.casefold(), known, n=1, cutoff=_ALIKE)
    return known[matches[0]] if matches else None


@dataclass(frozen=True)
class Quantity:
    """A parameter's variable and unit: how values of its table are converted.

    `given` is the unit of the table and `unit` that of the parameter.
    """

    name: str
    variable: Variable | None
    given: str | None
    unit: str | None
    place: Location

    @classmethod
    def of(
        cls, table: StartTable, name: str, variable: Variable | None, is_delay: bool
    ) -> Quantity:
        """Return the quantity that the table of a parameter describes."""
        unit = ("s" if is_delay else None) if variable is None else variable.unit
        return cls(name, variable, table.unit, unit, table.section.where())

    def converted(self, value: float, what: str) -> float:
        """Return a value in the parameter's unit; `what` it is of the parameter."""
        given = np.asarray(value, dtype=np.float64)
        what = f"{what} of '{self.name}'"
        return float(to_unit(given, self.given, self.unit, what, self.place))

    def difference(self, value: float, what: str) -> float:
        """Return a difference of two values: an offset between units does not count."""
        return self.converted(value, what) - self.converted(0.0, what)

    def parameter(self, table: ParameterTable, **fields: Any) -> Parameter:
        """Return the parameter."""
        return Parameter(
            name=self.name,
            variable=None if self.variable is None else self.variable.name,
            experiments=table.experiments,
            unit=self.unit or self.given,
            description="" if self.variable is None else self.variable.description,
            **fields,
        )


def _dependent(
    table: ParameterTable,
    name: str,
    description: ModelDescription,
    in_measurement: bool,
    is_delay: bool,
    notes: list[Diagnostic],
) -> Parameter:
    section = table.section
    for key in ("initial", "bounds", "scaling", "scale", "step", "fixed"):
        if section.has(key):
            advice = "remove it, or the expression"
            if key == "bounds":
                advice = f'write a constraint: [constraints] and limit = "{name} >= ..."'
            raise section.error(
                f"'{name}' follows from other parameters, so it takes no '{key}'", key, hint=advice
            )
    try:
        expression = Expression(table.expression or "")
    except ExpressionError as error:
        raise in_expression(section, "expression", error) from error
    variable = None
    if table.variable is not None or in_measurement or name in description.by_name:
        variable = _variable(table, name, description, in_measurement)
    elif meant := _alike(name, description):
        notes.append(
            Diagnostic(
                "note",
                f"'{name}' follows from other parameters and sets no variable of the FMU: it is"
                " only reported",
                section.where(),
                hint=f"if '{meant}' is meant, call it so, or write variable = \"{meant}\"",
                rule="only-reported",
            )
        )
    quantity = Quantity.of(table, name, variable, is_delay)
    quantity.converted(0.0, "the expression")
    prior = read_prior(table.prior, name, quantity.converted)
    if prior is not None and not prior.counts:
        raise section.error(
            f"'{name}' follows from other parameters, so that its prior cannot be uniform",
            "prior",
            hint=f'write constraints: [constraints], low = "{name} >= ..." and'
            f' high = "{name} <= ..."',
        )
    return quantity.parameter(table, initial=0.0, expression=expression, prior=prior)


def _parameter(
    table: ParameterTable,
    name: str,
    description: ModelDescription,
    in_measurement: bool,
    is_delay: bool,
    notes: list[Diagnostic],
) -> Parameter:
    section = table.section
    variable = _variable(table, name, description, in_measurement)
    quantity = Quantity.of(table, name, variable, is_delay)
    if variable is not None:
        what, write = f"parameter '{name}'", f"... in {section.title}"
        note = note_as_is(what, table.unit, variable, section.where(), write)
        notes += [] if note is None else [note]
    prior = read_prior(table.prior, name, quantity.converted)
    if table.initial is not None:
        initial = quantity.converted(table.initial, "the initial value")
    elif prior is not None:
        initial = prior.center
    elif variable is not None and is_number(variable.start):
        initial = float(variable.start)  # type: ignore[arg-type]
    else:
        raise section.error(f"parameter '{name}' needs an 'initial' value")
    bounds = (
        _or(variable.minimum if variable else None, -np.inf),
        _or(variable.maximum if variable else None, np.inf),
    )
    lower, upper = read_bounds(table, name, bounds, table.scaling, prior, quantity.converted)
    if table.fixed and prior is not None:
        raise section.error(
            f"'{name}' is fixed, so that its prior has no effect",
            "prior",
            hint="remove 'fixed = true', or the prior",
        )
    return quantity.parameter(
        table,
        initial=initial,
        lower=lower,
        upper=upper,
        scaling=table.scaling,
        scale=_default_scale(initial, lower, upper)
        if table.scale is None
        else quantity.difference(table.scale, "scale"),
        fixed=table.fixed,
        step=None if table.step is None else quantity.difference(table.step, "step"),
        prior=prior,
    )


def read_bounds(
    table: StartTable,
    name: str,
    otherwise: tuple[float, float],
    scaling: Scaling,
    prior: Prior | None,
    converted: Convert,
) -> tuple[float, float]:
    """Return the bounds that a table gives, or else `otherwise`, within those of the prior."""
    section, (lower, upper) = table.section, otherwise
    if table.bounds is not None:
        lower, upper = (converted(b, "the bounds") for b in table.bounds)
        if scaling == "log" and lower <= 0.0:
            raise section.error(
                f"'{name}' has log scaling, so its bounds must be positive, not"
                f" [{lower:g}, {upper:g}]",
                "bounds",
                hint='give positive bounds, or use scaling = "linear"',
            )
    if prior is not None:
        lower, upper = _within_prior(section, name, prior, (lower, upper))
    return (max(lower, 0.0) if scaling == "log" else lower), upper  # the FMU's minimum, or none


def _variable(
    table: ParameterTable, name: str, description: ModelDescription, in_measurement: bool
) -> Variable | None:
    """Return the FMU variable that a parameter sets; ``None`` for the measurement model's own."""
    section, explicit = table.section, table.variable
    if explicit is None and in_measurement and name not in description.by_name:
        return None
    wanted = name if explicit is None else explicit
    try:
        variable = description.variable(wanted)
    except FmuError as error:
        known = description.why_not_settable(wanted)
        if known is not None:
            raise not_settable(wanted, *known, description, section.where()) from error
        raise section.error(
            f"{error.message} that parameter '{name}' could set",
            "variable",
            hint=description.nearest_to(
                wanted, description.settable_parameters, kind="parameter of the FMU"
            ),
            code=Code.UNKNOWN_NAME,
        ) from error
    check_settable(variable, description, section.where())
    return in_own_unit(table, variable, table.unit)


def _default_scale(initial: float, lower: float, upper: float) -> float:
    if initial != 0.0:
        return abs(initial)
    span = upper - lower
    return span if np.isfinite(span) and span > 0.0 else 1.0


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def read_prior(table: PriorTable | None, name: str, converted: Convert) -> Prior | None:
    """Return the prior of the parameter `name`, or ``None``.

    `converted` converts a value to the unit of the parameter.
    """
    if table is None:
        return None
    section, kind = table.section, table.distribution
    wanted, others = (_LIMITS, _MOMENTS) if kind == "uniform" else (_MOMENTS, _LIMITS)
    for key in others:
        if section.has(key):
            raise section.error(
                f"the prior of '{name}' is {kind}, so it takes no '{key}'",
                key,
                hint=f"write {wanted[0]} = ... and {wanted[1]} = ...",
                code=Code.UNKNOWN_KEY,
            )
    for key in wanted:
        if not section.has(key):
            raise section.error(f"{section.title} needs the key '{key}'", code=Code.MISSING_KEY)
    first, second = (float(section.content[key]) for key in wanted)
    if kind == "uniform":
        lower, upper = (converted(x, "a limit of the prior") for x in (first, second))
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise section.error(
                f"the prior of '{name}' lies between {first:g} and {second:g}:"
                " 'min' must be below 'max'",
                "min",
            )
        return Prior("uniform", lower=lower, upper=upper)
    zero = converted(0.0, "the prior")
    mean = converted(first, "the mean of the prior")
    sd = converted(second, "the standard deviation of the prior") - zero
    if not (math.isfinite(sd) and sd > 0.0):
        raise section.error(f"the prior of '{name}' needs an sd above 0, not {second:g}", "sd")
    if not math.isfinite(mean):
        raise section.error(f"the mean of the prior of '{name}' is not finite", "mean")
    if kind == "lognormal":
        _check_positive(section, name, first, zero)
    return Prior(kind, mean, sd)


def _check_positive(section: Section, name: str, mean: float, zero: float) -> None:
    """Reject a lognormal prior whose quantity or mean is not positive."""
    if zero != 0.0:
        raise section.error(
            f"the prior of '{name}' is lognormal, but zero in its unit is not zero in SI",
            "distribution",
            hint='write the parameter in an absolute unit such as K, or use "normal"',
        )
    if not mean > 0.0:
        raise section.error(
            f"the prior of '{name}' is lognormal, so its mean must be positive, not {mean:g}",
            "mean",
            hint='use "normal"',
        )


def _within_prior(
    section: Section, name: str, prior: Prior, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the bounds combined with the prior; raises `FmidentError` for a contradiction."""
    lower, upper = bounds
    low, high = prior.lower, prior.upper
    if prior.distribution == "lognormal":
        low = 0.0
    if section.has("bounds") and (lower < low or upper > high):
        raise _beyond(section, name, prior, lower, upper)
    lower, upper = max(lower, low), min(upper, high)
    if not lower < upper:
        raise _beyond(section, name, prior, *bounds)
    if prior.counts and not lower <= prior.center <= upper:
        raise section.error(
            f"the prior of '{name}' ({prior}) has its centre outside of the bounds"
            f" [{lower:g}, {upper:g}]",
            "prior",
            hint="widen the bounds, or correct the prior",
        )
    return lower, upper


def _beyond(section: Section, name: str, prior: Prior, lower: float, upper: float) -> FmidentError:
    what = "positive" if prior.distribution == "lognormal" else str(prior)
    return section.error(
        f"the bounds [{lower:g}, {upper:g}] of '{name}' go beyond its prior, which is {what}",
        *(["bounds"] if section.has("bounds") else ["prior"]),
        hint="narrow the bounds, or leave them out: those of the prior hold then",
    )
