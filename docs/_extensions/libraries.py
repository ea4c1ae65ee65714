"""Icons and diagrams of the Modelica library on its page, drawn from its annotations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from drawing.classes import Libraries
from drawing.library import read_library
from drawing.painter import Painter
from drawing.svg import svg
from drawing.tree import Class
from sphinx.application import Sphinx

PLACE = "<!-- classes of Mechanisms, drawn when the page is built -->"


def fill_page(app: Sphinx, document: str, source: list[str]) -> None:
    """Write the pictures, which are not in the repository, and the tables that show them."""
    if PLACE not in source[0]:
        return
    folder = Path(app.srcdir, document).parent
    libraries = Libraries([read_library(Path(app.srcdir).parent / "modelica" / "Mechanisms")])
    tables, pictures = _page(libraries, "Mechanisms")
    for name, text in pictures.items():
        (folder / name).write_text(text, encoding="utf-8")
    source[0] = source[0].replace(PLACE, tables)


def _page(libraries: Libraries, name: str) -> tuple[str, dict[str, str]]:
    """Tables of the classes of a library in Markdown; the pictures that they show, by file."""
    painter = Painter(libraries)
    pictures: dict[str, str] = {}
    lines = []
    for package in _packages(libraries.roots[name]):
        rows = []
        for it in package.classes.values():
            if it.kind in ("package", "type"):
                continue
            diagram = None if it.kind == "function" else painter.diagram(it)
            cells = []
            for kind, picture, width in (
                ("icon", painter.icon(it), 140),
                ("diagram", diagram, 420),
            ):
                cells.append("")
                if picture is not None:
                    file = f"{it.full_name}.{kind}.svg"
                    pictures[file] = svg(picture)
                    cells[-1] = f"![{kind} of {it.name}]({file}){{ width={width} }}"
            if any(cells):
                rows.append(f"| `{it.name}`<br>{it.description} | {cells[0]} | {cells[1]} |")
        if rows:
            lines += [f"## {package.full_name.partition('.')[2]}\n", f"{package.description}.\n"]
            lines += ["| class | icon | diagram |", "|---|---|---|", *rows, ""]
    return "\n".join(lines), pictures


def _packages(root: Class) -> Iterator[Class]:
    """Yield the packages with classes to show, in the order of the library."""
    for it in root.walk():
        if it.kind == "package" and it is not root and it.name != "UsersGuide":
            yield it


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    app.connect("source-read", fill_page)
    return {"parallel_read_safe": True}
