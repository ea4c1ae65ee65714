"""Parse TOML; its mistakes become errors with line and column."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fmident.errors import Code, FmidentError, Location, ProblemError
from fmident.toml_file.locate import twice

_PLACE = re.compile(r"\s*\(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)")
_INLINE_TWICE = re.compile(r"Duplicate inline table key '(?P<key>.*)'")
_DIGITS = re.compile(r"[0-9A-Fa-f_]{1000,}")
_INTEGERS = range(-(2**63), 2**63)
_DEEPEST = 50
_MOST_BITS = 10_000


class NotTomlError(ValueError):
    """A text that is not TOML, or more than anybody writes.

    Parameters
    ----------
    message
        What is wrong.
    line, column
        Where, counted from 1, if it is known.
    hint
        What to do, if there is something to say.
    """

    def __init__(
        self,
        message: str,
        line: int | None = None,
        column: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.hint = message, line, column, hint


def loads(text: str) -> dict[str, Any]:
    """Return the content of a text in TOML, integers of 64 bits and tables of some depth.

    Raises
    ------
    NotTomlError
        It is not TOML, an integer is greater than TOML's, lists or tables are nested too deeply.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as failure:
        place = _PLACE.search(str(failure))
        raise NotTomlError(
            _PLACE.sub("", str(failure)),
            int(place["line"]) if place and place["line"] else None,
            int(place["column"]) if place and place["column"] else None,
        ) from failure
    except RecursionError:
        raise _too_deep() from None
    except ValueError as failure:  # Python reads no integer of so many digits, nor year 0
        found = _DIGITS.search(text)
        line = text.count("\n", 0, found.start()) + 1 if found else None
        said = "a number has too many digits" if found else str(failure)
        raise NotTomlError(said, line, hint=_POWER if found else None) from None
    for key, value, depth in _values(content):
        if depth > _DEEPEST:
            raise _too_deep()
        if isinstance(value, int) and value not in _INTEGERS:
            # One in hexadecimal digits is not found, and Python writes none of thousands.
            at = text.find(str(value)) if value.bit_length() < _MOST_BITS else -1
            line = text.count("\n", 0, at) + 1 if at >= 0 else None
            raise NotTomlError(f"the integer of '{key}' is beyond 64 bits", line, hint=_POWER)
    return content


_POWER = "write large numbers with an exponent, such as 1e30"


def _too_deep() -> NotTomlError:
    return NotTomlError(f"lists or tables are nested more than {_DEEPEST} deep")


def _values(content: dict[str, Any]) -> Iterator[tuple[str, Any, int]]:
    """Yield all values with the nearest key above them and their depth; no recursion."""
    waiting: list[tuple[str, Any, int]] = [("", content, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        yield key, value, depth
        if depth > _DEEPEST:
            continue
        if isinstance(value, dict):
            waiting += [(str(k), v, depth + 1) for k, v in value.items()]
        elif isinstance(value, list):
            waiting += [(key, v, depth + 1) for v in value]


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
        return loads(text)
    except NotTomlError as failure:
        _refuse_twice(text, path, failure, error)
        raise error(
            f"this is not TOML: {failure.message}",
            location=Location(str(path), failure.line, failure.column),
            code=Code.NOT_TOML,
            hint=failure.hint or _hint(text, failure.line, example),
        ) from failure


def _refuse_twice(text: str, path: Path, failure: NotTomlError, error: type[FmidentError]) -> None:
    """Raise an error that names key and lines where a key or a table is written twice."""
    inline = _INLINE_TWICE.search(failure.message)
    if inline is not None:
        raise error(
            f"'{inline['key']}' is written twice in an inline table",
            location=Location(str(path), failure.line, failure.column),
            code=Code.NOT_TOML,
            hint="leave out one of them",
        ) from failure
    found = twice(text, failure.line)
    if found is None:
        return
    keys, first, second = found
    names = [str(key) for key in keys if not isinstance(key, int)]
    lines = text.split("\n")
    header = lines[second - 1].lstrip().startswith("[")
    several = lines[first - 1].lstrip().startswith("[[")
    where = f" of [{'.'.join(names[:-1])}]" if len(names) > 1 and not header else ""
    what = f"the table [{'.'.join(names)}]" if header else f"'{names[-1]}'{where}"
    raise error(
        f"{what} is written twice, in lines {first} and {second}",
        location=Location(str(path), second),
        code=Code.NOT_TOML,
        hint=f'two columns for one variable: "{names[-1]} again" = {{ variable = "{names[-1]}",'
        ' column = "..." }'
        if names[-2:-1] == ["outputs"]
        else f"double brackets, [[{'.'.join(names)}]], begin another one"
        if several
        else "write what belongs to it in one place"
        if header
        else "leave out one of them",
    ) from failure


def _hint(text: str, line: int | None, example: str) -> str | None:
    """Return what is probably wrong in a line that is not TOML."""
    lines = text.split("\n")
    found = lines[line - 1] if line is not None and line <= len(lines) else ""
    first = next((t for t in lines if t.strip() and not t.lstrip().startswith("#")), "")
    if "=" not in first and not first.lstrip().startswith("["):
        return "this looks like data; a file in TOML is expected"
    if re.match(r"\s*[\w.]*\w\[[^=]*=", found):
        return f"names with brackets need quotes: {example}"
    if re.search(r"=\s*[-+]?\d+,\d", found):
        return "numbers have a decimal point: 0.005, not 0,005"
    if re.search(r"=\s*[-+]?\.\d", found):
        return "numbers begin with a digit: 0.3, not .3"
    if re.search(r"=\s*[A-Za-z_./~]", found):
        return 'texts need quotes: data = "measured.csv"'
    if "\\" in found and '"' in found:
        return "a backslash in double quotes must be doubled; single quotes take it as it is"
    return None
