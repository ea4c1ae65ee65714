"""Split the text of a CSV file into a header and columns of cells."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np

from fmident.arrays import F64
from fmident.data.stamps import DateOrder, StampError, Stamps, TimeOrigin, is_stamp, read_stamps
from fmident.errors import Code, DataError, Location
from fmident.options import NOT_NEGATIVE, OptionError, Options
from fmident.units import unit_or_none

NOT_CSV = "other formats than CSV need a plugin (hook fmident_read_data)"

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEAD_BYTES = 4096
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")


BLANKS = " "
"""The separator that is any run of spaces and tabs."""

SEPARATORS: Mapping[str, str] = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    BLANKS: "blanks",
}
"""Separators of cells, with their names."""


NumberedLine = tuple[int, str]
"""Line of the file, counted from 1, and its text."""

_HEADER_LINES = 200
_TOKENS = re.compile(r'"[^"]*"|\S+')


GAPS = frozenset({"", "-", "nan", "na", "n/a", "#n/a", "null", "none"})
"""Cells that mean a missing sample, in small letters."""

_THOUSANDS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"),
}
"""Numbers with groups of thousands, by decimal sign."""

_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True)
class CsvText:
    """A CSV file, split into cells.

    Each of `rows` has as many cells as the header; `lines` are their line numbers, counted
    from 1. `units` are from a row of units, empty strings if there is none.
    """

    path: Path
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    form: CsvFormat
    units: tuple[str, ...]


@dataclass(frozen=True)
class Numbers:
    """Columns of cells converted to numbers.

    `values` have shape (n,), NaN for gaps, with time stamps in s; `errors` has the reason
    and location for columns with other content, and `origins` the instant that is 0 s for
    columns of time stamps.
    """

    values: Mapping[str, F64]
    errors: Mapping[str, DataError]
    origins: Mapping[str, TimeOrigin]
    form: CsvFormat


def read_csv_text(path: Path, layout: CsvOptions | None = None) -> CsvText:
    """Split a file into cells; `layout` has what the user specified.

    Raises `DataError` if it is not text, is empty, has no rows or rows of unequal length.
    """
    layout = layout or CsvOptions()
    text, encoding = read_text(path, layout.encoding)
    everything = list(enumerate(text.split("\n"), 1))
    numbered = [(k, t) for k, t in everything if t.strip() and not t.lstrip().startswith("#")]
    declared = declared_separator(numbered[0][1]) if numbered else None
    if declared is not None:
        numbered = numbered[1:]
        layout = replace(layout, separator=layout.separator or declared)
    above = 0
    if layout.skip_rows is not None:
        skip = layout.skip_rows
        above = sum(number <= skip for number, _ in numbered)
        numbered = numbered[above:]
    if not numbered:
        raise DataError(
            "the file is empty" if not above else f"no line follows the {skip} that are skipped",
            location=Location(str(path)),
            hint="a header line and at least two rows of numbers are needed",
        )
    if len(numbered) == 1:
        raise DataError(
            "the file has a header but no rows", location=Location(str(path), numbered[0][0])
        )
    separator = layout.separator or usual_separator(numbered[0][1], numbered[1][1])
    form = CsvFormat(encoding, separator, None, 1, above)
    try:
        table_text = _split(path, numbered, everything, form, layout)
    except _RaggedError:
        header = find_header(numbered, layout.separator) if layout.skip_rows is None else None
        if header is None:
            raise
    else:
        if len(table_text.header) > 1 and _is_value(table_text.rows[0][0]):
            return table_text
        header = find_header(numbered, layout.separator) if layout.skip_rows is None else None
        if header is None or (header[1] == 0 and len(table_text.header) > 1):
            return table_text
    separator, place = header
    form = replace(form, separator=separator, passed_over=place)
    return _split(path, numbered[place:], everything, form, layout)


def _is_value(cell: str) -> bool:
    return is_number(cell) or is_gap(cell) or is_stamp(cell.strip())


class _RaggedError(DataError):
    """Rows of unequal length."""


def _header_cells(line: str, separator: str) -> list[str]:
    header = split_cells(line, separator)
    while header and not header[-1].strip():
        header.pop()
    return header


def _split(
    path: Path,
    numbered: Sequence[NumberedLine],
    everything: Sequence[NumberedLine],
    form: CsvFormat,
    layout: CsvOptions,
) -> CsvText:
    separator = form.separator
    header_line, first = numbered[0]
    header = _header_cells(first, separator)
    units_line = _units_line(path, numbered, header, separator, layout.units_row, len(everything))
    rows, lines = [], []
    for number, line in numbered[1:]:
        cells = split_cells(line, separator)
        if len(cells) > len(header) and not any(c.strip() for c in cells[len(header) :]):
            cells = cells[: len(header)]  # separators at the end of the line
        if number == units_line:
            continue
        if len(cells) != len(header):
            raise _ragged(Location(str(path), number), len(cells), len(header), separator)
        rows.append(cells)
        lines.append(number)
    units = [""] * len(header)
    if units_line is not None:
        unit_cells = [bare_unit(c) for c in split_cells(everything[units_line - 1][1], separator)]
        if any(is_number(c) and c != "1" for c in unit_cells):
            raise DataError(
                f"units_row = {units_line}: this line holds numbers",
                location=Location(str(path), units_line),
                hint="units_row is the line of the file that holds the units, counted from 1",
            )
        units = [*unit_cells, *units[len(unit_cells) :]][: len(header)]
    if not rows:
        raise DataError(
            "the file has a header but no rows", location=Location(str(path), header_line)
        )
    form = replace(form, header_line=header_line, units_line=units_line)
    return CsvText(path, tuple(header), rows, lines, form, tuple(units))


def _units_line(
    path: Path,
    numbered: Sequence[NumberedLine],
    header: Sequence[str],
    separator: str,
    given: int | None,
    count: int,
) -> int | None:
    if given is not None:
        if given == 0:
            return None
        if given > count or given == numbered[0][0]:
            what = (
                "is the header" if given <= count else f"is not there: the file has {count} lines"
            )
            raise DataError(
                f"units_row = {given}: this line {what}",
                location=Location(str(path)),
                hint="units_row is the line of the file that holds the units, counted from 1",
            )
        return given
    if len(numbered) < 3:
        return None
    number, line = numbered[1]
    cells = split_cells(line, separator)
    after = split_cells(numbered[2][1], separator)
    fits = len(cells) == len(header) and are_units(cells)
    return number if fits and any(is_number(c) for c in after) else None


def read_numbers(
    text: CsvText, names: Sequence[str | None], layout: CsvOptions | None = None
) -> Numbers:
    """Convert columns of cells to numbers.

    Columns whose name is ``None`` are skipped; `layout` has what the user specified.
    """
    layout = layout or CsvOptions()
    numbers: dict[str, F64] = {}
    errors: dict[str, DataError] = {}
    commas: dict[str, F64] = {}
    stamps: dict[str, Stamps] = {}
    where = {name: position for position, name in enumerate(names) if name is not None}
    columns = {name: [row[position] for row in text.rows] for name, position in where.items()}
    point = False
    for name, cells in columns.items():
        sign = layout.decimal
        plain = floats(cells) if sign is None else floats_with(cells, sign)
        if plain is not None:
            numbers[name] = plain
            point = point or any("." in c for c in cells)
            continue
        comma = sign is None and not any("." in c for c in cells)
        swapped = floats([c.replace(",", ".") for c in cells]) if comma else None
        if swapped is not None:
            commas[name] = swapped
            continue
        try:
            read = read_stamps(cells, text.lines, GAPS, layout.dates)
        except StampError as error:
            errors[name] = DataError(
                f"{error.message} (column '{name}')",
                location=Location(str(text.path), text.lines[error.row], where[name] + 1),
                hint=error.hint,
                code=Code.NOT_A_NUMBER,
            )
            continue
        if read is None:
            errors[name] = _bad_cell(text, where[name], name, "," if comma else ".", sign)
        else:
            stamps[name] = read
    if point and layout.decimal is None:
        # With decimal points elsewhere, "1,000" could be a thousand as well as one.
        errors.update({name: _bad_cell(text, where[name], name) for name in commas})
    elif commas and all(is_unclear(columns[name]) for name in commas):
        errors.update({name: _unclear(text, where[name], name) for name in commas})
    else:
        numbers.update(commas)
    origins, remarks = _with_stamps(text, where, stamps, numbers, errors)
    read_commas = any(name in numbers for name in commas)
    decimal = layout.decimal or ("." if point else "," if read_commas else None)
    ordered = {n: numbers[n] for n in where if n in numbers}
    return Numbers(ordered, errors, origins, replace(text.form, decimal=decimal, stamps=remarks))


def _with_stamps(
    text: CsvText,
    where: Mapping[str, int],
    stamps: dict[str, Stamps],
    numbers: dict[str, F64],
    errors: dict[str, DataError],
) -> tuple[dict[str, TimeOrigin], list[str]]:
    """Add columns of time stamps to the numbers; return their origins and remarks.

    If one column holds dates and another the time of day, both become the combined instant.
    """
    days = [n for n, s in stamps.items() if s.kind == "day"]
    clocks = [n for n, s in stamps.items() if s.kind == "clock"]
    remarks = []
    if len(days) == 1 and len(clocks) == 1:
        both = stamps[clocks[0]].after(stamps[days[0]])
        if any(t is not None for t in both.instants):
            stamps.update({days[0]: both, clocks[0]: both})
            remarks.append(f"day in '{days[0]}' and time in '{clocks[0]}'")
    for name in clocks:
        position = where[name]
        if stamps[name].kind == "clock" and text.rows[0][position].count(":") == 1:
            errors[name] = DataError(
                f"'{text.rows[0][position].strip()}' in column '{name}' can be hours and minutes,"
                " or minutes and seconds",
                location=Location(str(text.path), text.lines[0], position + 1),
                hint="write hours, minutes and seconds, such as 12:30:00, or a column with the day",
                code=Code.NOT_A_NUMBER,
            )
            del stamps[name]
    for name, read in stamps.items():
        numbers[name] = read.seconds()
        order = f", {read.order.replace('-', ' ')}" if read.order is not None else ""
        remarks.append(f"'{name}' in s since {read.origin.text()}{order}")
    return {name: read.origin for name, read in stamps.items()}, remarks


def _bad_cell(
    text: CsvText, position: int, name: str, decimal: str = ".", given: str | None = None
) -> DataError:
    for line, row in zip(text.lines, text.rows, strict=True):
        cell = row[position].strip()
        read = floats([cell.replace(decimal, ".")]) if given is None else floats_with([cell], given)
        if read is None:
            return DataError(
                f"'{cell}' in column '{name}' is not a number",
                location=Location(str(text.path), line, position + 1),
                hint=_advice(text, cell, given),
                code=Code.NOT_A_NUMBER,
            )
    raise AssertionError(f"column '{name}' is numeric")


def _unclear(text: CsvText, position: int, name: str) -> DataError:
    row = next(k for k, cells in enumerate(text.rows) if "," in cells[position])
    cell = text.rows[row][position].strip()
    return DataError(
        f"'{cell}' in column '{name}' can be {cell.replace(',', '.')} or {cell.replace(',', '')}:"
        " the comma can be a decimal sign or group thousands",
        location=Location(str(text.path), text.lines[row], position + 1),
        hint='write decimal = "," or decimal = "." in [[experiments]]',
        code=Code.NOT_A_NUMBER,
    )


def _advice(text: CsvText, cell: str, given: str | None) -> str:
    if len(text.header) == 1:
        return "cells are separated by comma, semicolon or tab; give any other as 'separator'"
    if given is None:
        sign = has_thousands(cell)
        if sign is not None:
            return f'decimal = "{sign}" in [[experiments]] reads numbers with groups of thousands'
    elif is_number(cell):
        return f'this number does not fit decimal = "{given}"'
    if "," in cell and is_number(cell):
        return "use either decimal points or decimal commas throughout the file"
    if text.rows and not any(is_number(c) or is_gap(c) for c in text.rows[0]):
        return "lines above the header are left out with 'skip_rows', a row of units is 'units_row'"
    return "leave a cell empty where a sample is missing"


def _ragged(place: Location, found: int, expected: int, separator: str) -> _RaggedError:
    decimal_comma = separator == "," and found > expected > 1
    hint = "lines above the header are left out with 'skip_rows'"
    if found < expected:
        hint = "a line that is not a row of the table must begin with '#'"
    if separator == BLANKS:
        hint = "a name or unit with blanks needs quotation marks, a missing sample NaN"
    return _RaggedError(
        f"the row has {found} cells, the header has {expected}",
        location=place,
        hint="a decimal comma needs semicolons between the columns" if decimal_comma else hint,
    )


def read_text(path: Path, encoding: str | None = None) -> tuple[str, str]:
    r"""Return the text of a file with ``\n`` line ends, and the codec used.

    Without a byte order mark, UTF-8 is tried first, since other text is hardly ever valid
    UTF-8. UTF-16 is recognised by zero bytes at every other position. Anything else is
    decoded as Windows-1252, unless it holds bytes that are control characters there. A
    given `encoding` takes precedence. Raises `DataError`, with the line, if the file is not
    text or not in this encoding.
    """
    content = path.read_bytes()
    codec = _codec(path, encoding) if encoding is not None else _found(content)
    try:
        text = content.decode(codec).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(
            f"byte 0x{content[error.start]:02x} is not text in {codec.upper()}",
            location=Location(str(path), content.count(b"\n", 0, error.start) + 1),
            hint=f"save the file as CSV in UTF-8, or give its 'encoding'; {NOT_CSV}",
            code=Code.UNUSABLE_FILE,
        ) from error
    if "\0" in text:
        raise DataError(
            "the file is not text (it holds a zero byte)",
            location=Location(str(path), text.count("\n", 0, text.index("\0")) + 1),
            hint=NOT_CSV,
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), codec


def _found(content: bytes) -> str:
    marked = next((codec for mark, codec in _MARKS if content.startswith(mark)), None)
    if marked is not None:
        return marked
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return _wide(content) or "utf-8"
    return _wide(content) or ("cp1252" if _is_cp1252(content) else "utf-8")


def _wide(content: bytes) -> str | None:
    """Return the UTF-16 codec implied by the zero bytes, or ``None``."""
    head = content[: min(len(content), _HEAD_BYTES) // 2 * 2]
    low, high = head[::2], head[1::2]
    for ascii_part, zeros, codec in ((low, high, "utf-16-le"), (high, low, "utf-16-be")):
        if head and zeros.count(0) > 0.6 * len(zeros) and not ascii_part.count(0):
            return codec
    return None


def _is_cp1252(content: bytes) -> bool:
    try:
        return _CONTROLS.search(content.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def _codec(path: Path, name: str) -> str:
    try:
        codec = codecs.lookup(name)
    except (LookupError, ValueError):
        codec = None
    if codec is None or not codec._is_text_encoding:
        raise DataError(
            f"there is no encoding '{name}'",
            location=Location(str(path)),
            hint="such as 'utf-8', 'utf-16', 'cp1252' (Windows) or 'latin-1'",
            code=Code.UNKNOWN_NAME,
        )
    return codec.name


Separator = Literal[",", ";", "\t", "|", " "]


@dataclass(frozen=True)
class CsvOptions(Options):
    """Format of a CSV file specified by the user; fields that are ``None`` are detected.

    `separator` is one of :data:`SEPARATORS`, `decimal` is ``"."`` or ``","`` (the other one
    may then group thousands), and `encoding` is a Python codec. `skip_rows` counts all
    lines above the header, including comments and empty lines; `units_row` is a line number
    counted from 1, or 0 if there are no units. `dates` is the order of day and month in
    dates such as 01/02/2024.
    """

    separator: Separator | None = None
    decimal: Literal[".", ","] | None = None
    encoding: str | None = None
    skip_rows: Annotated[int | None, NOT_NEGATIVE] = None
    units_row: Annotated[int | None, NOT_NEGATIVE] = None
    dates: DateOrder | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.separator == self.decimal == ",":
            raise OptionError(
                "'separator' and 'decimal' are both a comma; only cells in quotation marks could"
                " hold such a number: save the file with semicolons",
                "decimal",
                Code.INVALID_PROBLEM,
            )

    @property
    def given(self) -> tuple[str, ...]:
        """Names of the fields set by the user."""
        return tuple(f.name for f in fields(CsvOptions) if getattr(self, f.name) is not None)

    @property
    def alone(self) -> CsvOptions:
        """It without what a derived class adds."""
        return CsvOptions(**{f.name: getattr(self, f.name) for f in fields(CsvOptions)})


@dataclass(frozen=True)
class CsvFormat:
    """Detected format of a CSV file.

    Line numbers are counted from 1. `decimal` is ``None`` if no number has a decimal sign,
    `passed_over` counts lines above the header that are neither comments nor empty,
    `units_line` is ``None`` without a line of units, and `stamps` describes the
    interpretation of time stamps.
    """

    encoding: str
    separator: str
    decimal: str | None
    header_line: int
    passed_over: int = 0
    units_line: int | None = None
    stamps: Sequence[str] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the file is in UTF-8, begins with its header, and has numbers below it."""
        return self.is_declared(CsvOptions())

    def is_declared(self, layout: CsvOptions) -> bool:
        """Return whether the user specified everything that is not plain about it."""
        return not self.stamps and all(
            plain or key in layout.given
            for key, plain in (
                ("encoding", self.encoding == "utf-8"),
                ("separator", self.separator in ",;\t"),
                ("skip_rows", not self.passed_over),
                ("units_row", self.units_line is None),
            )
        )

    def text(self) -> str:
        """Return a one-line description."""
        parts = [f"encoding {self.encoding}", f"separator {SEPARATORS[self.separator]}"]
        if self.decimal is not None:
            parts.append("decimal comma" if self.decimal == "," else "decimal point")
        parts.append(f"header in line {self.header_line}")
        if self.units_line is not None:
            parts.append(f"units in line {self.units_line}")
        return ", ".join([*parts, *self.stamps])


