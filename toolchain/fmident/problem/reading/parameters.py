"""Read ``[parameters]``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from typing import get_args

import numpy as np

from fmident.data import Experiment
from fmident.errors import (
    Code,
    Diagnostic,
    FmidentError,
    FmuError,
    ProblemError,
    did_you_mean,
)
from fmident.fmu import ModelDescription, Variable
from fmident.problem.dependent import check_dependent, with_values
from fmident.problem.expressions import (
    Expression,
    ExpressionError,
    names_in,
    read_relation,
)
from fmident.problem.model import PRIOR_NAMES, Parameter, Prior, PriorName, Scaling
from fmident.problem.reading.quantities import in_own_unit, note_as_is, to_unit
from fmident.problem.validate import check_declared
from fmident.toml_file import Section

_ALIKE = 0.7
"""How alike a name is to a variable's that may be meant, from 0 to 1."""


_LIMITS = ("min", "max")
_MOMENTS = ("mean", "sd")

Convert = Callable[[float, str], float]
"""A value in the unit of the table, and what it is, to the value in the parameter's unit."""


def read_parameters(
    root: Section, description: ModelDescription, experiments: tuple[Experiment, ...]
) -> tuple[tuple[Parameter, ...], tuple[Diagnostic, ...]]:
    """Read the tables ``[parameters.NAME]``; return notes on values in a unit that is not SI.

    `experiments` are those whose measurement models may refer to parameters.
    """
    tables = root.table("parameters", {})
    measured = {
        value
        for e in experiments
        for m in e.measurements
        for value in (m.gain, m.offset, m.delay)
        if isinstance(value, str)
    }
    named = _named(root, tables)
    names = [name for name, _ in tables.items()]
    if not names:
        raise root.error(
            "the problem has no parameters", hint="add a table [parameters.NAME] for each"
        )
    # An output that names 'T_mess' must not become an error on [parameters.T_meas].
    check_declared(names, experiments, lambda *keys: root.source.where(keys))
    delays = {m.delay for e in experiments for m in e.measurements}
    notes: list[Diagnostic] = []
    parameters = tuple(
        (_dependent if tables.table(name).has("expression") else _parameter)(
            tables.table(name),
            name,
            description,
            name in measured or name in named,
            name in delays,
            notes,
        )
        for name in names
    )
    try:
        check_dependent(parameters)
    except ProblemError as error:
        raise in_expression(tables.table(str(error.key)), "expression", error) from error
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


def _named(root: Section, tables: Section) -> set[str]:
    """Return the names in expressions and constraints, ignoring those that cannot be parsed."""
    texts = [entry.get("expression") for _, entry in tables.items() if isinstance(entry, Mapping)]
    constraints = root.as_dict().get("constraints")
    if isinstance(constraints, Mapping):
        texts += list(constraints.values())
    names: set[str] = set()
    for text in texts:
        if isinstance(text, str):
            with suppress(ExpressionError):
                names |= names_in(*read_relation(text, complete=False)[0])
    return names | {name[1:-1] for name in names if name.startswith("'")}


def _alike(name: str, description: ModelDescription) -> str | None:
    """Return the FMU variable with the most similar name, if any."""
    known = {v.name.casefold(): v.name for v in description.settable_parameters}
    matches = get_close_matches(name.casefold(), known, n=1, cutoff=_ALIKE)
    return known[matches[0]] if matches else None


def _dependent(
    section: Section,
    name: str,
    description: ModelDescription,
    in_measurement: bool,
    is_delay: bool,
    notes: list[Diagnostic],
) -> Parameter:
    """Read a dependent parameter."""
    text = section.text("expression")
    for key in ("initial", "bounds", "scaling", "scale", "step", "fixed"):
        if section.has(key):
            advice = "remove it, or the expression"
            if key == "bounds":
                advice = f'write a constraint: [constraints] and limit = "{name} >= ..."'
            raise section.error(
                f"'{name}' follows from other parameters, so it takes no '{key}'", key, hint=advice
            )
    try:
        expression = Expression(text)
    except ExpressionError as error:
        raise in_expression(section, "expression", error) from error
    variable = None
    if section.has("variable") or in_measurement or name in description.by_name:
        variable = _parameter_variable(section, name, description, in_measurement)
    elif meant := _alike(name, description):
        notes.append(
            Diagnostic(
                "note",
                f"'{name}' follows from other parameters and sets no variable of the FMU: it is"
                " only reported",
                section.source.where(section.keys),
                hint=f"if '{meant}' is meant, call it so, or write variable = \"{meant}\"",
                rule="only-reported",
            )
        )
    unit = section.text("unit", None)
    if variable is not None:
        variable = in_own_unit(section, variable, unit)
    wanted = ("s" if is_delay else None) if variable is None else variable.unit
    where = section.source.where(section.keys)
    to_unit(np.float64(0.0), unit, wanted, f"the expression of '{name}'", where)  # type: ignore[arg-type]

    def converted(value: float, what: str) -> float:
        return float(to_unit(np.float64(value), unit, wanted, f"{what} of '{name}'", where))  # type: ignore[arg-type]

    prior = read_prior(section, name, converted)
    if prior is not None and not prior.counts:
        raise section.error(
            f"'{name}' follows from other parameters, so that its prior cannot be uniform",
            "prior",
            hint=f'write constraints: [constraints], low = "{name} >= ..." and'
            f' high = "{name} <= ..."',
        )
    experiments = section.words("experiments")
    section.finish()
    return Parameter(
        name=name,
        initial=0.0,
        variable=variable.name if variable is not None else None,
        experiments=experiments,
        unit=wanted or unit,
        description=variable.description if variable is not None else "",
        expression=expression,
        prior=prior,
    )


