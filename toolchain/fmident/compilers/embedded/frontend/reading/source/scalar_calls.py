"""Scalars that are bound to a function of arrays: rumoca takes them for arrays.

It lets the function be called for each element of its arguments (Modelica 3.6, section 12.4.6),
whatever the function declares. A factor of one in front of the call prevents that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fmident.compilers.embedded.frontend.reading.source.edits import Edit
from fmident.compilers.embedded.frontend.reading.source.names import Names, bases
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Token

_BEFORE = frozenset({"=", "then", "else"})
_BODY = frozenset({"equation", "algorithm"})
_MOST_ALIASES = 20


def scalar_calls(items: Sequence[ClassText], names: Names) -> Iterator[Edit]:
    """Yield the factors to be written into classes."""
    for item in items:
        for offset in _calls(item, names):
            yield Edit(item.file, offset, offset, "1*")


def _calls(item: ClassText, names: Names) -> Iterator[int]:
    """Yield the offsets of such calls in the declarations of a class."""
    tokens = item.tokens
    for i, token in enumerate(tokens):
        if token.text in _BODY:
            return
        if token.kind != "word" or i == 0 or tokens[i - 1].text not in _BEFORE:
            continue
        parts, end = _dotted(tokens, i)
        if end < len(tokens) and tokens[end].text == "(":
            full = names.resolve(parts, item)
            function = names.find(full) if full else None
            if function is not None and _is_scalar_of_arrays(function, names):
                yield token.offset


def _dotted(tokens: Sequence[Token], i: int) -> tuple[list[str], int]:
    """Return the parts of the name at a place, and the place behind it."""
    parts = [tokens[i].text]
    while i + 2 < len(tokens) and tokens[i + 1].text == ".":
        i += 2
        parts.append(tokens[i].text)
    return parts, i + 1


def _is_scalar_of_arrays(function: ClassText, names: Names) -> bool:
    """Return whether a function takes an array, or an external object, and gives a Real."""
    if function.keyword != "function":
        return False
    takes, gives = False, False
    for kind, parts, sized, owner in _formals(function, names):
        if kind == "input":
            takes = takes or sized or _is_object(parts, owner, names)
        else:
            gives = not sized and _is_real(parts, owner, names)
            break  # of several outputs an expression takes the first
    return takes and gives


def _formals(function: ClassText, names: Names) -> Iterator[tuple[str, list[str], bool, ClassText]]:
    """Yield inputs, then outputs, those of bases first: kind, type, whether an array, class."""
    owners = [
        base
        for parts in bases(function)
        if (full := names.resolve_base(parts, function)) and (base := names.find(full))
    ]
    for kind in ("input", "output"):
        for owner in (*owners, function):
            tokens = owner.tokens
            for i, token in enumerate(tokens):
                if token.text == kind and token.kind == "word":
                    parts, end = _dotted(tokens, i + 1)
                    after = [t.text for t in tokens[end : end + 2]]
                    yield kind, parts, "[" in after, owner


def _is_object(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    full = names.resolve(parts, item)
    found = names.find(full) if full else None
    return found is not None and any(t.text == "ExternalObject" for t in found.tokens)


def _is_real(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    for _ in range(_MOST_ALIASES):
        if list(parts) == ["Real"]:
            return True
        full = names.resolve(parts, item)
        found = names.find(full) if full else None
        if found is None or found.keyword != "type" or found.tokens[:1] == ():
            return False
        (parts, *_), item = bases(found) or [[]], found
    return False
