"""The words of Modelica source."""

from __future__ import annotations

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/)
      |(?P<string>"(?:\\.|[^"\\])*")
      |(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)
      |(?P<name>[A-Za-z_]\w*|'[^'\n]+')
      |(?P<sign>:=|==|<=|>=|<>|\.\^|\.\*|\./|\.\+|\.-|[-+*/^=<>()\[\]{},;:.])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t"}


@dataclass(frozen=True)
class Token:
    """One word of the source; `start` and `stop` are offsets in the text."""

    kind: str
    text: str
    start: int
    stop: int


def tokens(text: str) -> list[Token]:
    """Words of a text without white space and comments."""
    found = []
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            line = text.count("\n", 0, at) + 1
            raise SyntaxError(f"line {line}: unexpected {text[at]!r}")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(Token(kind, match.group(), match.start(), match.end()))
        at = match.end()
    return found


def unquote(text: str) -> str:
    """Text of a string literal."""
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
