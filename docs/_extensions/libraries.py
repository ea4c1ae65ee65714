"""The page on the Modelica library, with icons and diagrams drawn from its annotations."""

from __future__ import annotations

from pathlib import Path

import diagrams
from drawing.classes import Libraries
from drawing.library import read_library
from sphinx.application import Sphinx


def write_page(app: Sphinx) -> None:
    """Write ``reference/libraries/``, which is not in the repository."""
    libraries = Libraries([read_library(Path(app.srcdir).parent / "modelica" / "Mechanisms")])
    for path, text in diagrams.page(libraries, "Mechanisms").items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True}
