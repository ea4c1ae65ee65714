"""What a result is shown as: sections of texts, tables and plots, put out on a page.

A terminal (:mod:`fmident.report.terminal`) and a notebook show those that are brief, without plots.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, NamedTuple, TypeAlias

import jinja2
from markupsafe import Markup

from fmident.operating_system.cache import cache_folder
from fmident.report.figures.browser import scripts
from fmident.report.figures.chart import CHART, Chart, most_samples

MOST_PLOTS = 60
"""Plots of a section on a page; pictures for a paper are made of all."""


class Cell(str):
    """A text in a table, and how a page sets it off.

    `kind` is ``"code"``, ``"value"`` for what matters most, ``"tag"`` or ``"quiet"`` for a remark,
    or ``"strong"``; `about` is printed below it, and `color` behind it.
    """

    kind: str
    about: str
    color: str

    def __new__(cls, text: str, kind: str = "", about: str = "", color: str = "") -> Cell:
        """Return the text with its looks."""
        cell = super().__new__(cls, text)
        cell.kind, cell.about, cell.color = kind, about, color
        return cell


@dataclass(frozen=True)
class Text:
    """A paragraph of plain text; HTML in it is escaped.

    What is `about` the figures of a page is in small print there, and nowhere else.
    """

    text: str
    about: bool = False
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Table:
    """A table of cells with column titles.

    Parameters
    ----------
    header, rows
        Titles, and a row of as many cells each.
    align
        ``"<"`` or ``">"`` for each column; by default numbers are right-aligned.
    spare
        Titles of columns that a narrow terminal does without, the first one first.
    page_only
        Titles of columns that a terminal never shows.
    matrix
        Whether rows and columns are alike.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    align: str = ""
    spare: Sequence[str] = ()
    page_only: Sequence[str] = ()
    matrix: bool = False
    kind: ClassVar[str] = "table"

    @property
    def right(self) -> list[bool]:
        """Whether each column is right-aligned."""
        if self.align:
            return [side == ">" for side in self.align]
        return [
            bool(self.rows) and all(isinstance(row[k], (int, float)) for row in self.rows)
            for k in range(len(self.header))
        ]


@dataclass(frozen=True)
class Figure:
    """A figure, given as a complete SVG file that is embedded in the page, with a caption."""

    svg: bytes
    caption: str = ""
    kind: ClassVar[str] = "figure"

    @property
    def image(self) -> str:
        """The figure as a data URL."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg).decode("ascii")


@dataclass(frozen=True, eq=False)
class Plot:
    """A chart with a caption; it is made when it is drawn.

    Parameters
    ----------
    draw
        Makes the chart, or ``None`` if there is nothing to see.
    name, about
        Caption: what it shows, and where from.
    file
        Name of a picture for a paper, without an ending; empty for none.
    note
        A line below the caption.
    folded
        Whether it is hidden until a reader asks for it.
    half
        Whether it takes half of the width.
    """

    draw: Callable[[], Chart | None]
    name: str = ""
    about: str = ""
    file: str = ""
    note: str = ""
    folded: bool = False
    half: bool = False
    kind: ClassVar[str] = "plot"

    @cached_property
    def chart(self) -> Chart | None:
        """The chart."""
        return self.draw()


@dataclass(frozen=True)
class Entry:
    """A fact on the run: lines of text, or a table if there are rows."""

    heading: str
    lines: Sequence[str] = ()
    header: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


@dataclass(frozen=True)
class Facts:
    """Facts on the run."""

    entries: Sequence[Entry]
    kind: ClassVar[str] = "facts"


Block: TypeAlias = Text | Table | Figure | Chart | Plot | Facts


@dataclass(frozen=True)
class Section:
    """A section of a page: a heading and blocks in order.

    `rest` says where plots beyond :data:`MOST_PLOTS` are.
    """

    title: str
    blocks: Sequence[Block]
    rest: str = "not drawn"

    @cached_property
    def plots(self) -> list[Plot]:
        """The plots that have something to show."""
        return [b for b in self._drawn if isinstance(b, Plot)]

    @cached_property
    def _drawn(self) -> list[Block]:
        each = [Plot(partial(_same, b)) if isinstance(b, Chart) else b for b in self.blocks]
        return [b for b in each if not isinstance(b, Plot) or b.chart is not None]

    def html(self, most: int | None = None, *, charts: bool = True) -> str:
        """Return the section as HTML; `most` limits the samples of a line."""
        left = self.plots[MOST_PLOTS:] if charts else []
        blocks = self._drawn
        if not charts:
            blocks = [b for b in self.blocks if not isinstance(b, Plot | Chart)]
        shown = [b for b in blocks if b not in left]
        return _template("section").render(section=self, blocks=shown, most=most, left=len(left))


def _same(chart: Chart) -> Chart:
    return chart


class Part(NamedTuple):
    """A section of a kind of result: it is left out if there are no blocks.

    A terminal and a notebook show what is `brief`.
    """

    title: str
    blocks: Callable[..., Sequence[Block]]
    brief: bool = False
    rest: str = "not drawn"


@dataclass(frozen=True)
class Summary:
    """A result in words.

    Parameters
    ----------
    headline
        One sentence.
    grade
        ``"good"``, ``"doubtful"`` or ``"bad"``.
    reasons
        Sentences that everybody should read.
    notes
        Notes for the user.
    more
        Sentences that are folded on a page until a reader asks for them.
    effort
        What it took; for a terminal.
    """

    headline: str
    grade: str
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()
    more: Sequence[str] = ()
    effort: str = ""


@dataclass(frozen=True)
class Page:
    """A page: `kicker` is its kind, and `facts` follow its title.

    `origin` says when the result was made, and of which data.
    """

    kicker: str
    title: str
    summary: Summary | None
    sections: Sequence[Section] = ()
    facts: Sequence[str] = ()
    origin: str = ""

    def html(self) -> str:
        """Return the page, which needs nothing beside it."""
        charts = [plot.chart for s in self.sections for plot in s.plots[:MOST_PLOTS]]
        most = most_samples(lines for chart in charts if chart for lines in chart.lines())
        # Made by templates, which escape what they are given.
        sections = [
            Markup(section.html(most).replace("<section", f'<section id="section-{number}"', 1))
            for number, section in enumerate(self.sections, 1)
        ]
        drawing = scripts() if any(CHART in html for html in sections) else None
        return _template("page").render(
            page=self,
            sections=sections,
            packed=drawing and drawing.packed,
            script=drawing and Markup(drawing.own),
            sources=Markup(" ".join(drawing.hashes)) if drawing else "",
        )

    def embedded(self) -> str:
        """Return what a notebook shows: it has no script that could draw charts."""
        sections = [Markup(section.html(charts=False)) for section in self.sections]
        return _template("notebook").render(page=self, sections=sections)


@functools.cache
def _environment() -> jinja2.Environment:
    cache = cache_folder("templates")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("fmident.report", "templates"),
        bytecode_cache=None if cache is None else jinja2.FileSystemBytecodeCache(str(cache)),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signs"] = lambda cell: str(cell).replace("+-", "±")
    return environment


def _template(name: str) -> jinja2.Template:
    return _environment().get_template(f"{name}.html")
