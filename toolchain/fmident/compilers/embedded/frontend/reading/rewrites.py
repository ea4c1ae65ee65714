"""Rewrites of source text where rumoca deviates from the Modelica specification.

- A base class declared inside the class that extends it is moved to a file of its own,
  since rumoca takes its variables for those of the class. As it is ``encapsulated``,
  its names have the same meaning there.
- A scalar bound to a function of arrays gets a factor of one before the call; otherwise
  rumoca calls the function for each element of its arguments (Modelica 3.6, section
  12.4.6).
- An unused import of a class that does not exist is removed, since rumoca refuses it.
- Standard library functions that we evaluate ourselves get another body, since their loops
  would be refused. A call of ``Streams.error`` as an equation, which rumoca drops, becomes
  an assert that fails.
- Modifiers of replaceable elements: see ``redeclarations``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fmident.compilers.embedded.frontend.reading.names import Import, Names, imports
from fmident.compilers.embedded.frontend.reading.redeclarations import held_modifiers
from fmident.compilers.embedded.frontend.reading.scan_check import equation_calls, involved
from fmident.compilers.scanner import (
    ClassText,
    Edit,
    Token,
    dotted,
    edited,
    has,
)
from fmident.compilers.sources import SourceTree

INTERPOLATE = "Modelica.Math.Vectors.interpolate"
FIRST_TRUE_INDEX = "Modelica.Math.BooleanVectors.firstTrueIndex"
CHEBYSHEV = "Modelica.Blocks.Continuous.Internal.Filter.base.ChebyshevI"
ERROR = "Modelica.Utilities.Streams.error"
KNOWN_FUNCTIONS: Mapping[str, str] = {
    INTERPOLATE: 'external "C" yi = interpolate(x, y, xi, iLast, iNew);',
    FIRST_TRUE_INDEX: 'external "C" index = firstTrueIndex(b);',
    # An external function with several outputs is refused; should rumoca evaluate this, it fails.
    CHEBYSHEV: 'algorithm assert(false, "not to be evaluated"); cr := zeros(size(cr, 1)); '
    "c0 := zeros(size(c0, 1)); c1 := zeros(size(c1, 1));",
}
"""Full name to the body that rumoca sees."""
_FAILS = "assert(false,"

_BEFORE = frozenset({"=", "then", "else"})
_BODY = frozenset({"equation", "algorithm"})


@dataclass(frozen=True)
class Moved:
    """A file made for rumoca from a part of the user's file `original`."""

    text: str
    original: Path


def rewritten(
    class_name: str, names: Names, more: Iterable[Edit] = ()
) -> tuple[dict[Path, str], dict[Path, Moved]]:
    """Return the changed files among those that a class uses, and additional ones.

    Lines keep their numbers. `more` are further edits.
    """
    items = involved(class_name, names)
    edits: dict[Path, list[Edit]] = {}
    for edit in (
        *more,
        *(e for item in items for e in _known_bodies(item, names)),
        *_scalar_calls(items, names),
        *held_modifiers(items, class_name, names),
    ):
        edits.setdefault(edit.file, []).append(edit)
    moved: dict[Path, Moved] = {}
    for item in items:
        for base in _own_bases(item, names):
            place = item.file.with_name(f"{base.name.rsplit('.', 1)[-1]}.mo")
            text = names.text(item.file)
            begin, end = base.prefixes[0].offset, text.index(";", base.end) + 1
            head = text.index(";") + 1
            if begin < head or place.exists() or place in moved:
                continue
            around = [_blank(item.file, text, head, begin), Edit(item.file, end, len(text), "")]
            inside = edits.setdefault(item.file, [])
            moved[place] = Moved(edited(text, [*around, *inside]), item.file)
            inside.append(_blank(item.file, text, begin, end))
    return {file: edited(names.text(file), own) for file, own in edits.items()}, moved


def _blank(file: Path, text: str, begin: int, end: int, instead: str = "") -> Edit:
    """Return the edit that puts something at the beginning of a range, and blanks behind it."""
    blanks = "".join(c if c == "\n" else " " for c in text[begin + len(instead) : end])
    return Edit(file, begin, end, instead + blanks)


