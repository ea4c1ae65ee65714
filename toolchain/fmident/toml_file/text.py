"""Parse TOML; its mistakes become errors with line and column."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from fmident.errors import FmidentError, Location, ProblemError

_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")


def parse_toml(
    text: str,
    path: Path,
    *,
    error: type[FmidentError] = ProblemError,
    example: str = '"q[1]" = "column"',
) -> dict[str, Any]:
    """Return the content of a TOML file.

    Parameters
    ----------
    text
        Of the file.
    path
        Its name, for messages.
    error
        What is raised.
    example
        A key with brackets as it is written in such a file, for the hint.

    Raises
    ------
    fmident.errors.FmidentError
        Of the kind `error`: the text is not TOML.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        place = _PLACE.search(str(failure))
        line = int(place["line"]) if place and place["line"] else None
        column = int(place["column"]) if place and place["column"] else None
        raise error(
            f"this is not TOML: {_PLACE.sub('', str(failure))}",
            location=Location(str(path), line, column),
            hint=f"names with brackets need quotes: {example}",
        ) from failure
