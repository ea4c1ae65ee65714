"""The text of a CSV file as a header and columns of cells, with the line of every row."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, DataError, Location

GAPS = frozenset({"", "-", "nan", "na", "n/a", "#n/a", "null", "none"})
"""Cells that mean a missing sample, in small letters."""

_NOT_CSV = "other formats than CSV need a plugin (hook fmident_read_data)"


@dataclass(frozen=True)
class CsvText:
    """A CSV file, split into cells.

    Parameters
    ----------
    path
        The file.
    header
        Cells of the header line.
    header_line
        Its line, counted from 1.
    rows
        Cells of the rows, each as many as the header has.
    lines
        Line of each row.
    separator
        Comma, semicolon or tab.
    """

    path: Path
    header: tuple[str, ...]
    header_line: int
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    separator: str


def read_csv_text(path: Path) -> CsvText:
    """Split a file into cells.

    Raises
    ------
    DataError
        Not text, empty, without rows, with rows of unequal length.
    """
    numbered = [
        (number, line)
        for number, line in enumerate(_lines(path), 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not numbered:
        raise DataError(
            "the file is empty",
            location=Location(str(path)),
            hint="a header line and at least two rows of numbers are needed",
        )
    header_line, first = numbered[0]
    body = numbered[1:]
    if not body:
        raise DataError(
            "the file has a header but no rows", location=Location(str(path), header_line)
        )
    separator = _separator(first, body[0][1])
    header = _cells(first, separator)
    while header and not header[-1].strip():
        header.pop()
    rows = []
    for number, line in body:
        cells = _cells(line, separator)
        if len(cells) > len(header) and not any(c.strip() for c in cells[len(header) :]):
            cells = cells[: len(header)]  # separators at the end of the line
        if len(cells) != len(header):
            raise _ragged(Location(str(path), number), len(cells), len(header), separator)
        rows.append(cells)
    return CsvText(path, tuple(header), header_line, rows, [n for n, _ in body], separator)


def read_numbers(
    text: CsvText, names: Sequence[str | None]
) -> tuple[dict[str, F64], dict[str, DataError]]:
    """Turn columns of cells into numbers.

    Parameters
    ----------
    text
        The cells.
    names
        Name of each column; one without a name is left out.

    Returns
    -------
    numbers
        Column to values, shape (n,), NaN for gaps.
    errors
        Columns that hold something else, with what and where.
    """
    numbers: dict[str, F64] = {}
    errors: dict[str, DataError] = {}
    commas: dict[str, F64] = {}
    point = False
    for position, name in enumerate(names):
        if name is None:
            continue
        cells = [row[position] for row in text.rows]
        plain = _floats(cells)
        if plain is not None:
            numbers[name] = plain
            point = point or any("." in c for c in cells)
            continue
        comma = text.separator != "," and not any("." in c for c in cells)
        swapped = _floats([c.replace(",", ".") for c in cells]) if comma else None
        if swapped is not None:
            commas[name] = swapped
        else:
            errors[name] = _bad_cell(text, position, name, "," if comma else ".")
    if point:
        # With decimal points elsewhere, "1,000" could be a thousand as well as one.
        where = {name: position for position, name in enumerate(names) if name is not None}
        errors.update({name: _bad_cell(text, where[name], name) for name in commas})
    else:
        numbers.update(commas)
    ordered = {n: numbers[n] for n in names if n is not None and n in numbers}
    return ordered, errors


def is_number(text: str) -> bool:
    """Return whether a cell is a number, with decimal point or comma."""
    return _floats([text.replace(",", ".")], gaps=()) is not None


def _lines(path: Path) -> list[str]:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{content[error.start]:02x} is not text in UTF-8",
            location=Location(str(path), content.count(b"\n", 0, error.start) + 1),
            hint=f"save the file as CSV in UTF-8; {_NOT_CSV}",
            code=Code.UNUSABLE_FILE,
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(
            "the file is not text (it holds a zero byte)",
            location=Location(str(path), line),
            hint=_NOT_CSV,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _separator(header: str, first: str) -> str:
    """Return the separator that splits header and first row alike, else the header's."""
    candidates = [s for s in ("\t", ";", ",") if len(_cells(header, s)) > 1]
    for separator in candidates:
        if len(_cells(header, separator)) == len(_cells(first, separator)):
            return separator
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\([^)]*\)', "", header)
    return next((s for s in candidates if s in bare), ",")


def _cells(line: str, separator: str) -> list[str]:
    if '"' not in line:
        return line.split(separator)
    try:
        return _quoted_cells(line, separator)
    except csv.Error:  # a cell of more than 128 KiB
        usual = csv.field_size_limit(len(line) + 1)
        try:
            return _quoted_cells(line, separator)
        finally:
            csv.field_size_limit(usual)


def _quoted_cells(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])


def _floats(cells: Sequence[str], gaps: Collection[str] = GAPS) -> F64 | None:
    """Return numbers, NaN for gaps; ``None`` when a cell is neither."""
    if any("_" in c for c in cells):  # Python reads 1_000 as a number
        return None
    try:
        return np.array([float(c) for c in cells])
    except ValueError:
        pass
    try:
        return np.array([float("nan") if c.strip().lower() in gaps else float(c) for c in cells])
    except ValueError:
        return None


def _bad_cell(text: CsvText, position: int, name: str, decimal: str = ".") -> DataError:
    for line, row in zip(text.lines, text.rows, strict=True):
        cell = row[position].strip()
        if _floats([cell.replace(decimal, ".")]) is None:
            return DataError(
                f"'{cell}' in column '{name}' is not a number",
                location=Location(str(text.path), line, position + 1),
                hint=_advice(text, cell),
                code=Code.NOT_A_NUMBER,
            )
    raise AssertionError(f"column '{name}' is numeric")


def _advice(text: CsvText, cell: str) -> str:
    if len(text.header) == 1:
        return "cells are separated by comma, semicolon or tab"
    if "," in cell and is_number(cell):
        return "use either decimal points or decimal commas throughout the file"
    return "leave a cell empty where a sample is missing"


def _ragged(place: Location, found: int, expected: int, separator: str) -> DataError:
    decimal_comma = separator == "," and found > expected
    return DataError(
        f"the row has {found} cells, the header has {expected}",
        location=place,
        hint="a decimal comma needs semicolons between the columns" if decimal_comma else None,
    )
