"""Units of data and parameters against the FMU's own."""

from __future__ import annotations

import dataclasses

from fmident.arrays import F64
from fmident.errors import Diagnostic, Location, ProblemError, UnitError
from fmident.fmu import Variable
from fmident.toml_file import Section
from fmident.units import compatible, convert, in_si, parse_unit, si_symbols


def to_unit(values: F64, given: str | None, wanted: str | None, what: str, where: Location) -> F64:
    """Return the values in the FMU's unit.

    A unit that is missing on either side is taken for the other one; :func:`note_as_is` says
    where that leaves values in a unit that is not SI.

    Parameters
    ----------
    values
        Any shape.
    given, wanted
        Unit of the values, and the FMU's.
    what
        Name of the quantity for the message, such as ``"column 'tau'"``.
    where
        Place for the message.

    Raises
    ------
    ProblemError
        A unit cannot be read, or the two do not fit.
    """
    if given is None or wanted is None or given == wanted:
        return values
    try:
        source = parse_unit(given)
    except UnitError as error:
        raise ProblemError(f"{what}: {error.message}", location=where, hint=error.hint) from error
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
    """Return whether values can be converted; a unit that is missing fits any other."""
    if a is None or b is None or a == b:
        return True
    try:
        return compatible(parse_unit(a), parse_unit(b))
    except UnitError:
        return False


def in_own_unit(section: Section, variable: Variable) -> Variable:
    """Return the variable with the unit ``variable_unit`` that the problem file gives it, if any.

    Parameters
    ----------
    section
        The table that names the variable.
    variable
        Of the FMU.

    Raises
    ------
    ProblemError
        The FMU says another unit.
    """
    unit = section.text("variable_unit", None)
    if unit is None or unit == variable.unit:
        return variable
    if variable.unit is not None:
        raise section.error(
            f"the FMU says that '{variable.name}' is in '{variable.unit}', not in '{unit}'",
            "variable_unit",
            hint="leave it out: it is for variables without a unit",
        )
    return dataclasses.replace(variable, unit=unit)


def stays_as_is(given: str | None, wanted: str | None) -> bool:
    """Return whether values stay in a unit that is not SI, for want of one to convert them to."""
    if given is None or wanted is not None:
        return False
    try:
        return not in_si(parse_unit(given))
    except UnitError:
        return True


def note_as_is(
    what: str, unit: str | None, variable: Variable, place: Location | None, write: str
) -> Diagnostic | None:
    """Return that values stay in a unit that is not SI, since the variable has none.

    Parameters
    ----------
    what
        Name of the quantity, such as ``"column 'speed'"``.
    unit
        Of its values, or ``None``.
    variable
        Of the FMU.
    place
        For the note.
    write
        The line of the problem file, with ``...`` for ``variable_unit = "m/s"``.

    Returns
    -------
    Diagnostic or None
        ``None`` where the values are converted, have no unit, or are in SI units.
    """
    if not stays_as_is(unit, variable.unit):
        return None
    own = f'variable_unit = "{unit}"'
    try:
        si = si_symbols(parse_unit(str(unit)))
        line = write.replace("...", f'variable_unit = "{si}"')
        advice = (
            f"Write {line} to have them converted to {si},"
            f" or {own} if the model itself calculates in {unit}"
        )
    except UnitError:
        line = write.replace("...", own)
        advice = f"The unit cannot be read; write {line} if the model itself calculates in it"
    return Diagnostic(
        "note",
        f"{what} is in {unit}, but the FMU's variable '{variable.name}' has no unit: the values"
        f" are taken as they are. {advice}",
        place,
        rule="unit-not-converted",
    )
