"""Values as ``omc`` prints them: ``true``, ``"text"``, ``1e-6``, ``{a,b}``, ``(1,2)``."""

from __future__ import annotations

import re

OmcValue = bool | int | float | str | tuple["OmcValue", ...] | None
"""Names such as ``Modelica.Blocks`` come as text."""

_NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"(?:\.?(?:[A-Za-z_$]\w*|'[^'\n]*'))+")
_CLOSING = {"{": "}", "(": ")"}


def scan_value(text: str, start: int = 0) -> tuple[OmcValue, int]:
    """Read one value.

    Parameters
    ----------
    text
        What omc printed.
    start
        Where to begin; leading white space is skipped.

    Returns
    -------
    value, end
        The value, ``None`` where there is none, and the place behind it.

    Raises
    ------
    ValueError
        The text at `start` is not a value.
    """
    start = _skip(text, start)
    if start >= len(text):
        return None, start
    first = text[start]
    if first == '"':
        return _scan_string(text, start)
    if first in _CLOSING:
        return _scan_group(text, start)
    if number := _NUMBER.match(text, start):
        digits = number[0]
        value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
        return value, number.end()
    if name := _NAME.match(text, start):
        words: dict[str, OmcValue] = {"true": True, "false": False}
        return words.get(name[0], name[0]), name.end()
    raise ValueError(f"no value of omc at {text[start : start + 40]!r}")


def quoted(text: str) -> str:
    """Return `text` as a Modelica string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _scan_string(text: str, start: int) -> tuple[str, int]:
    match = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL).match(text, start)
    if match is None:
        raise ValueError(f"a text of omc without its end at {text[start : start + 40]!r}")
    return re.sub(r"\\(.)", r"\1", match[1], flags=re.DOTALL), match.end()


def _scan_group(text: str, start: int) -> tuple[tuple[OmcValue, ...], int]:
    closing = _CLOSING[text[start]]
    items: list[OmcValue] = []
    place = _skip(text, start + 1)
    while place < len(text) and text[place] != closing:
        item, place = scan_value(text, place)
        items.append(item)
        place = _skip(text, place)
        if text[place : place + 1] == ",":
            place += 1
        elif text[place : place + 1] != closing:
            break
        place = _skip(text, place)
    if text[place : place + 1] != closing:
        raise ValueError(f"a list of omc without its end at {text[start : start + 40]!r}")
    return tuple(items), place + 1


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place
