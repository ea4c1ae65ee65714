"""Description of a data file: its time axis and its columns, in numbers and sparklines."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.table import Table
from fmident.data.time import uneven_step
from fmident.errors import DataError

_LONG = 1.5
"""A step of more than this many median steps is a pause."""

_EVEN = 1e-3
"""Steps are even when none differs by more than this share of the median from it."""

_LEVELS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class ColumnDescription:
    """One column of a data file.

    `samples`, `missing` and `infinite` count numbers, gaps and infinite values; `smallest`,
    `largest` and `mean` are NaN without numbers. `spark` is a sparkline over the rows.
    `first_missing` and `first_infinite` are locations such as ``"line 5"``, empty if there
    is none. `problem` says why the column is not numeric, ``None`` if it is.
    """

    name: str
    unit: str | None
    samples: int
    missing: int
    infinite: int
    smallest: float
    largest: float
    mean: float
    spark: str
    first_missing: str = ""
    first_infinite: str = ""
    problem: str | None = None


@dataclass(frozen=True)
class TimeDescription:
    """The time axis of a data file.

    Times are in s; `since` is the instant that is 0 s, if the file has time stamps. `step`
    is the median step and `even` whether all are equal; `shortest` and `longest` are the
    extremes. `pauses` has start and length of each step longer than 1.5 times the median.
    """

    column: str
    start: float
    stop: float
    since: str | None
    step: float
    even: bool
    shortest: float
    longest: float
    pauses: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class DataDescription:
    """A data file.

    `form` describes the format of a CSV file in words (``None`` for other formats), and
    `columns` has all columns but the time.
    """

    file: str
    rows: int
    form: str | None
    time: TimeDescription
    columns: tuple[ColumnDescription, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-compatible dictionary; non-finite numbers are ``None``."""
        columns = [
            {k: _finite(v) for k, v in vars(c).items() if k != "spark"} for c in self.columns
        ]
        return asdict(self) | {"columns": columns}


def describe(table: Table, times: F64, column: str, width: int = 24) -> DataDescription:
    """Describe a table as read, with the time axis `times`, s, shape (n,).

    `column` is the name of the time column, and `width` the maximum length of the
    sparklines.
    """
    form = None if table.form is None else table.form.text()
    columns = tuple(_column(table, name, width) for name in table.names if name != column)
    return DataDescription(str(table.path), times.size, form, _time(table, times, column), columns)


def spark(values: F64, width: int = 24) -> str:
    """Return a sparkline of a signal with eight levels; blanks mark missing values.

    `values` has shape (n,), NaN for gaps. There are at most `width` characters, each for
    the mean of its part of the samples.
    """
    means = []
    for part in np.array_split(values, min(width, values.size)):
        there = part[np.isfinite(part)]
        means.append(float(there.mean()) if there.size else float("nan"))
    heights = np.array(means)
    known = heights[np.isfinite(heights)]
    if not known.size:
        return " " * heights.size
    low, span = float(known.min()), float(np.ptp(known))
    scaled = np.zeros_like(heights) if span == 0.0 else (heights - low) / span
    return "".join(
        " " if np.isnan(h) else _LEVELS[min(int(h * len(_LEVELS)), len(_LEVELS) - 1)]
        for h in scaled
    )


def _column(table: Table, name: str, width: int) -> ColumnDescription:
    try:
        values = table.column(name)
    except DataError as error:
        nan = float("nan")
        return ColumnDescription(
            name, table.units.get(name), 0, 0, 0, nan, nan, nan, "", problem=error.message
        )
    there = values[np.isfinite(values)]
    low, high, mean = (
        map(float, (there.min(), there.max(), there.mean())) if there.size else (np.nan,) * 3
    )
    return ColumnDescription(
        name,
        table.units.get(name),
        there.size,
        int(np.isnan(values).sum()),
        int(np.isinf(values).sum()),
        low,
        high,
        mean,
        spark(values, width),
        _first(table, np.isnan(values)),
        _first(table, np.isinf(values)),
    )


def _first(table: Table, rows: npt.NDArray[np.bool_]) -> str:
    if not rows.any():
        return ""
    row = int(np.argmax(rows))
    return f"row {row + 1}" if table.lines is None else f"line {table.lines[row]}"


def _time(table: Table, times: F64, column: str) -> TimeDescription:
    steps = np.diff(times)
    step = float(np.median(steps))
    pauses = np.flatnonzero(steps > _LONG * step)
    origin = table.origins.get(column)
    return TimeDescription(
        column,
        float(times[0]),
        float(times[-1]),
        None if origin is None else origin.text(),
        step,
        uneven_step(times, step, _EVEN) is None,
        float(steps.min()),
        float(steps.max()),
        tuple((float(times[k]), float(steps[k])) for k in pauses),
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
