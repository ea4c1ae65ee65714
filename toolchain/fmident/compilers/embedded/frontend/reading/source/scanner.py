"""A simple scanner of Modelica text: tokens, classes, annotations, without semantics."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
    """Position and tokens of a class.

    `start` and `end` are character offsets of its name and its end; `tokens` exclude those
    of nested classes, and `prefixes` are words such as ``partial``.
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
    """Return the classes defined in a text, inner ones first."""
    return _Classes(text, file).found


class _Classes:
    """Collects the classes of a text in one pass over its tokens, in `found`."""

    def __init__(self, text: str, file: Path) -> None:
        self.found: list[ClassText] = []
        self._file = file
        self._length = len(text)
        self._stream = list(tokens(text))
        self._stack: list[_Open] = []
        self._prefix = ""
        depth = 0
        i = self._within()
        while i < len(self._stream):
            token = self._stream[i]
            if token.kind == "symbol":
                depth += (token.text in "([{") - (token.text in ")]}")
            after = self._class_at(i) if depth == 0 else i
            if after == i:  # neither the begin of a class nor its end
                if self._stack:
                    self._stack[-1].tokens.append(token)
                after = i + 1
            i = after

    def _within(self) -> int:
        """Read the name after ``within``; return the next position."""
        if not self._stream or self._stream[0].text != "within":
            return 0
        end = self._find(";", 1)
        self._prefix = "".join(t.text for t in self._stream[1:end])
        return end

    def _class_at(self, i: int) -> int:
        """Handle the begin or end of a class, if any; return the position after it, or `i`."""
        token = self._stream[i]
        following = self._stream[i + 1] if i + 1 < len(self._stream) else None
        if following is None:
            return i
        if token.text == "end" and self._stack:
            return self._end(i, following)
        if (
            token.kind == "word"
            and token.text in CLASS_KEYWORDS
            and following.kind in ("word", "quoted")
            and following.text not in CLASS_KEYWORDS
        ):
            return self._begin(i)
        return i

    def _end(self, i: int, name: Token) -> int:
        if name.text != self._stack[-1].name:
            return i  # of an if, a for, a while or a when
        top = self._stack.pop()
        end = name.offset + len(name.text)
        self._add(top.name, top.keyword, top.start, end, tuple(top.tokens), top.prefixes)
        return i + 2

    def _begin(self, i: int) -> int:
        keyword, name, after = self._stream[i], self._stream[i + 1], i + 2
        if name.text == "extends" and after < len(self._stream):
            name, after = self._stream[after], after + 1
        prefixes = _prefixes(self._stream, i)
        k = after
        while k < len(self._stream) and self._stream[k].kind == "string":
            k += 1
        if k == len(self._stream) or self._stream[k].text != "=":
            self._stack.append(_Open(name.text, keyword.text, name.offset, [], prefixes))
            return after
        end = self._end_of_element(k)
        offset = self._stream[end].offset if end < len(self._stream) else self._length
        own = tuple(self._stream[k:end])
        self._add(name.text, keyword.text, name.offset, offset, own, prefixes)
        return end

    def _end_of_element(self, i: int) -> int:
        """Return the position of the next semicolon outside brackets, or the end of all."""
        depth = 0
        while i < len(self._stream) and (depth > 0 or self._stream[i].text != ";"):
            if self._stream[i].kind == "symbol":
                depth += (self._stream[i].text in "([{") - (self._stream[i].text in ")]}")
            i += 1
        return i

    def _find(self, text: str, i: int) -> int:
        """Return the position of the next token with a text, or the end of all."""
        while i < len(self._stream) and self._stream[i].text != text:
            i += 1
        return i

    def _add(
        self,
        name: str,
        keyword: str,
        start: int,
        end: int,
        own: tuple[Token, ...],
        prefixes: tuple[Token, ...],
    ) -> None:
        outer = [self._prefix] if self._prefix else []
        full = ".".join([*outer, *(o.name for o in self._stack), name])
        self.found.append(ClassText(full, keyword, self._file, start, end, own, prefixes))


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


@dataclass(frozen=True, order=True)
class Edit:
    """New text for a range of character offsets in a file."""

    file: Path
    begin: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit], original: str) -> str:
    """Return a text with edits, except where it hides characters of the `original`."""
    for edit in sorted(edits, reverse=True):
        around = slice(edit.begin - 1, edit.end + 1)
        if text[around] == original[around]:
            text = text[: edit.begin] + edit.text + text[edit.end :]
    return text
