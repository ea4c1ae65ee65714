"""Read measured data from CSV files.

Column names are free; a unit may follow the name in brackets or parentheses, or be in a
row below the names. Separator, decimal sign, encoding and header line are detected
unless the user specifies them. Empty cells and ``NaN`` are gaps, and lines that start
with ``#`` are comments. Every error names the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident.arrays import F64
from fmident.data.csv import CsvFormat, CsvOptions, is_number, read_csv_text, read_numbers
from fmident.data.outliers import Outliers
from fmident.data.stamps import TimeOrigin
from fmident.errors import Code, DataError, Diagnostic, Location, nearest_file, unknown_name
from fmident.units import unit_or_none

Reader: TypeAlias = Callable[[Path, dict[str, Any]], pd.DataFrame | None]
"""Reads a format of its own, or returns ``None``."""

_SPACED_UNIT = re.compile(r"^(?P<name>.*\S)\s+(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>.*)\))$")
_TIGHT_UNIT = re.compile(r"^(?P<name>.*\S)(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>[^()]*)\))$")


@dataclass(frozen=True)
class Table:
    """A data file in memory.

    Parameters
    ----------
    columns
        Numeric columns by bare name, shape (n,), NaN for gaps.
    units
        Column to unit as written in the header, ``None`` if there is none.
    lines
        Line number of each row, counted from 1; ``None`` for formats without lines.
    errors
        Columns that are not numeric, with the reason; raised only when one of them is used.
    origins
        Columns of time stamps, with values in seconds, to the instant that is 0 s.
    form
        Format of a CSV file; ``None`` for other formats.
    notes
        A note on what was detected, if the format is unusual.
    outliers
        Column to the samples that a filter has removed from it or replaced.
    """

    path: Path
    columns: Mapping[str, F64]
    units: Mapping[str, str | None]
    lines: npt.NDArray[np.int64] | None
    errors: Mapping[str, DataError] = field(default_factory=dict)
    origins: Mapping[str, TimeOrigin] = field(default_factory=dict)
    form: CsvFormat | None = None
    notes: tuple[Diagnostic, ...] = ()
    outliers: Mapping[str, Outliers] = field(default_factory=dict)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """The numeric columns as a pandas frame."""
        return pd.DataFrame(dict(self.columns))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return next((column.size for column in self.columns.values()), 0)

    @property
    def names(self) -> list[str]:
        """All columns, numeric or not."""
        return list(self.units)

    def column(self, name: str) -> F64:
        """Return a column, shape (n,).

        Raises `DataError` if there is no such column (similar names are listed), or if it holds
        anything but numbers and gaps.
        """
        if name in self.errors:
            raise self.errors[name]
        if name not in self.columns:
            raise DataError(
                f"there is no column '{name}'",
                location=Location(str(self.path)),
                **unknown_name(name, self.names, "column"),
            )
        return self.columns[name]

    def where(self, row: int) -> Location:
        """Return the location of a row, without a line number if the format has no lines."""
        return Location(str(self.path), None if self.lines is None else int(self.lines[row]))

    def in_row(self, row: int) -> str:
        """Return ``" in row N"``, counted from 1, if :meth:`where` has no line; else ``""``."""
        return f" in row {row + 1}" if self.lines is None else ""


def read_table(
    path: str | Path,
    spec: Mapping[str, Any] | None = None,
    *,
    reader: Reader | None = None,
    layout: CsvOptions | None = None,
) -> Table:
    """Read a data file.

    `spec` is the experiment's table of the problem file, passed to `reader`, which is tried
    first: a plugin's format, or data in memory. `layout` is the format of a CSV file
    specified by the user. Raises `DataError` if the file is missing, empty, ragged, not
    text, or has a duplicate column.
    """
    path = Path(path)
    if isinstance(reader, InMemory) and reader.holds(path):
        held = reader(path, dict(spec or {}))
        assert held is not None
        _refuse_layout(shown_name(path), layout, "data in memory")
        return _from_frame(shown_name(path), held)
    if path.is_dir():
        raise DataError(f"'{path}' is a folder", hint="name a CSV file", code=Code.UNUSABLE_FILE)
    if not path.exists():
        raise DataError(
            f"there is no data file '{path}'",
            hint=nearest_file(path, "*.csv"),
            code=Code.UNKNOWN_NAME,
        )
    if reader is not None:
        frame = reader(path, dict(spec or {}))
        if frame is not None:
            _refuse_layout(path, layout, "a file that is not CSV: a plugin reads it")
            return _from_frame(path, frame)
    return _from_csv(path, layout or CsvOptions())


def _refuse_layout(path: Path, layout: CsvOptions | None, what: str) -> None:
    if layout is not None and layout.given:
        raise DataError(
            f"'{layout.given[0]}' does not apply to {what}",
            location=Location(str(path)),
            hint=f"leave out '{layout.given[0]}'",
        )


def csv_of(table: Table) -> bytes:
    """Return the numeric columns as a CSV file, bit for bit, with their units.

    Raises `DataError` if a column name cannot be represented in such a file.
    """
    units = table.units
    for number, name in enumerate(table.columns):
        if not name.isprintable() or (number == 0 and name.startswith("#")):
            raise DataError(
                f"a CSV file cannot hold the name of column {name!r}",
                location=Location(str(table.path)),
                hint="rename it, or remove the column",
            )
    columns, header = table.frame.copy(), []
    for name in table.columns:
        origin = table.origins.get(name)
        if origin is not None:
            columns[name] = origin.stamps(columns[name].to_numpy())
        unit = units[name] if origin is None else None
        header.append(name if unit is None else f"{name} [{unit}]")
    return bytes(columns.to_csv(index=False, header=header, lineterminator="\n"), "utf-8")


def split_header(cell: str) -> tuple[str, str | None]:
    """Return name and unit of a header cell.

    ``q[1] [rad]`` is ``q[1]`` in rad; ``q[1]`` alone has no unit, since an index is not a
    unit. Text in brackets after a space is always read as a unit, so that a mistake in it
    is noticed; text in parentheses only if it is a valid unit: ``force (measured)``.
    """
    text = cell.strip()
    spaced = _SPACED_UNIT.match(text)
    if spaced is not None and (spaced["a"] is not None or unit_or_none(spaced["b"]) is not None):
        return spaced["name"], (spaced["a"] if spaced["a"] is not None else spaced["b"]).strip()
    tight = _TIGHT_UNIT.match(text)
    if tight is not None and not (tight["b"] and re.search(r"\bder$", tight["name"])):
        inner = (tight["a"] if tight["a"] is not None else tight["b"]).strip()
        if inner and not re.fullmatch(r"[\d\s,.:]*", inner) and unit_or_none(inner) is not None:
            return tight["name"], inner
    return text, None


def _from_csv(path: Path, layout: CsvOptions) -> Table:
    text = read_csv_text(path, layout)
    place = Location(str(path), text.form.header_line)
    if all(is_number(cell) for cell in text.header):
        raise DataError(
            "the first line holds numbers where the names of the columns are expected",
            location=place,
            hint="put a header line above the numbers, such as 'time [s],force [N]'",
        )
    names, units = _columns(text.header, place)
    for name, unit in zip(names, text.units, strict=True):
        if name is None or not unit:
            continue
        if units[name] not in (None, unit):
            raise DataError(
                f"the unit of column '{name}' is '{units[name]}' in the header and '{unit}' in line"
                f" {text.form.units_line}",
                location=place,
                hint="correct one of them, or write units_row = 0 if that line holds no units",
            )
        units[name] = unit
    read = read_numbers(text, names, layout)
    units.update(dict.fromkeys(read.origins, "s"))
    lines = np.array(text.lines, dtype=np.int64)
    return Table(
        path,
        read.values,
        units,
        lines,
        read.errors,
        read.origins,
        read.form,
        _notes(path, read.form, layout),
    )


def _notes(path: Path, form: CsvFormat, layout: CsvOptions) -> tuple[Diagnostic, ...]:
    """Return a note on what was detected if the format is unusual."""
    if form.is_declared(layout):
        return ()
    return (
        Diagnostic(
            "note",
            f"'{path}' is read with {form.text()}",
            hint="'separator', 'decimal', 'encoding', 'skip_rows', 'units_row' and 'dates' in"
            " [[experiments]] replace what is detected wrongly",
            rule="data-layout",
        ),
    )


def _from_frame(path: Path, frame: pd.DataFrame) -> Table:
    place = Location(str(path))
    names, units = _columns([str(c) for c in frame.columns], place)
    if frame.empty:
        raise DataError("there are no rows", location=place)
    numbers: dict[str, F64] = {}
    errors: dict[str, DataError] = {}
    origins: dict[str, TimeOrigin] = {}
    for position, name in enumerate(names):
        if name is None:
            continue
        column = frame.iloc[:, position]
        if column.dtype.kind in "Mm":  # instants and durations
            numbers[name], origin = _seconds(column)
            units[name] = "s"
            if origin is not None:
                origins[name] = origin
            continue
        if column.dtype.kind == "c":  # NumPy would take their real parts without a word
            errors[name] = DataError(
                f"column '{name}' holds complex numbers",
                location=place,
                hint="take their real part or their magnitude",
            )
            continue
        try:
            numbers[name] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError) as error:
            errors[name] = DataError(f"column '{name}' is not numeric: {error}", location=place)
    return Table(path, numbers, units, None, errors, origins)


def _seconds(column: pd.Series[Any]) -> tuple[F64, TimeOrigin | None]:
    """Return durations in s, or instants in s since the first one together with that one."""
    gaps = column.isna().to_numpy()
    if gaps.all():
        return np.full(gaps.size, np.nan), None
    zoned = isinstance(column.dtype, pd.DatetimeTZDtype)
    unit = "timedelta64[ns]" if column.dtype.kind == "m" else "datetime64[ns]"
    plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if zoned else column
    nanoseconds = plain.to_numpy().astype(unit).view(np.int64)
    if column.dtype.kind == "m":
        return np.where(gaps, np.nan, nanoseconds / 1e9), None
    start = int(nanoseconds[~gaps][0])
    seconds = np.where(gaps, np.nan, (nanoseconds - start) / 1e9)
    return seconds, TimeOrigin(start, "instant", zoned)


def _columns(
    cells: Sequence[str], place: Location
) -> tuple[list[str | None], dict[str, str | None]]:
    """Return the name (``None`` if missing) and unit of each column."""
    names: list[str | None] = []
    units: dict[str, str | None] = {}
    for cell in cells:
        name, unit = split_header(cell)
        if name in units:
            raise DataError(f"column '{name}' appears twice in the header", location=place)
        names.append(name or None)
        if name:
            units[name] = unit
    return names, units


class InMemory:
    """Reads frames in memory by file name, and other files with another reader.

    The names are relative to the working directory; the files need not exist.
    """

    def __init__(self, frames: Mapping[str, pd.DataFrame], otherwise: Reader | None = None) -> None:
        self._frames = {Path(name): frame for name, frame in frames.items()}
        self._otherwise = otherwise

    def holds(self, path: Path) -> bool:
        """Return whether a file is in memory."""
        return path in self._frames

    def __call__(self, path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
        """Return the content of a file, or ``None`` if no reader knows it."""
        if path in self._frames:
            return self._frames[path]
        return None if self._otherwise is None else self._otherwise(path, spec)


def shown_name(path: Path) -> Path:
    """Return a frame's name in messages: ``data.NAME``, or ``data`` for a single one."""
    return Path(path.stem if path.stem == "data" else f"data.{path.stem}")
