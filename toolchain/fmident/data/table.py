"""Read measured data from CSV files.

Column names are free; a unit may stand behind the name in brackets or parentheses. The
separator is a comma, a semicolon or a tab; with the latter two, a decimal comma is
understood. Empty cells and ``NaN`` are gaps. Lines that start with ``#`` are comments.
Every error names the line.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from fmident._types import F64
from fmident.errors import DataError, Location, UnitError, did_you_mean
from fmident.units import parse_unit

Reader: TypeAlias = Callable[[Path, dict[str, Any]], pd.DataFrame | None]
"""Reads a format of its own, or returns ``None``."""

_GAPS = ["", "NaN", "nan", "NAN", "NA", "N/A", "n/a", "null", "None", "-", "#N/A"]
_SPACED_UNIT = re.compile(r"^(?P<name>.*\S)\s+(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>.*)\))$")
_TIGHT_UNIT = re.compile(r"^(?P<name>.*\S)(?:\[(?P<a>[^\[\]]*)\]|\((?P<b>[^()]*)\))$")


@dataclass(frozen=True)
class Table:
    """A data file in memory.

    Parameters
    ----------
    path
        The file.
    frame
        Columns by bare name, float64, NaN for gaps.
    units
        Column to unit as written in the header, ``None`` where there is none.
    lines
        Line of the file for each row, counted from 1; row numbers for formats without lines.
    """

    path: Path
    frame: pd.DataFrame
    units: Mapping[str, str | None]
    lines: npt.NDArray[np.int64]

    def column(self, name: str) -> F64:
        """Return a column, shape (n,).

        Raises
        ------
        DataError
            There is none of this name; the nearest ones are listed.
        """
        if name not in self.frame.columns:
            raise DataError(
                f"there is no column '{name}'",
                location=Location(str(self.path)),
                hint=did_you_mean(name, [str(c) for c in self.frame.columns], kind="column"),
            )
        return self.frame[name].to_numpy(dtype=np.float64)

    def where(self, row: int) -> Location:
        """Return the place of a row in the file."""
        return Location(str(self.path), int(self.lines[row]))


def read_table(
    path: str | Path, spec: Mapping[str, Any] | None = None, *, reader: Reader | None = None
) -> Table:
    """Read a data file.

    Parameters
    ----------
    path
        The file.
    spec
        The experiment's table of the problem file, handed to `reader`.
    reader
        Asked first; a plugin's format.

    Returns
    -------
    Table

    Raises
    ------
    DataError
        Missing, empty, ragged, with cells that are no numbers, with a column twice.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"'{path}' is a folder", hint="name a CSV file")
    if not path.exists():
        near = [p.name for p in path.parent.glob("*.csv")] if path.parent.is_dir() else []
        raise DataError(
            f"there is no data file '{path}'",
            hint=did_you_mean(path.name, near, kind="file") if near else "check the path",
        )
    if reader is not None:
        frame = reader(path, dict(spec or {}))
        if frame is not None:
            return _from_frame(path, frame)
    return _read_csv(path)


def split_header(cell: str) -> tuple[str, str | None]:
    """Return name and unit of a header cell.

    ``q[1] [rad]`` is ``q[1]`` in rad; ``q[1]`` alone has no unit, for an index is no unit.

    Parameters
    ----------
    cell
        As it stands in the file.
    """
    text = cell.strip()
    spaced = _SPACED_UNIT.match(text)
    if spaced is not None:
        return spaced["name"], (spaced["a"] if spaced["a"] is not None else spaced["b"]).strip()
    tight = _TIGHT_UNIT.match(text)
    if tight is not None:
        inner = (tight["a"] if tight["a"] is not None else tight["b"]).strip()
        if inner and not re.fullmatch(r"[\d\s,.:]*", inner) and _is_unit(inner):
            return tight["name"], inner
    return text, None


def _is_unit(text: str) -> bool:
    try:
        parse_unit(text)
    except UnitError:
        return False
    return True