def find_header(lines: Sequence[NumberedLine], separator: str | None) -> tuple[str, int] | None:
    """Return separator and place of the header in a file that may not begin with it, or ``None``.

    The header is the last line of names before two rows that begin with a number or a time
    stamp, consist mostly of these, and have the same number of cells; a line of units may
    come between. `lines` are neither comments nor empty, and `separator` is given if the
    user specified it.
    """
    for candidate in [separator] if separator is not None else ["\t", ";", ",", "|", BLANKS]:
        rows = [split_cells(text, candidate) for _, text in lines[:_HEADER_LINES]]
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
                    return candidate, place
            break
    return None


def are_units(cells: Sequence[str]) -> bool:
    """Return whether a row below the header holds units, i.e. mostly units and no number."""
    filled = [bare_unit(c) for c in cells if c.strip() not in ("", "-")]
    if not filled or any(map(_is_value, filled)):
        return False
    known = sum(unit_or_none(c) is not None for c in filled)
    return 2 * known > len(filled)


def bare_unit(cell: str) -> str:
    """Return a unit without enclosing brackets."""
    text = cell.strip()
    if (text[:1], text[-1:]) in (("[", "]"), ("(", ")")):
        text = text[1:-1].strip()
    return text


def usual_separator(header: str, first: str) -> str:
    """Return the separator with equal cell counts in header and first row, else the header's."""
    candidates = [s for s in ("\t", ";", ",") if len(split_cells(header, s)) > 1]
    for separator in candidates:
        if len(split_cells(header, separator)) == len(split_cells(first, separator)):
            return separator
    bare = re.sub(r'"[^"]*"|\[[^\]]*\]|\([^)]*\)', "", header)
    return next((s for s in candidates if s in bare), ",")


