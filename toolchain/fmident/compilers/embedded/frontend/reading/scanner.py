"""A light scanner of Modelica text: tokens, classes, annotations.

It finds places in the user's files; meaning comes from the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TOKEN = re.compile(
    r"""
    (?P<skip>\s+|//[^\n]*|/\*.*?\*/)
  | (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<quoted>'(?:[^'\\]|\\.)*')
  | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<word>[A-Za-z_]\w*)
  | (?P<symbol>:=|<=|>=|<>|==|\.[*/^+-]|.)
    """,
    re.VERBOSE | re.DOTALL,
)

CLASS_KEYWORDS = frozenset(
    {"model", "block", "class", "connector", "record", "package", "function", "type", "operator"}
)


@dataclass(frozen=True)
class Token:
    """A word, number, string or symbol; `offset` counts characters."""

    kind: str
    text: str
    offset: int


@dataclass(frozen=True)
class ClassText:
    """Where a class stands.

    Parameters
    ----------
    name
        Full Modelica name.
    keyword
        ``"model"``, ``"package"``, ...
    file
        The file.
    start, end
        Character offsets of its name and of its end.
    tokens
        Its own tokens, those of nested classes left out.
    prefixes
        Words before the keyword, such as ``partial``.
    """

    name: str
    keyword: str
    file: Path
    start: int
    end: int
    tokens: tuple[Token, ...]
    prefixes: tuple[Token, ...] = ()


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of Modelica text, without comments and white space."""
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "symbol"
        if kind != "skip":
            yield Token(kind, match.group(), match.start())


@dataclass
class _Open:
    name: str
    keyword: str
    start: int
    tokens: list[Token]
    prefixes: tuple[Token, ...]


def classes(text: str, file: Path) -> list[ClassText]:
    """Return the classes defined in a text, outer ones after inner ones."""
    stream = list(tokens(text))
    prefix = ""
    found: list[ClassText] = []
    stack: list[_Open] = []
    depth = 0
    i = 0
    if stream and stream[0].text == "within":
        i = 1
        while i < len(stream) and stream[i].text != ";":
            prefix += stream[i].text
            i += 1

    def full(name: str) -> str:
        return ".".join(([prefix] if prefix else []) + [o.name for o in stack] + [name])

    while i < len(stream):
        token = stream[i]
        if token.text in "([{" and token.kind == "symbol":
            depth += 1
        elif token.text in ")]}" and token.kind == "symbol":
            depth -= 1
        following = stream[i + 1] if i + 1 < len(stream) else None
        if token.text == "end" and following is not None and stack:
            if following.text == stack[-1].name and depth == 0:
                top = stack.pop()
                end = following.offset + len(following.text)
                found.append(
                    ClassText(
                        full(top.name),
                        top.keyword,
                        file,
                        top.start,
                        end,
                        tuple(top.tokens),
                        top.prefixes,
                    )
                )
                i += 2
                continue
        elif (
            token.kind == "word"
            and token.text in CLASS_KEYWORDS
            and depth == 0
            and following is not None
            and following.kind in ("word", "quoted")
            and following.text not in CLASS_KEYWORDS
        ):
            name_token = following
            j = i + 2
            if name_token.text == "extends" and j < len(stream):
                name_token = stream[j]
                j += 1
            k = j
            while k < len(stream) and stream[k].kind == "string":
                k += 1
            if k < len(stream) and stream[k].text == "=":
                own: list[Token] = []
                while k < len(stream) and stream[k].text != ";":
                    own.append(stream[k])
                    k += 1
                end = stream[k].offset if k < len(stream) else len(text)
                found.append(
                    ClassText(
                        full(name_token.text),
                        token.text,
                        file,
                        name_token.offset,
                        end,
                        tuple(own),
                        _prefixes(stream, i),
                    )
                )
                i = k
                continue
            stack.append(
                _Open(name_token.text, token.text, name_token.offset, [], _prefixes(stream, i))
            )
            i = j
            continue
        if stack:
            stack[-1].tokens.append(token)
        i += 1
    return found


def _prefixes(stream: list[Token], i: int) -> tuple[Token, ...]:
    """Return the words before a class keyword, back to the end of the last element."""
    j = i
    while j > 0 and stream[j - 1].kind == "word":
        j -= 1
    return tuple(stream[j:i])


def annotation_arguments(own: tuple[Token, ...], name: str) -> dict[str, str] | None:
    """Return ``key -> text`` of ``annotation(name(key=value, ...))`` of a class, or ``None``."""
    for i, token in enumerate(own):
        if token.text != "annotation":
            continue
        depth = 0
        for j in range(i + 1, len(own)):
            text = own[j].text
            if text == name and depth == 1 and j + 1 < len(own) and own[j + 1].text == "(":
                return _arguments(own, j + 2)
            if text == name and depth == 1 and j + 2 < len(own) and own[j + 1].text == "=":
                return {name: own[j + 2].text}
            if own[j].kind == "symbol":
                depth += (text == "(") - (text == ")")
            if depth == 0:
                break
    return None


def _arguments(own: tuple[Token, ...], start: int) -> dict[str, str]:
    result: dict[str, str] = {}
    depth = 0
    key = ""
    parts: list[str] = []
    for token in own[start:]:
        if token.kind == "symbol":
            if token.text == "(":
                depth += 1
            elif token.text == ")":
                depth -= 1
            if (token.text == "," and depth == 0) or depth < 0:
                if key:
                    result[key] = "".join(parts)
                key, parts = "", []
                if depth < 0:
                    break
                continue
            if token.text == "=" and depth == 0:
                key, parts = "".join(parts), []
                continue
        parts.append(token.text)
    return result
