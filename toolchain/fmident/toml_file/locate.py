"""Find the line of a key in a TOML text; ``tomllib`` keeps no positions."""

from __future__ import annotations

import functools
import re
from typing import Any

from fmident.toml_file.statements import statements
from fmident.toml_file.text import NotTomlError, loads

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
    counts: dict[Path, int] = {}
    table: Path = ()
    for statement in statements(text):
        number, line = statement.first + 1, statement.text
        header = _HEADER.match(line)
        keys = _keys(header["keys"]) if header else None
        if header is not None and keys is not None:
            table = _within(keys[:-1], counts)
            last: Path = (*table, keys[-1])
            if header["open"] == "[[":
                counts[last] = counts.get(last, -1) + 1
                places.setdefault(last, number)
                last = (*last, counts[last])
            else:
                last = _within(keys, counts)
            table = last
            places.setdefault(table, number)
            continue
        key = _KEY.match(line)
        keys = _keys(key["keys"]) if key else None
        if keys is not None:
            for depth in range(1, len(keys) + 1):
                places.setdefault((*table, *keys[:depth]), number)
    return places


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
        value: Any = loads(f"{text} = 0")
    except NotTomlError:
        return None
    keys = []
    while isinstance(value, dict):
        key, value = next(iter(value.items()))
        keys.append(key)
    return keys
