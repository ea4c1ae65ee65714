"""From templates to HTML."""

from __future__ import annotations

import base64
import functools
import importlib.metadata
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fmident._version import __version__
from fmident.operating_system.cache import cache_folder
from fmident.report.figures.browser import scripts
from fmident.report.figures.chart import CHART

if TYPE_CHECKING:
    import jinja2

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
    from markupsafe import Markup

    # Made by templates, which have escaped what they were given.
    shown, contents = _numbered([html for html in sections if html])
    drawing = scripts() if any(CHART in html for html in shown) else None
    return (
        _environment()
        .get_template("page.html")
        .render(
            kicker=kicker,
            title=title,
            headline=headline,
            subtitle=subtitle,
            origin=origin,
            sections=[Markup(html) for html in shown],
            contents=[(anchor, Markup(title)) for anchor, title in contents],
            packed=drawing and drawing.packed,
            script=drawing and Markup(drawing.own),
            sources=Markup(" ".join(drawing.hashes)) if drawing else "",
        )
    )


def _numbered(sections: Sequence[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Return sections that can be linked to, and anchor and title of each but the first.

    The first one is the verdict, where the page begins.
    """
    shown, contents = list(sections), []
    for number, html in enumerate(sections):
        title = _TITLE.search(html)
        if number and title is not None:
            anchor = f"section-{number}"
            shown[number] = html.replace("<section", f'<section id="{anchor}"', 1)
            contents.append((anchor, title.group(1)))
    return shown, contents


def embedded(kicker: str, sections: Iterable[str]) -> str:
    """Return sections for a page of somebody else, such as a notebook.

    Parameters
    ----------
    kicker
        What is shown.
    sections
        HTML, empty where there is nothing to show.
    """
    from markupsafe import Markup

    # Made by templates, which have escaped what they were given.
    made = [Markup(html) for html in sections if html]
    return _environment().get_template("notebook.html").render(kicker=kicker, sections=made)


def fragment(name: str, /, **values: object) -> str:
    """Return one section as HTML, from its template."""
    return _environment().get_template(f"sections/{name}.html").render(values)


def image_of(svg: bytes | None) -> str:
    """Return a picture as a data URL; empty without one."""
    if svg is None:
        return ""
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2  # slow, and only pages need it

    from fmident.report.sections.compiled import CompiledTemplates

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
