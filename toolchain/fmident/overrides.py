"""Override keys of a problem file in its text, so that the text kept is the one that was run."""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from fmident.errors import Location, ProblemError

KeyPath = tuple[str, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def read_value(text: str) -> object:
    """Return a value as TOML reads it; what TOML cannot read is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def apply_overrides(text: str, overrides: Mapping[str, object], file: str) -> str:
    """Return the text of a problem file with some keys changed.

    Parameters
    ----------
    text
        TOML.
    overrides
        Dotted key to value: ``{"estimator.solver": "scipy"}``. A name with dots or
        brackets is quoted: ``parameters."arm[1].m".initial``.
    file
        For messages.

    Raises
    ------
    fmident.errors.ProblemError
        A key that is none, or that this text cannot take.
    """
    if _parsed(text) is None:
        return text  # whoever reads it next explains what is wrong
    for key, value in overrides.items():
        path = _key_path(key)
        expected = copy.deepcopy(tomllib.loads(text))
        _refuse_unknown_parent(expected, path, key, file)
        _put(expected, path, value)
        text = _replaced(text, path, value)
        # The text was edited line by line; parsing it tells whether that was right.
        if _parsed(text) != expected:
            raise ProblemError(
                f"cannot override '{key}' in the way the file is written",
                location=Location(file),
                hint="change the value in the file",
            )
    return text


def _key_path(key: str) -> KeyPath:
    try:
        nested: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        raise ProblemError(
            f"'{key}' is not a key of a problem file",
            hint='write table.key; quote a name with dots or brackets: parameters."a[1]".initial',
        ) from None
    path: list[str] = []
    while isinstance(nested, dict):
        ((name, nested),) = nested.items()
        path.append(name)
    return tuple(path)


def _refuse_unknown_parent(document: dict[str, Any], path: KeyPath, key: str, file: str) -> None:
    place: Any = document
    for name in path[:-1]:
        place = place.get(name, {})
        if not isinstance(place, dict):
            raise ProblemError(
                f"cannot override '{key}': '{name}' is not a single table",
                location=Location(file),
                hint="change the value in the file",
            )


def _put(document: dict[str, Any], path: KeyPath, value: object) -> None:
    for name in path[:-1]:
        document = document.setdefault(name, {})
    document[path[-1]] = value


def _replaced(text: str, path: KeyPath, value: object) -> str:
    """Return the text with the line of the key replaced or added."""
    assignment = f"{_quoted(path[-1])} = {_encoded(value)}"
    lines = text.splitlines()
    table: KeyPath = ()
    header: int | None = -1 if len(path) == 1 else None
    for number, line in enumerate(lines):
        parsed = _parsed(line)
        if parsed is None or not parsed:
            continue
        own = _only_path(parsed)
        if line.lstrip().startswith("["):
            table = ("", *own) if line.lstrip().startswith("[[") else own
            if table == path[:-1]:
                header = number
        elif (*table, *own) == path:
            lines[number] = assignment
            return "\n".join(lines) + "\n"
    if header is None:
        head = ".".join(map(_quoted, path[:-1]))
        lines += ["", f"[{head}]", assignment]
    else:
        lines.insert(header + 1, assignment)
    return "\n".join(lines) + "\n"


def _only_path(parsed: Mapping[str, Any]) -> KeyPath:
    """Return the names down to the first value or empty table."""
    path: list[str] = []
    place: Any = parsed
    while isinstance(place, dict) and len(place) == 1:
        ((name, place),) = place.items()
        path.append(name)
        if isinstance(place, list) and place and isinstance(place[0], dict):
            break
    return tuple(path)


def _parsed(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name)


def _encoded(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_encoded, value)) + "]"
    return json.dumps(str(value), ensure_ascii=False)
