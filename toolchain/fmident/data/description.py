"""What a data file holds: its columns, sampling, gaps and ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.data.table import Table
from fmident.errors import DataError

_LONG = 1.5
"""A step of more than this many median steps is a pause."""

_EVEN = 1e-3
"""Steps are even when none differs by more than this share of the median from it."""

_LEVELS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True)
class ColumnDescription:
    """One column.

    Parameters
    ----------
    name, unit
        As in the header; ``None`` without a unit.
    samples, missing, infinite
        Numbers, gaps and infinite values in it.
    smallest, largest, mean
        Of the numbers; NaN without any.
    spark
        Its course over the rows, one character per part of them.
    first_missing, first_infinite
        Place of the first of these, such as ``"line 5"``; empty where there is none.
    problem
        Why it is not numeric; ``None`` when it is.
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
    """The time axis.

    Parameters
    ----------
    column
        Its name.
    start, stop
        First and last instant, s.
    since
        The instant that is 0 s, where the file has time stamps.
    step
        Median of the steps, s.
    even
        Whether all steps are that long.
    shortest, longest
        Least and greatest step, s.
    pauses
        Steps of more than one and a half median ones: start of each and its length, s.
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

    Parameters
    ----------
    path
        The file.
    rows
        Their number.
    form
        How a CSV file is written, in words; ``None`` for other formats.
    time
        The time axis.
    columns
        All others.
    """

    path: str
    rows: int
    form: str | None
    time: TimeDescription
    columns: tuple[ColumnDescription, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON; numbers that are not finite are ``None``."""
        time = {key: value for key, value in vars(self.time).items() if key != "pauses"}
        return {
            "file": self.path,
            "rows": self.rows,
            "form": self.form,
            "time": time | {"pauses": [list(p) for p in self.time.pauses]},
            "columns": [
                {key: _finite(value) for key, value in vars(c).items() if key != "spark"}
                for c in self.columns
            ],
        }


def describe(table: Table, times: F64, column: str, width: int = 24) -> DataDescription:
    """Describe a table.

    Parameters
    ----------
    table
        As read.
    times
        Its time axis, s, shape (n,).
    column
        Name of the time column.
    width
        Characters of the course of a column.
    """
    form = None if table.form is None else table.form.text()
    columns = tuple(_column(table, name, width) for name in table.names if name != column)
    return DataDescription(str(table.path), times.size, form, _time(table, times, column), columns)


def spark(values: F64, width: int = 24) -> str:
    """Return the course of a signal in characters of eight heights; a blank where it is missing.

    Parameters
    ----------
    values
        Shape (n,), NaN for gaps.
    width
        Characters at most; each is the mean of its part of the samples.
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
        bool(np.abs(steps - step).max() <= _EVEN * step),
        float(steps.min()),
        float(steps.max()),
        tuple((float(times[k]), float(steps[k])) for k in pauses),
    )


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value
