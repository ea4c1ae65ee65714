#!/usr/bin/env python3
# ruff: noqa: T201  # a program: it says what it wrote
"""Draw the machines of the Modelica libraries as SVG; see ``--help``.

The page of the documentation on Mechanisms is written when the documentation is built.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drawing.classes import Libraries
from drawing.library import read_library
from drawing.painter import Painter
from drawing.svg import svg
from drawing.tree import Class

ROOT = Path(__file__).resolve().parents[1]
MODELICA = ROOT / "modelica"


def figures(libraries: Libraries, name: str) -> dict[Path, str]:
    """Diagrams that the documentation of the machines of a library shows."""
    painter = Painter(libraries)
    files = {}
    for package in packages(libraries.roots[name]):
        for it in filter(is_machine, package.classes.values()):
            picture = painter.diagram(it)
            if picture is not None:
                folder = MODELICA / name / "Resources" / "Images"
                parts = it.full_name.split(".")[1:]
                files[folder.joinpath(*parts).with_suffix(".svg")] = svg(picture)
    return files


def page(libraries: Libraries, name: str) -> tuple[str, dict[str, str]]:
    """Tables of the classes of a library in Markdown; the pictures that they show, by file."""
    painter = Painter(libraries)
    pictures: dict[str, str] = {}
    lines = []
    for package in packages(libraries.roots[name]):
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


def packages(root: Class) -> Iterator[Class]:
    """Yield packages that hold machines and parts, in the order of the library."""
    for it in root.walk():
        if it.kind == "package" and it is not root and it.name not in ("UsersGuide", "Units"):
            yield it


def is_machine(it: Class) -> bool:
    """Whether the documentation of a class shows its diagram."""
    inside = it.full_name.split(".")[1]
    return (
        it.kind in ("model", "block")
        and "partial" not in it.prefixes
        and ".Examples." not in it.full_name
        and inside in ("Oscillators", "Friction", "DriveTrains", "Linkages", "Robots", "Components")
    )


def standard_library(given: Path | None, environment: Mapping[str, str]) -> Path | None:
    """Folder of the Modelica Standard Library, as given or on MODELICAPATH."""
    folders = [given] if given else []
    for path in environment.get("MODELICAPATH", "").split(os.pathsep):
        folders += sorted(Path(path).glob("Modelica*")) if path else []
    found = [f for f in folders if (f / "package.mo").exists()]
    return found[-1] if found else None


def differences(files: Mapping[Path, str]) -> list[Path]:
    """Files that are missing or not current."""
    return [
        path
        for path, text in files.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(arguments: Sequence[str]) -> int:
    """Write or compare the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--standard-library", type=Path, metavar="FOLDER")
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args(arguments)
    roots = [read_library(MODELICA / "Mechanisms")]
    files = figures(Libraries(roots), "Mechanisms")
    standard = standard_library(options.standard_library, os.environ)
    if standard is None:
        print("MechanismsMSL is left out: no Modelica Standard Library is here")
    elif not options.check:
        roots += [read_library(MODELICA / "MechanismsMSL"), read_library(standard)]
        files |= figures(Libraries(roots), "MechanismsMSL")
    changed = differences(files)
    for path in changed:
        print(f"{'not current' if options.check else 'written'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
