"""Read JSON that somebody may have changed: any defect is a ``ValueError``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn, TypeVar

_T = TypeVar("_T")

_LONGEST_INTEGER = 18


def loads_json(text: str) -> Any:
    """Return the value of a JSON text; integers beyond 64 bits become floating-point numbers.

    Raises
    ------
    ValueError
        It is not JSON, or nested too deeply.
    """
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None


def read_object(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file.

    Raises
    ------
    OSError, ValueError
        It cannot be read, or holds something else.
    """
    return checked(loads_json(file.read_text(encoding="utf-8")), dict, "")


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits)


def checked(value: Any, kind: type[_T], place: str) -> _T:
    """Return a value that is of a type; `place` has the keys from the root, with dots between.

    Raises
    ------
    ValueError
        It is not.
    """
    if isinstance(value, kind):
        return value
    words = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return refuse(place, words[kind])


def refuse(place: str, wanted: str) -> NoReturn:
    """Raise `ValueError` for what is not as it should be."""
    raise ValueError(f"'{place.lstrip('.') or 'the whole'}' is not {wanted}")