def declared_separator(line: str) -> Separator | None:
    """Return the separator of Excel's line ``sep=;``, or ``None``."""
    match = re.fullmatch(r'"?[Ss][Ee][Pp]=(.)"?\s*', line)
    given = None if match is None else match[1]
    return next((s for s in get_args(Separator) if s == given), None)


def split_cells(line: str, separator: str) -> list[str]:
    """Return the cells of a line; a quoted cell may contain the separator."""
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
    """Return cells separated by blanks; a unit in brackets belongs to the name before it."""
    cells: list[str] = []
    for token in _TOKENS.findall(line):
        if cells and token[0] in "[(":
            cells[-1] += f" {token}"
        else:
            cells.append(token.strip('"'))
    return cells


def _is_data(cells: Sequence[str], width: int) -> bool:
    """Return whether a row starts with a number or time stamp and is mostly these or gaps."""
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
    """Return whether a line holds units below names rather than names."""
    return are_units(rows[place]) and _are_names(rows[place - 1], len(rows[place]))


def is_number(text: str) -> bool:
    """Return whether a cell is a number, with decimal point or comma."""
    return floats([text.replace(",", ".")], gaps=()) is not None


def is_gap(text: str) -> bool:
    """Return whether a cell denotes a missing sample."""
    return text.strip().lower() in GAPS


