"""The headers and assignments of a TOML text, each with its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PART = re.compile(
    r"""(?P<long>\"{3}|'{3})        # the begin of a text of several lines
    | "(?:[^"\\\n]|\\.)*" | '[^'\n]*' | \#[^\n]*
    | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<end>\n)""",
    re.VERBOSE,
)
_LONG_END = {
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*"{3,5}', re.DOTALL),
    "'''": re.compile(r"(?:[^']|'(?!''))*'{3,5}", re.DOTALL),
}


@dataclass(frozen=True)
class Statement:
    """A header, an assignment, a comment or an empty line.

    Parameters
    ----------
    first, last
        Its lines, counted from 0. A list, an inline table or a text may take several.
    text
        Without the end of the last line.
    """

    first: int
    last: int
    text: str


def statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a valid TOML text in order; each line belongs to one of them."""
    begin = position = depth = line = 0
    while position < len(text):
        found = _PART.search(text, position)
        if found is None:
            break
        position = found.end()
        if found["long"]:
            end = _LONG_END[found["long"]].match(text, position)
            position = len(text) if end is None else end.end()
        elif found["end"]:
            if depth == 0:
                yield _statement(text, begin, found.start(), line)
                line += text.count("\n", begin, position)
                begin = position
        else:
            depth += bool(found["open"]) - bool(found["close"])
    if begin < len(text):
        yield _statement(text, begin, len(text), line)


def _statement(text: str, begin: int, end: int, line: int) -> Statement:
    own = text[begin:end]
    return Statement(line, line + own.count("\n"), own.removesuffix("\r"))


def lines_of(text: str) -> list[str]:
    """Return the lines of a TOML text, which only line feeds end, unlike ``str.splitlines``."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
