"""How a CSV file is written: what the user says of it, and what was found in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Literal

DateOrder = Literal["day-first", "month-first"]
"""Of dates such as 01/02/2024."""

BLANKS = " "
"""The separator that is any run of spaces and tabs."""

SEPARATORS: Mapping[str, str] = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    BLANKS: "blanks",
}
"""What may be between cells, with its name."""


@dataclass(frozen=True)
class Layout:
    """What the user says of a CSV file; whatever is ``None`` is found from its content.

    Parameters
    ----------
    separator
        Between cells, one of :data:`SEPARATORS`.
    decimal
        Decimal sign, ``"."`` or ``","``. The other one may then group thousands.
    encoding
        Name of a codec of Python.
    skip_rows
        Lines of the file above the header, those of comments and empty ones included.
    units_row
        Line of the file that holds the units, counted from 1; 0: there is none.
    dates
        Order of day and month in dates such as 01/02/2024.
    """

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    skip_rows: int | None = None
    units_row: int | None = None
    dates: DateOrder | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """Names of what the user has said."""
        return tuple(f.name for f in fields(self) if getattr(self, f.name) is not None)


@dataclass(frozen=True)
class Form:
    """How a CSV file turned out to be written.

    Parameters
    ----------
    encoding
        Codec of the text.
    separator
        Between cells, one of :data:`SEPARATORS`.
    decimal
        Decimal sign; ``None`` where no number has one.
    header_line
        Line of the names, counted from 1.
    passed_over
        Lines above it that are neither comments nor empty.
    units_line
        Line of the units, ``None`` where there is none.
    stamps
        What was understood of time stamps, in words.
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
        return self.is_said(Layout())

    def is_said(self, layout: Layout) -> bool:
        """Return whether the user has said all that makes it not plain."""
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
        """Return it in words, on one line."""
        parts = [f"encoding {self.encoding}", f"separator {SEPARATORS[self.separator]}"]
        if self.decimal is not None:
            parts.append("decimal comma" if self.decimal == "," else "decimal point")
        parts.append(f"header in line {self.header_line}")
        if self.units_line is not None:
            parts.append(f"units in line {self.units_line}")
        return ", ".join([*parts, *self.stamps])
