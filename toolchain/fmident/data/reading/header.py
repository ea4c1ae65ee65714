"""Where the header of a CSV file is, and what is between the cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from fmident.data.reading.layout import BLANKS, SEPARATORS
from fmident.data.reading.numbers import is_gap, is_number
from fmident.data.reading.stamps import is_stamp
from fmident.errors import UnitError
from fmident.units import parse_unit

NumberedLine = tuple[int, str]
"""Line of the file, counted from 1, and its text."""

_LOOKED_AT = 200
_TOKENS = re.compile(r'"[^"]*"|\S+')


@dataclass(frozen=True)
class Header:
    """What precedes the rows.

    Parameters
    ----------
    separator
        Between cells.
    place
        Position of the header among the lines that are neither comments nor empty.
    """

    separator: str
    place: int


def find_header(lines: Sequence[NumberedLine], separator: str | None) -> Header | None:
    """Return header and separator of a file that does not begin with its header.

    The header is the last line of names before two rows that begin with a number or a time stamp,
    hold mostly such, and have as many cells; one line of units may be between them.

    Parameters
    ----------
    lines
        Neither comments nor empty.
    separator
        Where the user says it.

    Returns
    -------
    Header or None
        ``None`` where nothing in the first lines looks like that.
    """
    for candidate in [separator] if separator is not None else ["\t", ";", ",", "|", BLANKS]:
        rows = [split_cells(text, candidate) for _, text in lines[:_LOOKED_AT]]
        for first in range(1, len(rows) - 1):
            if not _is_data(rows[first], len(rows[first])):
                continue
            if not _is_data(rows[first + 1], len(rows[first])):
                continue
            for place in (first - 1, first - 2):
                if place >= 0 and _are_names(rows[place], len(rows[first])):
                    if place == first - 2 and not are_units(rows[first - 1]):
                        break
                    if place == first - 1 and place > 0 and _names_above(rows, place):
                        continue
                    return Header(candidate, place)
            break
    return None


def are_units(cells: Sequence[str]) -> bool:
    """Return whether a row below the header holds units: mostly such, and no number at all."""
    filled = [bare_unit(c) for c in cells if c.strip() not in ("", "-")]
    if not filled or any(is_number(c) or is_stamp(c) or is_gap(c) for c in filled):
        return False
    known = sum(_is_unit(c) for c in filled)
    return 2 * known > len(filled)


def bare_unit(cell: str) -> str:
    """Return a unit without the brackets around it."""
    text = cell.strip()
    if (text[:1], text[-1:]) in (("[", "]"), ("(", ")")):
        text = text[1:-1].strip()
    return text


def usual_separator(header: str, first: str) -> str:
    """Return the separator that splits header and first row alike, else the header's."""
    candidates = [s for s in ("\t", ";", ",") if len(split_cells(header, s)) > 1]
    for separator in candidates:
        if len(split_cells(header, separator)) == len(split_cells(first, separator)):
            return separator
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\([^)]*\)', "", header)
    return next((s for s in candidates if s in bare), ",")


def said_separator(line: str) -> str | None:
    """Return the separator of Excel's line ``sep=;``, or ``None``."""
    match = re.fullmatch(r'"?[Ss][Ee][Pp]=(.)"?\s*', line)
    return match[1] if match is not None and match[1] in SEPARATORS else None


def split_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line; a cell in quotation marks may hold the separator."""
    if separator == BLANKS:
        return _blank_separated(line)
    if '"' not in line:
        return line.split(separator)
    try:
        return _quoted(line, separator)
    except csv.Error:  # a cell of more than 128 KiB
        usual = csv.field_size_limit(len(line) + 1)
        try:
            return _quoted(line, separator)
        finally:
            csv.field_size_limit(usual)


def _quoted(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])


def _blank_separated(line: str) -> list[str]:
    """Return cells between runs of blanks; a unit in brackets goes with the name before it."""
    cells: list[str] = []
    for token in _TOKENS.findall(line):
        if cells and token[0] in "[(":
            cells[-1] += f" {token}"
        else:
            cells.append(token.strip('"'))
    return cells


def _is_data(cells: Sequence[str], width: int) -> bool:
    """Return whether the first cell is a number or a time stamp, and most others are, or gaps."""
    while len(cells) > width and not cells[-1].strip():
        cells = cells[:-1]
    if len(cells) != width or width < 2:
        return False
    known = [is_number(c) or is_stamp(c.strip()) for c in cells]
    count = sum(k or is_gap(c) for k, c in zip(known, cells, strict=True))
    return known[0] and 2 * count > len(cells)


def _are_names(cells: Sequence[str], width: int) -> bool:
    return len(cells) == width and all(
        not is_number(c) and not is_stamp(c.strip()) for c in cells
    ) and sum(bool(c.strip()) for c in cells) >= max(1, width - 1)  # fmt: skip


def _names_above(rows: Sequence[Sequence[str]], place: int) -> bool:
    """Return whether a line is one of units below names, rather than names itself."""
    return are_units(rows[place]) and _are_names(rows[place - 1], len(rows[place]))


def _is_unit(text: str) -> bool:
    try:
        parse_unit(text)
    except UnitError:
        return False
    return True
