"""Values and keys as TOML writes them."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def quoted(key: str) -> str:
    """Return a key as it is written in TOML, in quotation marks where it needs them."""
    return key if _BARE.fullmatch(key) else _string(key)


def encoded(value: object) -> str:
    """Return a value as TOML writes it, on one line.

    Parameters
    ----------
    value
        What :func:`~fmident.toml_file.loads` returns, or anything else as its text.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(encoded, value)) + "]"
    if isinstance(value, Mapping):
        items = [f"{quoted(str(key))} = {encoded(item)}" for key, item in value.items()]
        return "{ " + ", ".join(items) + " }" if items else "{}"
    return _string(str(value))


def document(content: Mapping[str, object]) -> str:
    """Return a whole document of tables, each below its header.

    Parameters
    ----------
    content
        What :func:`~fmident.toml_file.loads` returns for it. Tables deeper than
        ``[table.table]`` are written on one line.
    """
    lines: list[str] = []
    _write_table(content, (), lines)
    return "\n".join(lines).strip("\n") + "\n"


_DEEPEST_HEADER = 2


def _write_table(table: Mapping[str, object], keys: tuple[str, ...], lines: list[str]) -> None:
    inner: list[tuple[tuple[str, ...], object]] = []
    for key, value in table.items():
        if len(keys) < _DEEPEST_HEADER and (isinstance(value, Mapping) or _tables(value)):
            inner.append(((*keys, key), value))
        else:
            lines.append(f"{quoted(key)} = {encoded(value)}")
    for path, value in inner:
        name = ".".join(map(quoted, path))
        for one in _tables(value):
            lines += ["", f"[[{name}]]"]
            _write_table(one, path, lines)
        if isinstance(value, Mapping):
            if keys or not value or not all(isinstance(v, Mapping) for v in value.values()):
                lines += ["", f"[{name}]"]
            _write_table(value, path, lines)


def _tables(value: object) -> list[Mapping[str, object]]:
    """Return the tables of a value that is written as an array of tables; else nothing."""
    items = value if isinstance(value, list) else []
    return items if all(isinstance(item, Mapping) for item in items) else []


def _string(text: str) -> str:
    # JSON's escapes are TOML's, but for the delete character and for pairs of surrogates.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
