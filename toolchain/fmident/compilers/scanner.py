"""A simple scanner of Modelica text: tokens, classes, annotations, without semantics."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
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

PREFIXES = frozenset(
    {"redeclare", "replaceable", "final", "each", "inner", "outer", "flow", "discrete", "input"}
    | {"output", "parameter", "constant", "public", "protected", "partial", "encapsulated"}
)
"""Words before the type of an element."""
_SECTIONS = frozenset({"equation", "algorithm"})
NAMES = ("word", "quoted")
"""Kinds of tokens that are names."""


@dataclass(frozen=True)
class Token:
    """A word, number, string or symbol; `offset` counts characters."""

    kind: str
    text: str
    offset: int

    @property
    def end(self) -> int:
        """Offset behind it."""
        return self.offset + len(self.text)


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

    @cached_property
    def elements(self) -> tuple[Element, ...]:
        """Its components and bases."""
        return tuple(_elements(self))


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
    return _Classes(text, file).classes


def top_level_classes(text: str) -> tuple[str, ...]:
    """Return the simple names of the classes of a text that are in no other one of it."""
    return tuple(_Classes(text, Path()).outermost)


def is_part_of_package(text: str) -> bool:
    """Return whether a text begins with ``within`` and the name of a package."""
    first = [*itertools.islice(tokens(text), 2)]
    return has(first, 0, "within") and len(first) == 2 and first[1].kind in NAMES


def used_libraries(text: str) -> dict[str, str]:
    """Return the libraries in the ``uses`` annotations of a text: library -> version."""
    stream = tuple(tokens(text))
    libraries: dict[str, str] = {}
    for i in (i for i, token in enumerate(stream) if token.text == "uses"):
        for name, (begin, _) in modifiers(stream, i + 1).items():
            version = modifiers(stream, begin + 1).get("version")
            if version is not None:
                libraries.setdefault(name, text_of(stream, version).strip('"'))
    return libraries


class _Classes:
    """Collects the classes of a text in one pass over its tokens, in `classes`.

    `outermost` are the names of those in no other class, even if their end is missing.
    """

    def __init__(self, text: str, file: Path) -> None:
        self.classes: list[ClassText] = []
        self.outermost: list[str] = []
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
        end = next((k for k, t in enumerate(self._stream) if t.text == ";"), len(self._stream))
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
        self._add(self._stack.pop(), name.end)
        return i + 2

    def _begin(self, i: int) -> int:
        keyword, name, after = self._stream[i], self._stream[i + 1], i + 2
        if name.text == "extends" and after < len(self._stream):
            name, after = self._stream[after], after + 1
        if not self._stack:
            self.outermost.append(name.text)
        prefixes = _prefixes(self._stream, i)
        opened = _Open(name.text, keyword.text, name.offset, [], prefixes)
        k = after
        while k < len(self._stream) and self._stream[k].kind == "string":
            k += 1
        if k == len(self._stream) or self._stream[k].text != "=":
            self._stack.append(opened)
            return after
        ends = (j for j in outside(self._stream, k) if self._stream[j].text == ";")
        end = next(ends, len(self._stream))
        opened.tokens += self._stream[k:end]
        self._add(opened, self._stream[end].offset if end < len(self._stream) else self._length)
        return end

    def _add(self, one: _Open, end: int) -> None:
        outer = [self._prefix] if self._prefix else []
        name = ".".join([*outer, *(o.name for o in self._stack), one.name])
        own = tuple(one.tokens)
        self.classes.append(
            ClassText(name, one.keyword, self._file, one.start, end, own, one.prefixes)
        )


def _prefixes(stream: list[Token], i: int) -> tuple[Token, ...]:
    """Return the words before a class keyword, back to the end of the last element."""
    j = i
    while j > 0 and stream[j - 1].kind == "word":
        j -= 1
    return tuple(stream[j:i])


Range = tuple[int, int]
"""The first of some tokens, and the one behind them."""


@dataclass(frozen=True)
class Element:
    """A component (`kind` ``"component"``), base (``"extends"``) or short definition's class.

    `name` is the position of the component's name or else of the first part of `type_name`.
    `behind` and `clause` are the positions of its modifiers and its constraining clause's,
    existing or not; ``None`` without a clause. `prefixes` are the words before the type;
    `sized` says whether there are array dimensions.
    """

    kind: str
    item: ClassText
    type_name: tuple[str, ...]
    name: int
    behind: int
    clause: int | None = None
    prefixes: tuple[str, ...] = ()
    sized: bool = False

    @property
    def token(self) -> Token:
        """Token of its name."""
        return self.item.tokens[self.name]

    @property
    def own(self) -> dict[str, Range]:
        """Its modifiers, by the modified name."""
        return modifiers(self.item.tokens, self.behind)

    @property
    def of_clause(self) -> dict[str, Range]:
        """The modifiers of its constraining clause."""
        return {} if self.clause is None else modifiers(self.item.tokens, self.clause)

    @property
    def redeclared(self) -> frozenset[str]:
        """The names that its modifiers redeclare."""
        tokens = self.item.tokens
        return frozenset(n for n, (i, _) in self.own.items() if tokens[i].text == "redeclare")


def _elements(item: ClassText) -> Iterator[Element]:
    tokens = item.tokens
    if has(tokens, 0, "="):
        i = after_words(tokens, 1, PREFIXES)
        parts, end = dotted(tokens, i)
        sized = has(tokens, end, "[")
        end = behind(tokens, end, "[")
        if parts:
            clause = _clause(tokens, end, len(tokens))
            yield Element("short", item, parts, i, end, clause, sized=sized)
        return
    declaring, i = True, 0
    while i < len(tokens):
        end = next((k for k in outside(tokens, i) if tokens[k].text == ";"), len(tokens))
        section = next((t.text for t in tokens[i:end] if t.text in _SECTIONS | PREFIXES), "")
        if section in _SECTIONS:
            declaring = False
        elif section in ("public", "protected"):
            declaring = True
        if declaring:
            yield from _element(item, i, end)
        i = end + 1


def _element(item: ClassText, begin: int, end: int) -> Iterator[Element]:
    tokens, i = item.tokens, begin
    while i < end and (tokens[i].text in PREFIXES or tokens[i].kind == "string"):
        i += 1  # the text in front belongs to the class
    prefixes = tuple(t.text for t in tokens[begin:i] if t.kind == "word")
    if i < end and tokens[i].text == "extends":
        parts, after = dotted(tokens, i + 1)
        yield Element("extends", item, parts, i + 1, after)
        return
    parts, i = dotted(tokens, i)
    sized = has(tokens, i, "[")
    i = behind(tokens, i, "[")
    clause = _clause(tokens, i, end)
    while parts and i < end and tokens[i].kind in NAMES:
        after = behind(tokens, i + 1, "[")
        has_sizes = sized or after > i + 1
        yield Element("component", item, parts, i, after, clause, prefixes, has_sizes)
        i = next((k + 1 for k in outside(tokens, after) if tokens[k].text == ","), end)


def _clause(tokens: Sequence[Token], i: int, end: int) -> int | None:
    """Return the position after the class of a constraining clause."""
    for k in outside(tokens, i):
        if k >= end:
            break
        if tokens[k].text == "constrainedby":
            return dotted(tokens, k + 1)[1]
    return None


def modifiers(tokens: Sequence[Token], i: int) -> dict[str, Range]:
    """Return the modifiers in the parentheses at a position, by the modified name."""
    if not has(tokens, i, "("):
        return {}
    result: dict[str, Range] = {}
    last = behind(tokens, i) - 1
    begin = i + 1
    commas = [k for k in outside(tokens, i + 1) if k < last and tokens[k].text == ","]
    for end in (*commas, last):
        redeclares = has(tokens, begin, "redeclare")
        k = min(after_words(tokens, begin, PREFIXES), end)
        if redeclares and not has(tokens, k, *CLASS_KEYWORDS):
            k = dotted(tokens, k)[1]  # of a component: its class precedes its name
        elif redeclares:
            k += 1
        if k < end:
            result[tokens[k].text] = (begin, end)
        begin = end + 1
    return result


def text_of(tokens: Sequence[Token], modifier: Range) -> str:
    """Return what a modifier gives its name, without white space."""
    begin = next((k for k in range(*modifier) if tokens[k].text == "="), modifier[1])
    return "".join(t.text for t in tokens[begin + 1 : modifier[1]])


def dotted(tokens: Sequence[Token], i: int) -> tuple[tuple[str, ...], int]:
    """Return the parts of the name at a position, and the position after it."""
    parts: list[str] = []
    while i < len(tokens) and (tokens[i].kind in NAMES or tokens[i].text == "."):
        if tokens[i].text == ".":
            i += 1
            continue
        if parts and tokens[i - 1].text != ".":
            break
        parts.append(tokens[i].text)
        i += 1
    return tuple(parts), i


def after_words(tokens: Sequence[Token], i: int, words: Collection[str]) -> int:
    """Return the position after any of some words from `i` on."""
    while i < len(tokens) and tokens[i].text in words:
        i += 1
    return i


def outside(tokens: Sequence[Token], i: int) -> Iterator[int]:
    """Yield the positions from `i` on that are outside of brackets, until one closes."""
    depth = 0
    for k in range(i, len(tokens)):
        symbol = tokens[k].kind == "symbol"
        depth -= symbol and tokens[k].text in ")]}"
        if depth < 0:
            return
        if depth == 0:
            yield k
        depth += symbol and tokens[k].text in "([{"


def behind(tokens: Sequence[Token], i: int, opening: str = "([{") -> int:
    """Return the position after the bracket that opens at `i`, or `i` without one."""
    if not has(tokens, i, *opening):
        return i
    depth = 0
    for k in range(i, len(tokens)):
        if tokens[k].kind == "symbol":
            depth += (tokens[k].text in "([{") - (tokens[k].text in ")]}")
        if depth == 0:
            return k + 1
    return len(tokens)


def has(tokens: Sequence[Token], i: int, *texts: str) -> bool:
    """Return whether there is a token with one of some texts at a position."""
    return 0 <= i < len(tokens) and tokens[i].text in texts


def annotation_arguments(own: tuple[Token, ...], name: str) -> dict[str, str]:
    """Return ``key -> text`` of ``annotation(name(key=value, ...))``, or of ``name=text``."""
    for i, token in enumerate(own):
        given = modifiers(own, i + 1).get(name) if token.text == "annotation" else None
        if given is not None and has(own, given[0] + 1, "="):
            return {name: text_of(own, given)}
        if given is not None:
            return {k: text_of(own, m) for k, m in modifiers(own, given[0] + 1).items()}
    return {}


@dataclass(frozen=True)
class Edit:
    """New text for a range of character offsets in a file."""

    file: Path
    begin: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with edits, except for those inside another one."""
    parts: list[str] = []
    place = 0
    for edit in sorted(edits, key=lambda e: (e.begin, -e.end)):
        if edit.begin >= place:
            parts += [text[place : edit.begin], edit.text]
            place = edit.end
    return "".join([*parts, text[place:]])
