"""docs/onboarding.md names packages and files that exist, in the order of their imports."""

from __future__ import annotations

import functools
import re
from pathlib import Path, PurePosixPath

import pytest

from .test_architecture import HOST, LAYERS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "onboarding.md").read_text(encoding="utf-8")
NAME = re.compile(r"(?<![\w/])[\w/]+(?:\.py|/(?!\w))")
"""A module or a folder, as the tree of the page names it."""


@functools.cache
def stored() -> frozenset[str]:
    """Return all files and folders of the repository that the page may name."""
    tops = [ROOT / name for name in ("toolchain", "plugins", "tests", "docs", "ci", "benchmarks")]
    found = [path for top in tops for path in (top, *top.rglob("*")) if path.name != "__pycache__"]
    return frozenset(f"/{path.relative_to(ROOT).as_posix()}" for path in found)


def exists(name: str) -> bool:
    """Return whether a file or folder has a path that ends like this."""
    return (ROOT / name).exists() or any(path.endswith(f"/{name.strip('/')}") for path in stored())


def tree() -> list[tuple[PurePosixPath, str]]:
    """Return each line of the tree: the folder around it, and what the line says."""
    block = PAGE.split("```")[1]
    lines: list[tuple[PurePosixPath, str]] = []
    folders: list[tuple[int, str]] = []
    for line in filter(str.strip, block.splitlines()):
        indent = len(line) - len(line.lstrip())
        if indent > 6:  # goes on with the line above
            lines[-1] = lines[-1][0], f"{lines[-1][1]} {line.strip()}"
            continue
        folders = [(n, name) for n, name in folders if n < indent]
        lines.append((PurePosixPath(*(name for _, name in folders)), line.strip()))
        if lines[-1][1].split()[0].endswith("/"):
            folders.append((indent, line.split()[0]))
    return lines


def test_what_the_tree_names_exists(subtests: pytest.Subtests) -> None:
    for around, line in tree():
        with subtests.test(f"{around}/{line}"):
            inside = ROOT / around / line.split()[0]
            for name in NAME.findall(line):
                assert (ROOT / around / name).exists() or (inside / name).exists(), name


def test_the_tree_has_every_package_in_the_order_of_imports() -> None:
    packages = [
        line.split()[0].rstrip("/").removesuffix(".py")
        for around, line in tree()
        if around == PurePosixPath("toolchain/fmident")
    ]
    named = [name for name in dict.fromkeys(packages) if name in LAYERS]
    assert named == sorted(named, key=LAYERS.index)
    public = {p.name for p in HOST.iterdir() if (p / "__init__.py").exists()}
    assert public - {*packages} == set()


def cells() -> list[tuple[str, str]]:
    """Return the files that the tables name, with the row's title."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", PAGE.split("## What to touch")[1], re.MULTILINE)
    return [
        (title, name)
        for title, text in rows
        for name in re.findall(r"`([\w./]+)`", text)
        if "/" in name or name.endswith((".py", ".md", ".toml"))
    ]


def test_what_the_tables_name_exists(subtests: pytest.Subtests) -> None:
    for title, name in cells():
        with subtests.test(f"{title}/{name}"):
            if any(part.isupper() for part in re.split(r"[/.]", name)):
                name = name.rpartition("/")[0]  # NAME stands for the newcomer's own
            assert exists(name), title


def test_there_are_rows_to_check() -> None:
    assert len(cells()) > 40
