"""Variables of the FMU that a problem file names: their units, their start values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import (
    Code,
    Diagnostic,
    FmuError,
    Location,
    ProblemError,
    UnitError,
    did_you_mean,
)
from fmident.fmu import ModelDescription, Variable
from fmident.problem.reading.tables import (
    InputTable,
    OutputTable,
    ParameterTable,
    ProblemTables,
)
from fmident.toml_file import Section
from fmident.toml_file.options import written
from fmident.units import (
    compatible,
    convert,
    in_si,
    parse_unit,
    same_unit,
    si_symbols,
    unit_or_none,
)


def to_unit(values: F64, given: str | None, wanted: str | None, what: str, where: Location) -> F64:
    """Return the values in the FMU's unit.

    A missing unit on either side is assumed to equal the other; :func:`note_as_is` reports
    where this leaves values in a unit that is not SI. `what` names the quantity in
    messages, such as ``"column 'tau'"``. Raises `ProblemError` if a unit cannot be parsed,
    or the two are incompatible.
    """
    if given is None or wanted is None or given == wanted:
        return values
    try:
        source = parse_unit(given)
    except UnitError as error:
        raise ProblemError(
            f"{what}: {error.message}", location=where, hint=error.hint, code=error.code
        ) from error
    try:
        target = parse_unit(wanted)
    except UnitError as error:
        raise ProblemError(
            f"{what} is in '{given}'; the FMU's unit '{wanted}' cannot be read, so the two cannot"
            " be compared",
            location=where,
            hint=f"write the unit exactly as the FMU does: '{wanted}'",
        ) from error
    if not compatible(source, target):
        raise ProblemError(
            f"{what} is in '{given}' ({source.si}), but the FMU's variable is in"
            f" '{wanted}' ({target.si})",
            location=where,
            hint="correct the unit, or choose the column that belongs to this variable",
        )
    return convert(values, source, target)


def same_dimension(a: str | None, b: str | None) -> bool:
    """Return whether values can be converted; a missing unit is compatible with any other."""
    one, other = unit_or_none(a), unit_or_none(b)
    if a is None or b is None or one is None or other is None:
        return a is None or b is None or a == b
    return compatible(one, other)


def with_own_units(tables: ProblemTables, description: ModelDescription) -> ModelDescription:
    """Return the FMU description with every ``variable_unit`` of the problem file applied.

    The unit of a variable is the same in all experiments and for all parameters that set
    it, wherever it is given. Raises `ProblemError` if a variable is given two different
    units.
    """
    units_by_name: dict[str, tuple[str, Location]] = {}
    for name, unit, keys in tables.own_units():
        place = tables.section.source.where(keys)
        first, where = units_by_name.setdefault(name, (unit, place))
        if not same_unit(first, unit):
            raise ProblemError(
                f"the FMU's variable '{name}' is in '{first}' (line {where.line}) and in '{unit}'",
                location=place,
                hint="a variable has one unit: write it in one place, or the same in all",
            )
    units = {
        name: unit
        for name, (unit, _) in units_by_name.items()
        if unit_or_none(unit) is not None  # where it is written, it is refused if it need be
        and name in description.by_name
        and description.by_name[name].unit is None
    }
    if not units:
        return description
    variables = tuple(
        dataclasses.replace(v, unit=units.get(v.name, v.unit)) for v in description.variables
    )
    return dataclasses.replace(description, variables=variables)


def in_own_unit(
    table: ParameterTable | InputTable | OutputTable, variable: Variable, given: str | None
) -> Variable:
    """Return the variable with the ``variable_unit`` given in the problem file, if any.

    `table` names the variable, and `given` is the unit of the values. A ``variable_unit``
    that cannot be parsed is accepted if it equals `given`, since nothing is converted then.
    Raises `ProblemError` if the unit cannot be parsed or differs from the FMU's.
    """
    unit, section = table.variable_unit, table.section
    if unit is None or unit == variable.unit:
        return variable
    if unit != given:
        try:
            parse_unit(unit)
        except UnitError as error:
            raise section.at_key(error, "variable_unit") from error
    if variable.unit is not None and not same_unit(unit, variable.unit):
        raise section.error(
            f"the FMU says that '{variable.name}' is in '{variable.unit}', not in '{unit}'",
            "variable_unit",
            hint="leave it out: it is for variables without a unit",
        )
    return variable if variable.unit is not None else dataclasses.replace(variable, unit=unit)


def stays_as_is(given: str | None, wanted: str | None) -> bool:
    """Return whether values stay in a unit that is not SI because the variable has none."""
    if given is None or wanted is not None:
        return False
    unit = unit_or_none(given)
    return unit is None or not in_si(unit)


def note_as_is(
    what: str, unit: str | None, variable: Variable, place: Location | None, write: str
) -> Diagnostic | None:
    """Return a note if values stay in a unit that is not SI because the variable has none.

    It is ``None`` where the values are converted, have no unit, or are in SI units. `what`
    names the quantity, such as ``"column 'speed'"``, and `write` is the line of the problem
    file, with ``...`` for ``variable_unit = "m/s"``.
    """
    if not stays_as_is(unit, variable.unit):
        return None
    own = f'variable_unit = "{unit}"'
    if (parsed := unit_or_none(unit)) is None:
        line = write.replace("...", own)
        advice = f"The unit cannot be read; write {line} if the model itself calculates in it"
    else:
        si = si_symbols(parsed)
        line = write.replace("...", f'variable_unit = "{si}"')
        advice = (
            f"Write {line} to have them converted to {si},"
            f" or {own} if the model itself calculates in {unit}"
        )
    return Diagnostic(
        "note",
        f"{what} is in {unit}, but the FMU's variable '{variable.name}' has no unit: the values"
        f" are taken as they are. {advice}",
        place,
        rule="unit-not-converted",
    )


def start_values(section: Section, description: ModelDescription) -> dict[str, float | str]:
    """Read a table ``start_values``, ``FMU variable = value``.

    Raises `ProblemError` for an unknown variable, one that cannot be set, or a value of the
    wrong type.
    """
    values: dict[str, float | str] = {}
    for name, value in section.content.items():
        variable = variable_of(section, description, name, name)
        if not variable.settable and variable.causality != "input":
            known = description.why_not_settable(name)
            reason, advice = known or (f"it is {variable.why_not_settable}", "")
            raise section.error(
                f"'{name}' cannot be set in the FMU: {reason}",
                name,
                hint=advice or _settable_hint(name, description),
                code=Code.NOT_SETTABLE,
            )
        wanted = _START_KINDS[variable.type]
        if not wanted.fits(value):
            raise section.error(
                f"{section.title}: '{name}' must be {wanted.words}, not {written(value)}",
                name,
                code=Code.WRONG_TYPE,
            )
        values[name] = float(value) if variable.type == "Real" else value
    return values


def variable_of(section: Section, description: ModelDescription, name: str, *keys: str) -> Variable:
    """Return a variable of the FMU; an error has the location of the key that names it."""
    try:
        return description.variable(name)
    except FmuError as error:
        known = description.why_not_settable(name)
        if known is not None:
            reason, advice = known
            message = f"'{name}' is not a variable of the FMU: {reason}"
            raise section.error(message, *keys, hint=advice, code=Code.NOT_SETTABLE) from error
        raise section.at_key(error, *keys) from error


@dataclass(frozen=True)
class _Kind:
    """Permissible start values of a variable type."""

    words: str
    fits: Callable[[Any], bool]


def is_number(value: Any) -> bool:
    """Return whether a value of a TOML file is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_WHOLE = _Kind(
    "a whole number of 32 bits",
    lambda v: is_number(v) and isinstance(v, int) and -(2**31) <= v < 2**31,
)
_START_KINDS = {
    "Real": _Kind("a finite number", lambda v: is_number(v) and bool(np.isfinite(float(v)))),
    "Integer": _WHOLE,
    "Enumeration": _WHOLE,
    "Boolean": _Kind("true or false", lambda v: isinstance(v, bool)),
    "String": _Kind("a text without zero bytes", lambda v: isinstance(v, str) and "\0" not in v),
}


def _settable_hint(name: str, description: ModelDescription) -> str:
    names = [v.name for v in description.settable_parameters]
    return did_you_mean(name, names, kind="parameter that can be set")