def _parameter(
    section: Section,
    name: str,
    description: ModelDescription,
    in_measurement: bool,
    is_delay: bool,
    notes: list[Diagnostic],
) -> Parameter:
    variable = _parameter_variable(section, name, description, in_measurement)
    unit = section.text("unit", None)
    if variable is not None:
        variable = in_own_unit(section, variable, unit)
    own = "s" if is_delay else None
    wanted = own if variable is None else variable.unit
    where = section.source.where(section.keys)
    if variable is not None:
        note = note_as_is(f"parameter '{name}'", unit, variable, where, f"... in {section.title}")
        notes += [] if note is None else [note]

    def converted(value: float, what: str) -> float:
        return float(to_unit(np.float64(value), unit, wanted, f"{what} of '{name}'", where))  # type: ignore[arg-type]

    prior = read_prior(section, name, converted)
    given = section.number("initial", None)
    if given is not None:
        initial = converted(given, "the initial value")
    elif prior is not None:
        initial = prior.center
    elif variable is not None and _is_number(variable.start):
        initial = float(variable.start)  # type: ignore[arg-type]
    else:
        raise section.error(f"parameter '{name}' needs an 'initial' value")
    bounds = section.pair("bounds")
    if bounds is not None:
        lower, upper = (converted(b, "the bounds") for b in bounds)
    else:
        lower = _or(variable.minimum if variable else None, -np.inf)
        upper = _or(variable.maximum if variable else None, np.inf)
    if prior is not None:
        lower, upper = within_prior(section, name, prior, (lower, upper), given=bounds is not None)
    scaling: Scaling = section.choice("scaling", get_args(Scaling), "linear")
    if scaling == "log":
        if bounds is not None and lower <= 0.0:
            raise section.error(
                f"'{name}' has log scaling, so its bounds must be positive, not"
                f" [{lower:g}, {upper:g}]",
                "bounds",
                hint='give positive bounds, or use scaling = "linear"',
            )
        lower = max(lower, 0.0)  # the FMU's own minimum, or none
    scale = section.number("scale", None)
    step = section.number("step", None)
    if step is not None and not (np.isfinite(step) and step > 0.0):
        raise section.error(f"the step of '{name}' must be positive, not {step:g}", "step")
    parameter = Parameter(
        name=name,
        initial=initial,
        lower=lower,
        upper=upper,
        variable=variable.name if variable is not None else None,
        experiments=section.words("experiments"),
        scaling=scaling,
        # A scale is a difference: an offset between units does not count.
        scale=_default_scale(initial, lower, upper)
        if scale is None
        else converted(scale, "scale") - converted(0.0, "scale"),
        fixed=_fixed(section, name, prior),
        unit=wanted or unit,
        description=variable.description if variable is not None else "",
        step=None if step is None else converted(step, "step") - converted(0.0, "step"),
        prior=prior,
    )
    section.finish()
    return parameter


def _fixed(section: Section, name: str, prior: Prior | None) -> bool:
    given = section.raw("fixed", False)
    if isinstance(given, int | float) and not isinstance(given, bool):
        raise section.error(
            f"{section.title}: 'fixed' must be true or false, not {given}",
            "fixed",
            hint=f"to hold it at that value: initial = {given}, and fixed = true in the next line",
            code=Code.WRONG_TYPE,
        )
    fixed = section.flag("fixed", False)
    if fixed and prior is not None:
        raise section.error(
            f"'{name}' is fixed, so that its prior has no say",
            "prior",
            hint="remove 'fixed = true', or the prior",
        )
    return fixed


