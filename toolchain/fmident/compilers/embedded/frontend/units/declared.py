"""The declared units of the outputs of functions, which rumoca's flat model leaves out."""

from __future__ import annotations

from collections.abc import Sequence

from fmident.compilers.embedded.frontend.reading.source.names import Names, bases
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token

_PREFIXES = frozenset({"input", "output", "flow", "final", "replaceable", "parameter"})
_MOST_TYPES = 20
"""Longest chain of types, each defined by the next, that is followed."""


class DeclaredUnits:
    """Reads units of function variables from the source.

    Parameters
    ----------
    names
        The classes.
    """

    def __init__(self, names: Names) -> None:
        self._names = names

    def output(self, function: str, variable: str) -> str:
        """Return the unit in which a function declares an output; empty when it declares none."""
        return self._in_class(self._names.find(function), variable, _MOST_TYPES)

    def _in_class(self, item: ClassText | None, variable: str, depth: int) -> str:
        if item is None or depth == 0:
            return ""
        found = _declaration(item.tokens, variable)
        if found is not None:
            type_parts, own = found
            return own or self._of_type(self._class(type_parts, item), depth - 1)
        for parts in bases(item):
            unit = self._in_class(self._class(parts, item), variable, depth - 1)
            if unit:
                return unit
        return ""

    def _of_type(self, item: ClassText | None, depth: int) -> str:
        if item is None or depth == 0 or item.keyword != "type":
            return ""
        own = _modifier(item.tokens, 0, "unit")
        if own:
            return own
        parts = next(iter(bases(item)), None)
        return "" if parts is None else self._of_type(self._class(parts, item), depth - 1)

    def _class(self, parts: Sequence[str], item: ClassText) -> ClassText | None:
        full = self._names.resolve(parts, item)
        return None if full is None or full == item.name else self._names.find(full)


def _declaration(tokens: Sequence[Token], variable: str) -> tuple[list[str], str] | None:
    """Return the type of an output, and the unit of its own modifier."""
    i = 0
    while i < len(tokens):
        if tokens[i].text != "output":
            i += 1
            continue
        while i < len(tokens) and tokens[i].text in _PREFIXES:
            i += 1
        type_parts: list[str] = []
        while i < len(tokens) and tokens[i].kind in ("word", "quoted"):
            type_parts.append(tokens[i].text)
            i += 1
            if i == len(tokens) or tokens[i].text != ".":
                break
            i += 1
        depth, expected = 0, True
        while i < len(tokens) and (depth or tokens[i].text != ";"):
            text = tokens[i].text
            if tokens[i].kind == "symbol":
                depth += (text in "([{") - (text in ")]}")
            if depth == 0 and expected and tokens[i].kind in ("word", "quoted"):
                if text == variable:
                    return type_parts, _modifier(tokens, i + 1, "unit")
                expected = False
            expected = expected or (depth == 0 and text == ",")
            i += 1
    return None


def _modifier(tokens: Sequence[Token], start: int, name: str) -> str:
    """Return the text of ``name = "..."`` in the first parentheses from `start` on."""
    depth = 0
    for i in range(start, len(tokens)):
        text = tokens[i].text
        if tokens[i].kind == "symbol":
            if depth == 0 and text in (";", ",", "=") and i > start:
                return ""
            depth += (text in "([{") - (text in ")]}")
            continue
        if (
            depth == 1
            and text == name
            and i + 2 < len(tokens)
            and tokens[i + 1].text == "="
            and tokens[i + 2].kind == "string"
        ):
            return tokens[i + 2].text.strip('"')
    return ""