def floats(cells: Sequence[str], gaps: Collection[str] = GAPS) -> F64 | None:
    """Return numbers with decimal points, NaN for gaps; ``None`` if a cell is neither.

    `gaps` are the texts of gaps, in lower case.
    """
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


def floats_with(cells: Sequence[str], decimal: str) -> F64 | None:
    """Return numbers with the decimal sign given by the user; ``None`` if a cell is not one.

    `decimal` is ``"."`` or ``","``; the other sign may group thousands, three digits each.
    """
    other = "," if decimal == "." else "."
    plain = []
    for cell in cells:
        text = cell.strip()
        if other in text:
            if _THOUSANDS[decimal].fullmatch(text) is None:
                return None
            text = text.replace(other, "")
        plain.append(text.replace(decimal, "."))
    return floats(plain)


def is_unclear(cells: Sequence[str]) -> bool:
    """Return whether decimal commas of a column might also group thousands, as in 1,234."""
    commas = [c.strip() for c in cells if "," in c]
    return bool(commas) and all(_UNCLEAR.fullmatch(c) for c in commas)


def has_thousands(cell: str) -> str | None:
    """Return the decimal sign of a cell that certainly groups thousands, or ``None``."""
    fits = [sign for sign, form in _THOUSANDS.items() if form.fullmatch(cell.strip())]
    return fits[0] if len(fits) == 1 and re.search(r"[.,].*[.,]", cell) else None