def _known_bodies(item: ClassText, names: Names) -> Iterator[Edit]:
    text = names.text(item.file)
    if item.name in KNOWN_FUNCTIONS:
        words = (t for t in item.tokens if t.kind == "word")
        first = next(t.offset for t in words if t.text in ("protected", "algorithm"))
        end = text.rindex("end", first, item.end)
        yield _blank(item.file, text, first, end, KNOWN_FUNCTIONS[item.name])
    for first_token, bracket in error_calls(item, names):
        if bracket.end - first_token.offset >= len(_FAILS):  # else it is refused as dropped
            yield _blank(item.file, text, first_token.offset, bracket.end, _FAILS)


def error_calls(item: ClassText, names: Names) -> Iterator[tuple[Token, Token]]:
    """Yield the first token and the bracket of each ``Streams.error`` call as an equation."""
    for i in equation_calls(item):
        parts, end = dotted(item.tokens, i)
        if parts[-1] == "error" and names.resolve(parts, item) == ERROR:
            yield item.tokens[i], item.tokens[end]


def _own_bases(item: ClassText, names: Names) -> Iterator[ClassText]:
    """Yield the encapsulated bases inside a class that has its own file."""
    if item.file.stem != item.name.rsplit(".", 1)[-1] or "." not in item.name:
        return
    for element in item.elements:
        if element.kind == "component" or len(element.type_name) != 1:
            continue
        (name,) = element.type_name
        base = names.class_of(element.type_name, item)
        outside = ".".join([*item.name.split(".")[:-1], name])
        if base is None or base.name != f"{item.name}.{name}" or base.file != item.file:
            continue
        if names.find(outside) is None and any(t.text == "encapsulated" for t in base.prefixes):
            yield base


def _scalar_calls(items: Sequence[ClassText], names: Names) -> Iterator[Edit]:
    """Yield the edits that insert factors into the declarations of classes."""
    for item in items:
        tokens = item.tokens
        for i, token in enumerate(tokens):
            if token.text in _BODY:
                break
            if token.kind != "word" or i == 0 or tokens[i - 1].text not in _BEFORE:
                continue
            parts, end = dotted(tokens, i)
            function = names.class_of(parts, item) if has(tokens, end, "(") else None
            if function is not None and _is_scalar_of_arrays(function, names):
                yield Edit(item.file, token.offset, token.offset, "1*")


def _is_scalar_of_arrays(function: ClassText, names: Names) -> bool:
    """Return whether a function takes an array or external object and returns a Real."""
    if function.keyword != "function":
        return False
    formals = [(e, c) for c in (*names.bases(function), function) for e in c.elements]
    takes = any(
        e.sized or _is_object(e.type_name, c, names) for e, c in formals if "input" in e.prefixes
    )
    # Of several outputs an expression takes the first.
    outputs = ((e, c) for e, c in formals if "output" in e.prefixes)
    return takes and any(not e.sized and _is_real(e.type_name, c, names) for e, c in [*outputs][:1])


def _is_object(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    definition = names.class_of(parts, item)
    return definition is not None and any(t.text == "ExternalObject" for t in definition.tokens)


def _is_real(parts: Sequence[str], item: ClassText, names: Names) -> bool:
    for definition in names.definitions(parts, item):
        if definition.keyword != "type" or not definition.elements:
            return False
        parts = definition.elements[0].type_name
    return tuple(parts) == ("Real",)


def unused_imports(tree: SourceTree, names: Names) -> list[Edit]:
    """Return the edits that overwrite unused imports of missing classes with blanks."""
    edits = []
    for item in tree.classes.values():
        for clause in imports(item):
            if names.find(clause.package) is None and not _is_used(clause, item, tree):
                first, last = item.tokens[clause.first], item.tokens[clause.last]
                text = names.text(item.file)
                edits.append(_blank(item.file, text, first.offset, last.end))
    return edits


def _is_used(clause: Import, item: ClassText, tree: SourceTree) -> bool:
    """Return whether the name is used in the class or inside it; true for ``*``."""
    if not clause.alias:
        return True
    inside = [c for n, c in tree.classes.items() if n.startswith(f"{item.name}.")]
    for user in (item, *inside):
        ranges = [range(c.first, c.last + 1) for c in imports(user)]
        for i, token in enumerate(user.tokens):
            if token.text == clause.alias and not any(i in r for r in ranges):
                return True
    return False
