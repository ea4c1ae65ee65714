"""Read what an experiment says of the way in which its CSV file is written."""

from __future__ import annotations

from typing import get_args

from fmident.data import Layout
from fmident.data.reading.layout import SEPARATORS, DateOrder
from fmident.toml_file import Section

LAYOUT_KEYS = ("separator", "decimal", "encoding", "skip_rows", "units_row", "dates")
"""Keys of an experiment, and of an output with a file of its own."""


def read_layout(section: Section) -> Layout:
    """Return what the keys of a table say.

    Parameters
    ----------
    section
        Of an experiment or an output.

    Raises
    ------
    fmident.errors.ProblemError
        A value that is not one, with its line.
    """
    separator = section.choice("separator", SEPARATORS, None)
    decimal = section.choice("decimal", (".", ","), None)
    if separator == "," and decimal == ",":
        raise section.error(
            "'separator' and 'decimal' are both a comma",
            "decimal",
            hint="only cells in quotation marks could hold such a number; save the file with"
            " semicolons",
        )
    return Layout(
        separator,
        decimal,
        section.text("encoding", None),
        _whole(section, "skip_rows"),
        _whole(section, "units_row"),
        section.choice("dates", get_args(DateOrder), None),
    )


def _whole(section: Section, key: str) -> int | None:
    value = section.raw(key, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise section.wrong(key, value, "a whole number of lines")
    return int(value)
