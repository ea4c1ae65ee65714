"""Render templates to HTML."""

from __future__ import annotations

import base64
import functools
import importlib.metadata
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, TypeAlias

import jinja2
from jinja2.bccache import Bucket, BytecodeCache
from markupsafe import Markup

from fmident._version import __version__
from fmident.operating_system.cache import cache_folder
from fmident.report.figures.browser import scripts
from fmident.report.figures.chart import CHART, Chart
from fmident.report.kept import keep_bytes, kept_bytes

_TITLE = re.compile(r"<h2>(.*?)</h2>", re.DOTALL)


def document(
    *,
    kicker: str,
    title: str,
    headline: str,
    subtitle: str,
    sections: Iterable[str],
    origin: str = "",
) -> str:
    """Return a page that needs nothing beside it.

    Parameters
    ----------
    kicker
        What kind of page it is.
    title, headline
        Of the page; both together are the title of the browser's window.
    subtitle
        Facts below the title.
    sections
        HTML, empty where there is nothing to show.
    origin
        When the result was made, and of which data.
    """
    # Made by templates, which have escaped what they were given.
    numbered, contents = _numbered([html for html in sections if html])
    drawing = scripts() if any(CHART in html for html in numbered) else None
    return (
        _environment()
        .get_template("page.html")
        .render(
            kicker=kicker,
            title=title,
            headline=headline,
            subtitle=subtitle,
            origin=origin,
            sections=[Markup(html) for html in numbered],
            contents=[(anchor, Markup(title)) for anchor, title in contents],
            packed=drawing and drawing.packed,
            script=drawing and Markup(drawing.own),
            sources=Markup(" ".join(drawing.hashes)) if drawing else "",
        )
    )


def _numbered(sections: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return sections with anchors, and anchor and title of each but the first.

    The first one is the verdict at the top of the page.
    """
    numbered, contents = list(sections), []
    for number, html in enumerate(sections):
        title = _TITLE.search(html)
        if number and title is not None:
            anchor = f"section-{number}"
            numbered[number] = html.replace("<section", f'<section id="{anchor}"', 1)
            contents.append((anchor, title.group(1)))
    return numbered, contents


def embedded(kicker: str, sections: Iterable[str]) -> str:
    """Return sections for embedding in another page, such as a notebook.

    `kicker` is the kind of content; a section is HTML, empty if there is nothing to show.
    """
    # Made by templates, which have escaped what they were given.
    markup = [Markup(html) for html in sections if html]
    return _environment().get_template("notebook.html").render(kicker=kicker, sections=markup)


def fragment(name: str, /, **values: object) -> str:
    """Return one section as HTML from its template."""
    return _environment().get_template(f"sections/{name}.html").render(values)


def image_of(svg: bytes | None) -> str:
    """Return a figure as a data URL; empty without one."""
    if svg is None:
        return ""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


@functools.cache
def _environment() -> jinja2.Environment:
    # What Jinja makes of a template depends on its own version and on these options, and it looks
    # at the template's text only.
    folder = cache_folder(f"templates-{__version__}-jinja-{importlib.metadata.version('jinja2')}")
    return jinja2.Environment(
        bytecode_cache=None if folder is None else CompiledTemplates(folder),
        loader=jinja2.PackageLoader("fmident.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


class CompiledTemplates(BytecodeCache):
    """A folder with a file per template; unlike Jinja's own cache, its failures are ignored.

    `folder` belongs to one version of Jinja and one set of its options.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load_bytecode(self, bucket: Bucket) -> None:
        """Fill the bucket if its template is cached intact."""
        content = kept_bytes(self._folder / bucket.key)
        if content is not None:
            bucket.load_bytecode(io.BytesIO(content))

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the content of the bucket."""
        stream = io.BytesIO()
        bucket.write_bytecode(stream)
        keep_bytes(self._folder / bucket.key, stream.getvalue())


@dataclass(frozen=True)
class Text:
    """A paragraph of plain text; HTML in it is escaped."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Table:
    """A table of cells with column titles; numeric columns are right-aligned."""

    header: Sequence[str]
    rows: Sequence[Sequence[str | float]]
    kind: ClassVar[str] = "table"

    @property
    def right(self) -> list[bool]:
        """Whether each column is purely numeric."""
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
        return image_of(self.svg)


Block: TypeAlias = Text | Table | Figure | Chart


@dataclass(frozen=True)
class Section:
    """A section of ``report.html``: a heading and blocks in order."""

    title: str
    blocks: Sequence[Block]

    def html(self) -> str:
        """Return the section as HTML, which is cached."""
        return self._html

    @cached_property
    def _html(self) -> str:
        return fragment("blocks", title=self.title, blocks=self.blocks)
