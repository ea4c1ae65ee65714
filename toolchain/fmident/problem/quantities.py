"""Units of data and parameters against the FMU's own."""

from __future__ import annotations

from fmident._types import F64
from fmident.errors import Location, ProblemError, UnitError
from fmident.units import compatible, convert, parse_unit


def to_unit(values: F64, given: str | None, wanted: str | None, what: str, where: Location) -> F64:
    """Return the values in the FMU's unit.

    A unit that is missing on either side is taken for the other one.

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
