"""Name resolution in a class, based on tokens (Modelica 3.6, section 5.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.scanner import ClassText, has
from fmident.compilers.sources import SourceTree

MOST_ALIASES = 20
"""Longest chain of short definitions that is followed."""


@dataclass(frozen=True)
class Import:
    """An import clause, from the token ``import`` to the semicolon.

    `alias` is the name introduced, empty for all names of the package.
    """

    package: str
    alias: str
    first: int
    last: int


def imports(item: ClassText) -> tuple[Import, ...]:
    """Return the import clauses of a class."""
    tokens = item.tokens
    result: list[Import] = []
    for i, token in enumerate(tokens):
        if token.text != "import" or token.kind != "word":
            continue
        end = next((j for j in range(i, len(tokens)) if tokens[j].text == ";"), len(tokens) - 1)
        words = [t.text for t in tokens[i + 1 : end] if t.kind != "string"]
        if "annotation" in words:
            words = words[: words.index("annotation")]
        result.extend(_clauses(words, i, end))
    return tuple(result)


def _clauses(words: list[str], first: int, last: int) -> Iterator[Import]:
    if words[1:2] == ["="]:
        yield Import("".join(words[2:]), words[0], first, last)
    elif words[-1:] == [".*"]:
        yield Import("".join(words[:-1]), "", first, last)
    elif words[-2:] == [".", "*"]:
        yield Import("".join(words[:-2]), "", first, last)
    elif words[-1:] == ["}"]:
        package = "".join(words[: words.index("{")]).rstrip(".")
        for name in words[words.index("{") + 1 : -1]:
            if name != ",":
                yield Import(f"{package}.{name}", name, first, last)
    elif words:
        yield Import("".join(words), words[-1], first, last)


class Names:
    """Finds classes by the names used in other classes.

    The sources `trees` are searched in order, with the user's own first.
    """

    def __init__(self, trees: Sequence[SourceTree]) -> None:
        self.trees = tuple(trees)
        self._members: dict[tuple[str, str], str | None] = {}
        self._imports: dict[str, tuple[Import, ...]] = {}
        self.used: dict[str, list[ClassText]] = {}
        """Results of :func:`~.scan_check.involved`, by class."""

    def find(self, name: str) -> ClassText | None:
        """Return the class with a given full name."""
        for tree in self.trees:
            if name in tree.classes:
                return tree.classes[name]
        return None

    def text(self, file: Path) -> str:
        """Return the text of a file of the sources."""
        return next(t.classes.text(file) for t in self.trees if file in t.files)

    def resolve(self, parts: Sequence[str], item: ClassText) -> str | None:
        """Return the full name of the class `parts` in `item`, or of the one that contains it."""
        return self._resolved(parts, item.name.split("."))

    def _resolved(self, parts: Sequence[str], scopes: Sequence[str]) -> str | None:
        """Return the full name of `parts` in the innermost of nested classes that knows it."""
        for depth in range(len(scopes), -1, -1):
            first = self._in_scope(parts[0], ".".join(scopes[:depth]))
            if first is not None:
                return self._below(first, parts[1:])
        return None

    def _in_scope(self, name: str, scope: str) -> str | None:
        if not scope:
            return name if self.find(name) is not None else None
        member = self._member(scope, name)
        if member is not None:
            return member
        item = self.find(scope)
        if item is None:
            return None
        for clause in self._imported(item):
            if clause.alias == name and self.find(clause.package) is not None:
                return clause.package
            if not clause.alias and self.find(f"{clause.package}.{name}") is not None:
                return f"{clause.package}.{name}"
        return None

    def _imported(self, item: ClassText) -> tuple[Import, ...]:
        if item.name not in self._imports:
            self._imports[item.name] = imports(item)
        return self._imports[item.name]

    def _below(self, full: str, rest: Sequence[str]) -> str:
        for part in rest:
            inner = self._member(full, part)
            if inner is None:
                break
            full = inner
        return full

    def _member(self, owner: str, name: str) -> str | None:
        """Return the class of that name in `owner` or in one of its bases."""
        key = (owner, name)
        if key not in self._members:
            self._members[key] = None  # a base that is looked for in itself
            self._members[key] = self._searched(owner, name)
        return self._members[key]

    def _searched(self, owner: str, name: str) -> str | None:
        if self.find(f"{owner}.{name}") is not None:
            return f"{owner}.{name}"
        item = self.find(owner)
        if item is None:
            return None
        inherited = (self._member(base.name, name) for base in self.bases(item))
        return next((full for full in inherited if full is not None), None)

    def bases(self, item: ClassText) -> Iterator[ClassText]:
        """Yield the classes that a class extends, or that it is a short definition of."""
        for element in item.elements:
            if element.kind != "component" and element.type_name:
                full = self.resolve_base(element.type_name, item)
                base = self.find(full) if full is not None and full != item.name else None
                if base is not None:
                    yield base

    def class_of(self, parts: Sequence[str], item: ClassText) -> ClassText | None:
        """Return the class that `item` calls `parts`."""
        full = self.resolve(parts, item) if parts else None
        return self.find(full) if full is not None else None

    def definitions(self, parts: Sequence[str], item: ClassText) -> Iterator[ClassText]:
        """Yield the class that `item` calls `parts` and, for a short definition, its bases."""
        for _ in range(MOST_ALIASES):
            definition = self.class_of(parts, item)
            if definition is None:
                return
            yield definition
            if not has(definition.tokens, 0, "=") or not definition.elements:
                return
            parts, item = definition.elements[0].type_name, definition

    def resolve_base(self, parts: Sequence[str], item: ClassText) -> str | None:
        """Return the full name of the class that `item` extends as `parts`."""
        full = self._resolved(parts, item.name.split(".")[:-1])
        if full is not None:
            return full
        for clause in self._imported(item):
            if clause.alias == parts[0] and self.find(clause.package) is not None:
                return self._below(clause.package, parts[1:])
        return None
