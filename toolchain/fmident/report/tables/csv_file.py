"""CSV files of columns, to the byte as pandas writes them, which takes long to import."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Column = Sequence[object] | npt.NDArray[Any]
"""Numbers, truth values, texts; ``None`` or NaN for a missing one. Arrays are written fastest."""

Columns = Mapping[str, Column]
"""Name to values."""

_PART = 10_000


def write_csv(
    path: Path, header: Sequence[str], tables: Iterable[Columns], *, digits: int | None = None
) -> None:
    """Write columns, a table below the other.

    Parameters
    ----------
    path
        The file.
    header
        Names of the columns; where a table has no such column, cells are empty.
    tables
        Parts of the file, one after the other.
    digits
        Significant digits of numbers that are not whole; by default as many as tell them apart.
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator=os.linesep)
        writer.writerow(header)
        for table in tables:
            size = len(next(iter(table.values()), ()))
            cells = [
                _cells(table[name], digits) if name in table else [""] * size for name in header
            ]
            writer.writerows(zip(*cells, strict=True))


def _cells(values: Column, digits: int | None) -> Iterable[str]:
    form = float.__repr__ if digits is None else f"%.{digits}g".__mod__
    if isinstance(values, np.ndarray):
        if values.dtype == np.float64:
            # A part at a time: numbers and texts of a million samples take 100 MB a column.
            parts = (values[k : k + _PART].tolist() for k in range(0, values.size, _PART))
            return ("" if v != v else form(v) for part in parts for v in part)
        values = values.tolist()
    known = [v for v in values if v is not None]
    numbers = all(isinstance(v, Real) and not isinstance(v, bool | np.bool_) for v in known)
    whole = len(known) == len(values) and all(isinstance(v, Integral) for v in known)
    if not numbers or whole:
        return ("" if v is None or v != v else str(v) for v in values)
    floats = [float("nan") if v is None else float(v) for v in values]  # type: ignore[arg-type]
    return ("" if v != v else form(v) for v in floats)
