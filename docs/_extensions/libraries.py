"""Icons and diagrams of the Modelica library on its page, drawn from its annotations."""

from __future__ import annotations

from pathlib import Path

import diagrams
from drawing.classes import Libraries
from drawing.library import read_library
from sphinx.application import Sphinx

PLACE = "<!-- classes of Mechanisms, drawn when the page is built -->"


def fill_page(app: Sphinx, document: str, source: list[str]) -> None:
    """Write the pictures, which are not in the repository, and the tables that show them."""
    if PLACE not in source[0]:
        return
    folder = Path(app.srcdir, document).parent
    libraries = Libraries([read_library(Path(app.srcdir).parent / "modelica" / "Mechanisms")])
    tables, pictures = diagrams.page(libraries, "Mechanisms")
    for name, text in pictures.items():
        (folder / name).write_text(text, encoding="utf-8")
    source[0] = source[0].replace(PLACE, tables)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True}
