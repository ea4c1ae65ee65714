"""Time axes: detection, checks, merging."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.table import Table
from fmident.errors import Code, DataError, Location, UnitError
from fmident.units import compatible, convert, parse_unit

TIME_NAMES = ("time", "t", "zeit", "timestamp")


def time_column(table: Table, name: str | None = None) -> str:
    """Return the name of the time column.

    It is `name` if given, else a column named time or t, else the first one of a text file.
    Raises `DataError` if there is none of this name, or if data that are not from a text
    file have no column named time.
    """
    if name is not None:
        table.column(name)
        return name
    columns = table.names
    named = [c for c in columns if c.casefold() in TIME_NAMES]
    if not named and table.lines is None:
        raise DataError(
            "there is no column 'time'",
            location=Location(str(table.path)),
            hint="the data have the columns "
            + (", ".join(f"'{c}'" for c in columns) or "(none)")
            + '; write time = "NAME" if one of them is the time',
            code=Code.UNKNOWN_NAME,
        )
    return (named or columns)[0]


def time_axis(table: Table, column: str) -> F64:
    """Return the instants in s, shape (n,), strictly increasing.

    Raises `DataError`, with the line, for gaps, equal or decreasing instants, fewer than
    two rows, or a unit that is not a time.
    """
    times = table.column(column)
    missing = np.flatnonzero(~np.isfinite(times))
    if missing.size:
        row = int(missing[0])
        raise DataError(
            f"the time '{column}' is {'infinite' if np.isinf(times[row]) else 'missing'}"
            f"{table.in_row(row)}",
            location=table.where(row),
        )
    if times.size < 2:
        raise DataError("there are fewer than two rows", location=Location(str(table.path)))
    steps = np.diff(times)
    wrong = np.flatnonzero(steps <= 0.0)
    if wrong.size:
        row = int(wrong[0]) + 1
        what = "appears twice" if steps[row - 1] == 0.0 else f"goes back from {times[row - 1]:g}"
        more = f" ({wrong.size} such rows)" if wrong.size > 1 else ""
        raise DataError(
            f"time {times[row]:g} {what}{table.in_row(row)}{more}",
            location=table.where(row),
            hint=_advice(table, column, steps[row - 1] == 0.0),
        )
    unit = table.units.get(column)
    if unit is None:
        return times
    try:
        parsed = parse_unit(unit)
    except UnitError as error:
        raise DataError(
            f"the unit of the time column '{column}': {error.message}",
            location=Location(str(table.path)),
            hint=error.hint,
            code=error.code,
        ) from error
    second = parse_unit("s")
    if not compatible(parsed, second):
        raise DataError(
            f"the time column '{column}' has the unit '{unit}', which is not a time",
            location=Location(str(table.path)),
        )
    return convert(times, parsed, second)


def _advice(table: Table, column: str, twice: bool) -> str:
    origin = table.origins.get(column)
    if origin is not None and origin.kind == "clock" and not twice:
        return "after midnight a column with the day is needed"
    if origin is not None and twice:
        return "write time stamps with as many digits as the samples need, or remove duplicates"
    return "sort the rows by time and remove duplicates"


def uneven_step(times: F64, step: float, tolerance: float) -> int | None:
    """Return the number of the step that differs most from the nominal `step`, s.

    ``None`` if the samples are equidistant: no step differs by more than `tolerance` times the
    nominal one. There are at least two samples.
    """
    differences = np.abs(np.diff(times) - step)
    worst = int(np.argmax(differences))
    return worst if differences[worst] > tolerance * step else None


def tolerance_of(times: F64) -> float:
    """Return the difference up to which two time stamps count as the same instant, s.

    It is a millionth of the smallest step, or a few rounding errors of the largest stamp if
    that is more (seconds since 1970), but at most a quarter of the step.
    """
    if times.size < 2:
        return float("inf")
    step = float(np.diff(times).min())
    rounding = 4.0 * float(np.spacing(np.abs(times[[0, -1]]).max()))
    return min(max(1e-6 * step, rounding), 0.25 * step)


def merge(first: F64, second: F64) -> tuple[F64, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Merge two time axes, identifying instants that differ within the tolerance.

    `first` and `second` are strictly increasing; instants in both take the stamp of
    `first`. Return the merged times, shape (k,), and the index in them of each instant of
    `first` and `second`.
    """
    tolerance = min(tolerance_of(first), tolerance_of(second), 1e-3)
    place = np.clip(np.searchsorted(first, second), 0, first.size - 1)
    before = np.clip(place - 1, 0, first.size - 1)
    nearer = np.where(
        np.abs(first[before] - second) <= np.abs(first[place] - second), before, place
    )
    same = np.abs(first[nearer] - second) <= tolerance
    times = np.sort(np.concatenate([first, second[~same]]))
    aligned = np.where(same, first[nearer], second)
    return times, np.searchsorted(times, first), np.searchsorted(times, aligned)