def _parameter_variable(
    section: Section, name: str, description: ModelDescription, in_measurement: bool
) -> Variable | None:
    """Return the FMU variable that a parameter sets; ``None`` for the measurement model's own."""
    explicit = section.text("variable", None)
    if explicit is None and in_measurement and name not in description.by_name:
        return None
    try:
        variable = description.variable(name if explicit is None else explicit)
    except FmuError as error:
        known = description.why_not_settable(name if explicit is None else explicit)
        if known is not None:
            raise _not_settable(section, explicit or name, known, description) from error
        raise section.error(
            f"{error.message} that parameter '{name}' could set",
            *(["variable"] if explicit is not None else []),
            hint=description.nearest_to(
                explicit or name, description.settable_parameters, kind="parameter of the FMU"
            ),
            code=Code.UNKNOWN_NAME,
        ) from error
    if not variable.settable:
        known = description.why_not_settable(variable.name)
        assert known is not None  # it is a variable that cannot be set
        raise _not_settable(section, variable.name, known, description)
    if variable.type != "Real":
        raise section.error(
            f"'{variable.name}' is {variable.type}; only Real variables can be estimated",
            hint="set it in [model.start_values] instead",
            code=Code.NOT_SETTABLE,
        )
    return variable


def _not_settable(
    section: Section, name: str, known: tuple[str, str], description: ModelDescription
) -> FmidentError:
    reason, advice = known
    settable = [v.name for v in description.settable_parameters if v.type == "Real"]
    nearest = did_you_mean(name, settable, kind="parameter that can be set")
    nearest = nearest.replace("known:", "those that can be set:")
    return section.error(
        f"'{name}' cannot be set in the FMU: {reason}",
        hint=f"{advice}; {nearest}" if advice else nearest,
        code=Code.NOT_SETTABLE,
    )


def _default_scale(initial: float, lower: float, upper: float) -> float:
    if initial != 0.0:
        return abs(initial)
    span = upper - lower
    return span if np.isfinite(span) and span > 0.0 else 1.0


def _or(value: float | None, default: float) -> float:
    return default if value is None else float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def read_prior(section: Section, name: str, converted: Convert) -> Prior | None:
    """Read ``prior = { distribution = ..., mean = ..., sd = ... }``; ``None`` if absent.

    `section` and `name` are those of the parameter, and `converted` converts a value to its
    unit.
    """
    if not section.has("prior"):
        return None
    table = section.table("prior")
    kind: PriorName = table.choice("distribution", PRIOR_NAMES)
    wanted, others = (_LIMITS, _MOMENTS) if kind == "uniform" else (_MOMENTS, _LIMITS)
    for key in others:
        if table.has(key):
            raise table.error(
                f"the prior of '{name}' is {kind}, so it takes no '{key}'",
                key,
                hint=f"write {wanted[0]} = ... and {wanted[1]} = ...",
                code=Code.UNKNOWN_KEY,
            )
    first, second = (table.number(key) for key in wanted)
    table.finish()
    if kind == "uniform":
        lower, upper = (converted(x, "a limit of the prior") for x in (first, second))
        if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
            raise table.error(
                f"the prior of '{name}' lies between {first:g} and {second:g}:"
                " 'min' must be below 'max'",
                "min",
            )
        return Prior("uniform", lower=lower, upper=upper)
    zero = converted(0.0, "the prior")
    mean = converted(first, "the mean of the prior")
    sd = converted(second, "the standard deviation of the prior") - zero
    if not (math.isfinite(sd) and sd > 0.0):
        raise table.error(f"the prior of '{name}' needs an sd above 0, not {second:g}", "sd")
    if not math.isfinite(mean):
        raise table.error(f"the mean of the prior of '{name}' is not finite", "mean")
    if kind == "lognormal":
        _check_positive(table, name, first, zero)
    return Prior(kind, mean, sd)


def _check_positive(table: Section, name: str, mean: float, zero: float) -> None:
    """Reject a lognormal prior whose quantity or mean is not positive."""
    if zero != 0.0:
        raise table.error(
            f"the prior of '{name}' is lognormal, but its unit has a zero that is not nothing",
            "distribution",
            hint='write the parameter in an absolute unit such as K, or use "normal"',
        )
    if not mean > 0.0:
        raise table.error(
            f"the prior of '{name}' is lognormal, so its mean must be positive, not {mean:g}",
            "mean",
            hint='use "normal"',
        )


def within_prior(
    section: Section,
    name: str,
    prior: Prior,
    bounds: tuple[float, float],
    *,
    given: bool,
) -> tuple[float, float]:
    """Return the bounds of a parameter combined with its prior.

    `bounds` are those of the FMU unless the table has its own (`given`). Raises
    `FmidentError` if bounds and prior contradict each other.
    """
    lower, upper = bounds
    low, high = prior.lower, prior.upper
    if prior.distribution == "lognormal":
        low = 0.0
    if given and (lower < low or upper > high):
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
