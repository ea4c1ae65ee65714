"""A section of a report as a plugin describes it, without HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeAlias

from fmident.report.figures.chart import Chart
from fmident.report.sections.html import fragment, image_of


@dataclass(frozen=True)
class Text:
    """A paragraph.

    Parameters
    ----------
    text
        Plain text; HTML in it is shown as it is written.
    """

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Table:
    """A table.

    Parameters
    ----------
    header
        Titles of the columns.
    rows
        Cells, as many per row as there are titles. Columns of numbers are aligned to the right.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    kind: ClassVar[str] = "table"

    @property
    def right(self) -> list[bool]:
        """Whether each column holds numbers alone."""
        return [
            bool(self.rows) and all(isinstance(row[k], (int, float)) for row in self.rows)
            for k in range(len(self.header))
        ]


@dataclass(frozen=True)
class Figure:
    """A picture.

    Parameters
    ----------
    svg
        A whole SVG file. It becomes part of the page.
    caption
        What it shows.
    """

    svg: bytes
    caption: str = ""
    kind: ClassVar[str] = "figure"

    @property
    def image(self) -> str:
        """The picture as a data URL."""
        return image_of(self.svg)


Block: TypeAlias = Text | Table | Figure | Chart


@dataclass(frozen=True)
class Section:
    """A section of ``report.html``.

    Parameters
    ----------
    title
        Its heading.
    blocks
        What it shows, in this order.
    """

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """Return the section as HTML; it is made once."""
        return self._html

    @cached_property
    def _html(self) -> str:
        return fragment("blocks", title=self.title, blocks=self.blocks)