def _from_frame(path: Path, frame: pd.DataFrame) -> Table:
    names, units = _columns(path, [str(c) for c in frame.columns], None)
    try:
        numbers = frame.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"a column is not numeric: {error}", location=Location(str(path))
        ) from error
    if numbers.empty:
        raise DataError("the file has no rows", location=Location(str(path)))
    return Table(
        path, numbers.set_axis(names, axis=1), units, np.arange(1, len(numbers) + 1, dtype=np.int64)
    )


def _read_csv(path: Path) -> Table:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"the file is not text in UTF-8 (byte {error.start})",
            location=Location(str(path)),
            hint="save it as CSV in UTF-8; other formats need a plugin (hook fmident_read_data)",
        ) from error
    lines = text.splitlines()
    rows = [
        number
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not rows:
        raise DataError(
            "the file is empty",
            location=Location(str(path)),
            hint="a header line and at least two rows of numbers are needed",
        )
    header = lines[rows[0] - 1]
    separator = _separator(header)
    names, units = _columns(path, _cells(header, separator), rows[0])
    if len(rows) == 1:
        raise DataError("the file has a header but no rows", location=Location(str(path), rows[0]))
    body = rows[1:]
    _refuse_ragged(path, lines, body, separator, len(names))
    decimal = "."
    if separator != "," and any("," in lines[n - 1] for n in body[:50]):
        decimal = ","
    joined = "\n".join(lines[n - 1] for n in body)
    try:
        frame = pd.read_csv(
            io.StringIO(joined),
            sep=separator,
            decimal=decimal,
            header=None,
            names=names,
            index_col=False,
            dtype=np.float64,
            na_values=_GAPS,
            skipinitialspace=True,
            skip_blank_lines=False,
            float_precision="round_trip",
        )
    except (ValueError, pd.errors.ParserError) as error:
        raise _bad_cell(path, lines, body, separator, decimal, names) from error
    return Table(path, frame, units, np.array(body, dtype=np.int64))


def _separator(header: str) -> str:
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\([^)]*\)', "", header)
    for separator in (";", "\t"):
        if separator in bare:
            return separator
    return ","


def _cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])


def _columns(
    path: Path, cells: list[str], line: int | None
) -> tuple[list[str], dict[str, str | None]]:
    place = Location(str(path), line)
    names: list[str] = []
    units: dict[str, str | None] = {}
    numbers = 0
    for position, cell in enumerate(cells, 1):
        name, unit = split_header(cell)
        if not name:
            raise DataError(f"column {position} has no name in the header", location=place)
        if name in units:
            raise DataError(f"column '{name}' appears twice in the header", location=place)
        numbers += _is_number(name)
        names.append(name)
        units[name] = unit
    if names and numbers == len(names):
        raise DataError(
            "the first line holds numbers where the names of the columns are expected",
            location=place,
            hint="put a header line above the numbers, such as 'time [s],force [N]'",
        )
    return names, units


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "."))
    except ValueError:
        return False
    return True


def _refuse_ragged(
    path: Path, lines: list[str], body: list[int], separator: str, width: int
) -> None:
    for number in body:
        line = lines[number - 1]
        if '"' not in line and line.count(separator) == width - 1:
            continue
        found = len(_cells(line, separator))
        if found != width:
            raise DataError(
                f"the row has {found} cells, the header has {width}",
                location=Location(str(path), number),
                hint="a decimal comma needs semicolons between the columns"
                if separator == "," and found > width
                else None,
            )


def _bad_cell(
    path: Path, lines: list[str], body: list[int], separator: str, decimal: str, names: list[str]
) -> DataError:
    for number in body:
        for position, cell in enumerate(_cells(lines[number - 1], separator)):
            text = cell.strip()
            plain = text.replace(decimal, ".")
            if text not in _GAPS and not _is_number(plain):
                return DataError(
                    f"'{text}' in column '{names[position]}' is not a number",
                    location=Location(str(path), number, position + 1),
                    hint="leave a cell empty where a sample is missing",
                )
    return DataError("the file cannot be read as a table of numbers", location=Location(str(path)))
