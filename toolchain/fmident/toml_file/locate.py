"""Find the line of a key in a TOML text; ``tomllib`` keeps no positions."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fmident.toml_file.statements import statements

Path = tuple[str | int, ...]
"""Keys from the root; a number counts the elements of an array of tables from 0."""

_HEADER = re.compile(r"^\s*(?P<open>\[\[?)(?P<keys>.+?)\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*(?P<keys>(?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\- ])+?)\s*=""")


def line_of(text: str, path: Path) -> int | None:
    """Return the line of a key, counted from 1, or of the nearest table around it.

    Parameters
    ----------
    text
        A valid TOML text.
    path
        Such as ``("experiments", 0, "inputs", "q[1]")``.
    """
    places = _places(text)
    while path:
        if path in places:
            return places[path]
        inside = [line for place, line in places.items() if place[: len(path)] == path]
        if inside:  # a table without a line of its own, such as 'a' of [a.b]
            return min(inside)
        path = path[:-1]
    return None


@functools.lru_cache(maxsize=8)
def _places(text: str) -> dict[Path, int]:
    """Return the lines of all keys; not to be changed. Who reads a file asks for many of them."""
    places: dict[Path, int] = {}
    for written in _written(text):
        for path in written.paths:
            places.setdefault(path, written.first)
    return places


def twice(text: str, line: int | None) -> tuple[Path, int, int] | None:
    """Return the key or table whose second definition makes a text invalid.

    Parameters
    ----------
    text
        With a mistake.
    line
        Of the mistake; ``None`` at its end.

    Returns
    -------
    tuple or None
        Its path, and the lines at which it is written; ``None`` where it is another mistake.
    """
    seen: dict[Path, int] = {}
    for written in _written(text):
        if line is not None and written.first > line:
            break
        if written.paths[-1] in seen and (line is None or line <= written.last):
            return written.paths[-1], seen[written.paths[-1]], written.first
        seen |= {path: written.first for path in written.paths if path not in seen}
    return None


@dataclass(frozen=True)
class _Written:
    """A header or an assignment: what it makes, itself last, and its lines, counted from 1."""

    paths: tuple[Path, ...]
    first: int
    last: int


def _written(text: str) -> Iterator[_Written]:
    counts: dict[Path, int] = {}
    table: Path = ()
    for statement in statements(text):
        first, last = statement.first + 1, statement.last + 1
        header = _HEADER.match(statement.text)
        keys = _keys(header["keys"]) if header else None
        if header is not None and keys is not None:
            if header["open"] == "[[":
                array = (*_within(keys[:-1], counts), keys[-1])
                fresh = array not in counts
                counts[array] = counts.get(array, -1) + 1
                table = (*array, counts[array])
                yield _Written((table, array) if fresh else (array, table), first, last)
            else:
                table = _within(keys, counts)
                yield _Written((table,), first, last)
            continue
        key = _KEY.match(statement.text)
        keys = _keys(key["keys"]) if key else None
        if keys is not None:
            paths = tuple((*table, *keys[:depth]) for depth in range(1, len(keys) + 1))
            yield _Written(paths, first, last)


def _within(keys: list[str], counts: dict[Path, int]) -> Path:
    """Return the path of nested keys; an array of tables means its last element so far."""
    path: Path = ()
    for key in keys:
        path = (*path, key)
        if path in counts:
            path = (*path, counts[path])
    return path


def _keys(text: str) -> list[str] | None:
    """Return the parts of a dotted key, quotes removed."""
    try:
        value: Any = tomllib.loads(f"{text} = 0")
    except (ValueError, RecursionError):
        return None
    keys = []
    while isinstance(value, dict):
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys
