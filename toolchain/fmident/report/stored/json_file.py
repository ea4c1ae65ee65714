"""JSON files of result folders, which somebody may have changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from fmident._json import JsonTable, loads_json
from fmident.arrays import F64
from fmident.errors import Code, EstimationError

_Read = TypeVar("_Read")

BROKEN = (ValueError, TypeError, KeyError, IndexError, OverflowError)
"""What converting something that somebody has changed may raise."""


def written_by(*commands: str) -> str:
    """Return the hint that names the commands of which a folder is wanted."""
    *first, last = [f"'fmident {command}'" for command in commands]
    named = f"{', '.join(first)} or {last}" if first else last
    return f"give the folder that {named} wrote"


def read_json(file: Path, convert: Callable[[JsonTable], _Read], what: str, hint: str) -> _Read:
    """Return what a JSON file holds.

    Parameters
    ----------
    file
        The file.
    convert
        Makes it of the content; whatever is wrong with that is one of `BROKEN`.
    what
        It is to be, such as ``"a file of profiles"``.
    hint
        What to do where it is not.

    Raises
    ------
    fmident.errors.EstimationError
        It is not there, cannot be read, or was not written by fmident.
    """
    try:
        content = loads_json(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise EstimationError(f"there is no '{file}'", hint=hint, code=Code.UNKNOWN_NAME) from None
    except OSError as error:
        raise EstimationError(
            f"'{file}' cannot be read: {error.strerror or error}",
            hint=hint,
            code=Code.UNUSABLE_FILE,
        ) from None
    except ValueError as error:  # also bytes that are not UTF-8
        raise EstimationError(
            f"'{file}' is not JSON: {error}", hint=hint, code=Code.UNUSABLE_FILE
        ) from None
    try:
        return convert(JsonTable(content))
    except BROKEN as error:
        raise EstimationError(
            f"'{file}' is not {what}: {error}", hint=hint, code=Code.UNUSABLE_FILE
        ) from None


def word(content: JsonTable, key: str, known: tuple[str, ...]) -> str:
    """Return a text that is one of those that are known.

    Raises
    ------
    ValueError
        It is another one.
    """
    found = content.text(key)
    if found not in known:
        raise ValueError(f"'{key}' is '{found}', none of {', '.join(known)}")
    return found


def matrix(content: JsonTable, key: str, size: int) -> F64:
    """Return a matrix with a row for each free parameter, or an empty one.

    Raises
    ------
    ValueError
        It has another shape.
    """
    rows = content.listed(key, [])
    found = np.array([JsonTable({key: row}).numbers(key) for row in rows], dtype=np.float64)
    if rows and found.shape != (size, size):
        raise ValueError(f"'{key}' has not {size} rows and columns")
    return found
