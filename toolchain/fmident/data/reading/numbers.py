"""From cells of text to numbers: gaps, decimal signs, groups of thousands."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import numpy as np

from fmident.arrays import F64

GAPS = frozenset({"", "-", "nan", "na", "n/a", "#n/a", "null", "none"})
"""Cells that mean a missing sample, in small letters."""

_THOUSANDS = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+(?:,\d*)?"),
}
"""Numbers with groups of thousands, by decimal sign."""

_UNCLEAR = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def is_number(text: str) -> bool:
    """Return whether a cell is a number, with decimal point or comma."""
    return floats([text.replace(",", ".")], gaps=()) is not None


def is_gap(text: str) -> bool:
    """Return whether a cell means a missing sample."""
    return text.strip().lower() in GAPS


def floats(cells: Sequence[str], gaps: Collection[str] = GAPS) -> F64 | None:
    """Return numbers with decimal points, NaN for gaps; ``None`` when a cell is neither.

    Parameters
    ----------
    cells
        Of one column.
    gaps
        What is a gap, in small letters.
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


def floats_as_said(cells: Sequence[str], decimal: str) -> F64 | None:
    """Return numbers with the decimal sign that the user says; ``None`` when a cell is none.

    The other sign may group thousands, three digits each.

    Parameters
    ----------
    cells
        Of one column.
    decimal
        ``"."`` or ``","``.
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
    """Return whether decimal commas of a column could as well group thousands, as in 1,234."""
    commas = [c.strip() for c in cells if "," in c]
    return bool(commas) and all(_UNCLEAR.fullmatch(c) for c in commas)


def has_thousands(cell: str) -> str | None:
    """Return the decimal sign of a cell that has groups of thousands for certain, or ``None``."""
    fits = [sign for sign, form in _THOUSANDS.items() if form.fullmatch(cell.strip())]
    return fits[0] if len(fits) == 1 and re.search(r"[.,].*[.,]", cell) else None
