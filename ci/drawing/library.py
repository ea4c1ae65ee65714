"""Whole libraries as trees of classes, such as pictures of all their classes need them."""

from __future__ import annotations

from pathlib import Path

from drawing.parser import Parser
from drawing.tree import Class


def read_library(folder: Path) -> Class:
    """Read a library kept as a folder with ``package.mo``, or as one file."""
    return _read(folder, None)


def _read(path: Path, parent: Class | None) -> Class:
    file = path / "package.mo" if path.is_dir() else path
    (it,) = Parser(file.read_text(encoding="utf-8"), file).stored_definition()[1]
    it.parent = parent
    if path.is_dir():
        order = path / "package.order"
        names = order.read_text(encoding="utf-8").split() if order.exists() else []
        for child in sorted(path.iterdir(), key=lambda p: _rank(p, names)):
            if (child.suffix == ".mo" and child.name != "package.mo") or (
                child / "package.mo"
            ).exists():
                inner = _read(child, it)
                it.classes[inner.name] = inner
    return it


def _rank(path: Path, order: list[str]) -> tuple[int, str]:
    return (order.index(path.stem) if path.stem in order else len(order), path.stem)
