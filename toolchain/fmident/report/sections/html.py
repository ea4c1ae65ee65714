"""From templates to HTML."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fmident.report.charts.chart import CHART
from fmident.report.charts.library import scripts

if TYPE_CHECKING:
    import jinja2


def document(
    *, kicker: str, title: str, headline: str, subtitle: str, sections: Iterable[str]
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
    """
    from markupsafe import Markup

    # Made by templates, which have escaped what they were given.
    shown = [Markup(html) for html in sections if html]
    drawing = scripts() if any(CHART in html for html in shown) else None
    return (
        _environment()
        .get_template("page.html")
        .render(
            kicker=kicker,
            title=title,
            headline=headline,
            subtitle=subtitle,
            sections=shown,
            packed=drawing and drawing.packed,
            script=drawing and Markup(drawing.own),
            sources=Markup(" ".join(drawing.hashes)) if drawing else "",
        )
    )


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

    return jinja2.Environment(
        loader=jinja2.PackageLoader("fmident.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
