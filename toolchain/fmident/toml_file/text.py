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
            hint=_hint(text, line, example),
        ) from failure


def _hint(text: str, line: int | None, example: str) -> str | None:
    """Return what is probably wrong in a line that is not TOML."""
    lines = text.splitlines()
    found = lines[line - 1] if line is not None and line <= len(lines) else ""
    first = next((t for t in lines if t.strip() and not t.lstrip().startswith("#")), "")
    if "=" not in first and not first.lstrip().startswith("["):
        return "this looks like data; a file in TOML is expected"
    if re.match(r"\s*[\w.]*\w\[[^=]*=", found):
        return f"names with brackets need quotes: {example}"
    if re.search(r"=\s*[-+]?\d+,\d", found):
        return "numbers have a decimal point: 0.005, not 0,005"
    if re.search(r"=\s*[A-Za-z_./~]", found):
        return 'texts need quotes: data = "measured.csv"'
    if "\\" in found and '"' in found:
        return "a backslash in double quotes must be doubled; single quotes take it as it is"
    return None
