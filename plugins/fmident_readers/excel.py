"""Excel workbooks, with openpyxl."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from fmident.data.csv import are_units, bare_unit
from fmident.errors import DataError, Location
from fmident_readers.columns import nothing, titled

Row = tuple[Any, ...]


def read_excel(path: Path) -> pd.DataFrame:
    """Return the only sheet with a table: names above the rows, possibly a row of units.

    Raises `DataError` if several sheets or none have one, or a formula has no stored value.
    """
    import openpyxl

    values = openpyxl.load_workbook(path, data_only=True, read_only=True)
    sheets = {s.title: [r for r in s.iter_rows(values_only=True) if _filled(r)] for s in values}
    tables = {title: table for title, rows in sheets.items() if (table := _table(rows)) is not None}
    if len(tables) > 1:
        raise DataError(
            f"several sheets hold a table: {', '.join(map(repr, tables))}",
            location=Location(str(path)),
            hint="save the one that is meant as a file of its own",
        )
    if not tables:
        raise nothing(path)
    ((title, (names, rows)),) = tables.items()
    _refuse_formulas(path, title)
    columns = [k for k, name in enumerate(names) if name]
    return pd.DataFrame({names[k]: [row[k] for row in rows] for k in columns})


def _filled(row: Row) -> bool:
    return any(c is not None and c != "" for c in row)


def _table(rows: list[Row]) -> tuple[list[str], list[Row]] | None:
    """Return titles and rows; the titles are the texts above the first row that is a value."""
    first = next((k for k, row in enumerate(rows) if _is_data(row)), None)
    if first is None or first == 0:
        return None
    above = [["" if c is None else str(c).strip() for c in row] for row in rows[:first]]
    names, units = above[-1], [""] * len(above[-1])
    if len(above) > 1 and are_units(names):
        names, units = above[-2], [bare_unit(u) for u in names]
    titles = [titled(n, u) for n, u in zip(names, units, strict=True)]
    return titles, rows[first:]


def _is_data(row: Row) -> bool:
    values = [c for c in row if c is not None and c != ""]
    others = [c for c in values if not isinstance(c, str)]
    return len(values) > 1 and not isinstance(values[0], str) and 2 * len(others) > len(values)


def _refuse_formulas(path: Path, title: str) -> None:
    """Reject formulas without a stored value, which would look like gaps."""
    import openpyxl

    written = openpyxl.load_workbook(path, data_only=False, read_only=True)[title]
    stored = openpyxl.load_workbook(path, data_only=True, read_only=True)[title]
    for formulas, values in zip(written.iter_rows(), stored.iter_rows(), strict=True):
        for formula, value in zip(formulas, values, strict=True):
            if isinstance(formula.value, str) and formula.data_type == "f" and value.value is None:
                raise DataError(
                    f"cell {formula.coordinate} of sheet '{title}' is a formula without a value",
                    location=Location(str(path)),
                    hint="open the file in Excel or LibreOffice and save it, which computes them",
                )
