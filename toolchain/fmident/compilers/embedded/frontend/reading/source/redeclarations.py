"""Modifiers of replaceable elements that remain valid after a redeclaration.

Modelica 3.6, section 7.3.2: modifiers of a constraining clause always apply. Those of
the declaration apply until it is redeclared, and afterwards only if there is no
constraining clause. rumoca always applies those of the declaration and ignores the
clause, so its input is rewritten. Other forms whose modifiers it drops silently are
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fmident.compilers.embedded.frontend.reading.source.names import Names, bases
from fmident.compilers.embedded.frontend.reading.source.scanner import ClassText, Edit, Token
from fmident.compilers.embedded.frontend.reading.source.sources import Found

_RULE = "unsupported-redeclaration"
_MODELS = frozenset({"model", "block", "record", "class"})
_CLASSES = _MODELS | {"package", "connector"}
_PREFIXES = frozenset(
    {"redeclare", "replaceable", "final", "each", "inner", "outer", "flow", "discrete", "input"}
    | {"output", "parameter", "constant", "public", "protected", "partial", "encapsulated"}
)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")

Range = tuple[int, int]
"""The first of some tokens, and the one behind them."""


@dataclass(frozen=True)
class _Element:
    """A component (`kind` ``"component"``), base (``"extends"``) or short definition's class.

    `name` is the position of the component's name or else of the first part of `type_name`.
    `behind` and `clause` are the positions of its modifiers and its constraining clause's,
    existing or not; ``None`` without a clause.
    """

    kind: str
    item: ClassText
    type_name: tuple[str, ...]
    name: int
    behind: int
    clause: int | None = None
    replaceable: bool = False

    @property
    def own(self) -> dict[str, Range]:
        """Its modifiers, by the modified name."""
        return _modifiers(self.item.tokens, self.behind)

    @property
    def of_clause(self) -> dict[str, Range]:
        """The modifiers of its constraining clause."""
        return {} if self.clause is None else _modifiers(self.item.tokens, self.clause)

    @property
    def redeclared(self) -> frozenset[str]:
        """The names that its modifiers redeclare."""
        tokens = self.item.tokens
        return frozenset(n for n, (i, _) in self.own.items() if tokens[i].text == "redeclare")


def held_modifiers(items: Sequence[ClassText], class_name: str, names: Names) -> Iterator[Edit]:
    """Yield the edits that give rumoca the modifiers that apply."""
    for element, redeclared in _constrained(items, class_name, names):
        own, clause = element.own, element.of_clause
        modifiers = {**clause, **({} if redeclared == {True} else own)}
        if len(redeclared) == 1 and modifiers != own:
            tokens, text = element.item.tokens, names.text(element.item.file)
            texts = (text[tokens[i].offset : _end(tokens[j - 1])] for i, j in modifiers.values())
            begin = _end(tokens[element.behind - 1])
            end = _end(tokens[_behind(tokens, element.behind) - 1])
            new = f"({', '.join(texts)})" if modifiers else ""
            yield Edit(element.item.file, begin, end, new)


def dropped_modifiers(items: Sequence[ClassText], class_name: str, names: Names) -> Iterator[Found]:
    """Yield declarations and redeclarations whose modifiers rumoca drops or misreads."""

    def found(item: ClassText, i: int, what: str) -> Found:
        return Found(_RULE, f"{what} '{item.tokens[i].text}'", item, item.tokens[i])

    for element, redeclared in _constrained(items, class_name, names):
        own, clause = element.own, element.of_clause
        if len(redeclared) > 1 and own.keys() - clause.keys():
            what = "modifiers of a component that is redeclared in one place and not in another,"
            yield found(element.item, element.name, what)
        elif any(
            "(" in (t.text for t in element.item.tokens[slice(*own[n])])
            for n in own.keys() & clause
        ):
            what = "modifiers that the constraining clause has, too, of"
            yield found(element.item, element.name, what)
    classes = {item.tokens[i].text for item in items for i, _ in _redeclared_classes(item)}
    for item in items:
        yield from _wrong_definition(item, classes, names)
        for i, in_base in _redeclared_classes(item):
            _, end = _dotted(item.tokens, i + 2)
            package = item.tokens[i - 1].text == "package"
            if _has(item.tokens, end, "(") and (in_base or not package):
                yield found(item, i, "modifiers in the redeclaration of the class")
        for element in _elements(item):
            for i in _nested_redeclarations(element):
                yield found(item, i, "a redeclaration inside the modifier of a component,")
            for i in _inherited(element, names):
                yield found(item, i, "new modifiers in the redeclaration of the inherited")


def _wrong_definition(item: ClassText, redeclared: set[str], names: Names) -> Iterator[Found]:
    """Yield errors in a short class definition inside another class."""
    tokens = item.tokens
    outer, _, name = item.name.rpartition(".")
    around = names.find(outer)
    if not tokens or tokens[0].text != "=" or item.keyword not in _CLASSES or around is None:
        return
    element = next((e for e in _elements(item) if e.kind == "short"), None)
    if element is None:
        return
    replaceable = any(t.text == "replaceable" for t in item.prefixes)
    if element.of_clause or (
        replaceable and element.clause is None and element.own and name in redeclared
    ):
        what = f"modifiers of the replaceable class '{name}'"
        yield Found(_RULE, what, item, tokens[element.name])
    elif item.keyword in _MODELS and around.keyword in _MODELS:
        components = _component_names(around, names)
        for i, j in element.own.values():
            for k in range(i, j):
                word = tokens[k]
                if word.text in components and tokens[k - 1].text not in (".", "(", ","):
                    what = f"'{word.text}' of '{outer}' in the modifiers of the class '{name}'"
                    yield Found(_RULE, f"the component {what} inside it", item, word)


def _inherited(element: _Element, names: Names) -> Iterator[int]:
    """Yield components that are redeclared in a base inheriting them, with new modifiers."""
    tokens = element.item.tokens
    base = _class_of(element, names)
    for name in element.redeclared if element.kind == "extends" and base else ():
        declared = None if base is None else _declaration(name, base, names)
        begin, end = element.own[name]
        i = next(
            (
                k
                for k in range(begin, end)
                if tokens[k].text == name and not _has(tokens, k + 1, ".")
            ),
            begin,
        )
        size = _behind(tokens, i + 1) if _has(tokens, i + 1, "[") else i + 1
        kind = None if declared is None else _class_of(declared, names)
        if declared is None or declared.item == base or kind is None:
            continue
        if _modifiers(tokens, size).keys() - _component_names(kind, names):
            yield i


def _declaration(name: str, item: ClassText, names: Names) -> _Element | None:
    """Return the component of a class or of one of its bases."""
    own = list(_elements(item))
    for element in own:
        if element.kind == "component" and item.tokens[element.name].text == name:
            return element
    for element in own:
        base = _class_of(element, names) if element.kind != "component" else None
        inherited = _declaration(name, base, names) if base is not None and base != item else None
        if inherited is not None:
            return inherited
    return None


def _class_of(element: _Element, names: Names) -> ClassText | None:
    resolve = names.resolve_base if element.kind == "extends" else names.resolve
    full = resolve(element.type_name, element.item) if element.type_name else None
    return names.find(full) if full else None


def _component_names(item: ClassText, names: Names) -> set[str]:
    """Return the names of the components of a class and its bases."""
    components = {e.item.tokens[e.name].text for e in _elements(item) if e.kind == "component"}
    for parts in bases(item):
        full = names.resolve_base(parts, item)
        base = names.find(full) if full else None
        if base is not None and base != item:
            components |= _component_names(base, names)
    return components


def _constrained(
    items: Sequence[ClassText], class_name: str, names: Names
) -> Iterator[tuple[_Element, set[bool]]]:
    """Yield the components with a constraining clause, and whether they are redeclared."""
    elements = [e for item in items for e in _elements(item)]
    nested = {e.item.tokens[i].text for e in elements for i in _redeclarations_below(e)}
    for element in elements:
        if not element.replaceable or element.clause is None:
            continue
        name = element.item.tokens[element.name].text
        redeclared = _fates(name, element.item.name, elements, class_name, names, set())
        yield element, redeclared | ({True} if name in nested else set())


def _fates(
    name: str,
    owner: str,
    elements: Sequence[_Element],
    class_name: str,
    names: Names,
    seen: set[str],
) -> set[bool]:
    """Return whether a component is redeclared where its class is used."""
    if owner in seen:
        return set()
    seen.add(owner)
    fates = {False} if owner == class_name else set()
    for use in elements:
        used = _class_of(use, names)
        if used is None or used.name != owner:
            continue
        if name in use.redeclared:
            fates.add(True)
        elif use.kind == "component":
            fates.add(False)
        else:
            fates |= _fates(name, use.item.name, elements, class_name, names, seen)
    return fates


def _elements(item: ClassText) -> Iterator[_Element]:
    """Yield the components and bases of a class."""
    tokens = item.tokens
    if tokens and tokens[0].text == "=":
        i = 1
        while _has(tokens, i, *_PREFIXES):
            i += 1
        parts, behind = _dotted(tokens, i)
        if parts:
            yield _Element("short", item, parts, i, behind, _clause(tokens, behind, len(tokens)))
        return
    declaring, i = True, 0
    while i < len(tokens):
        end = next((k for k in _depth_zero(tokens, i) if tokens[k].text == ";"), len(tokens))
        section = next(
            (t.text for t in tokens[i:end] if t.text in ("equation", "algorithm", *_PREFIXES)), ""
        )
        if section in ("equation", "algorithm"):
            declaring = False
        elif section in ("public", "protected"):
            declaring = True
        if declaring:
            yield from _element(item, i, end)
        i = end + 1


def _element(item: ClassText, i: int, end: int) -> Iterator[_Element]:
    """Yield the elements declared between two positions."""
    tokens, begin = item.tokens, i
    while i < end and (tokens[i].text in _PREFIXES or tokens[i].kind == "string"):
        i += 1  # the text in front belongs to the class
    if i < end and tokens[i].text == "extends":
        parts, behind = _dotted(tokens, i + 1)
        yield _Element("extends", item, parts, i + 1, behind)
        return
    parts, i = _dotted(tokens, i)
    i = _behind(tokens, i) if _has(tokens, i, "[") else i
    clause = _clause(tokens, i, end)
    replaceable = any(t.text == "replaceable" for t in tokens[begin:i])
    while parts and i < end and tokens[i].kind in ("word", "quoted"):
        behind = _behind(tokens, i + 1) if _has(tokens, i + 1, "[") else i + 1
        yield _Element("component", item, parts, i, behind, clause, replaceable)
        i = next((k + 1 for k in _depth_zero(tokens, behind) if tokens[k].text == ","), end)


def _clause(tokens: Sequence[Token], i: int, end: int) -> int | None:
    """Return the position after the class of a constraining clause."""
    for k in _depth_zero(tokens, i):
        if k >= end:
            break
        if tokens[k].text == "constrainedby":
            return _dotted(tokens, k + 1)[1]
    return None


def _redeclared_classes(item: ClassText) -> Iterator[tuple[int, bool]]:
    """Yield the positions of class names that modifiers redeclare, and whether of a base."""
    tokens = item.tokens
    for element in _elements(item):
        for i in range(element.behind, _behind(tokens, element.behind)):
            redeclares = any(t.text == "redeclare" for t in tokens[max(i - 3, 0) : i])
            if redeclares and tokens[i].text in _CLASSES and _has(tokens, i + 2, "="):
                yield i + 1, element.kind == "extends"


def _redeclarations_below(element: _Element) -> Iterator[int]:
    """Yield the names of components that nested modifiers redeclare."""
    tokens = element.item.tokens
    for i, j in element.own.values():
        for k in range(i + 1, j):
            if tokens[k].text == "redeclare" and tokens[i].text != "redeclare":
                k += 1
                while _has(tokens, k, *_PREFIXES):
                    k += 1
                yield _dotted(tokens, k)[1]


def _nested_redeclarations(element: _Element) -> Iterator[int]:
    """Yield the results of :func:`_redeclarations_below` that rumoca drops."""
    if element.kind != "extends":
        yield from _redeclarations_below(element)


def _modifiers(tokens: Sequence[Token], i: int) -> dict[str, Range]:
    """Return the modifiers in the parentheses at a position, by the modified name."""
    if not _has(tokens, i, "("):
        return {}
    modifiers: dict[str, Range] = {}
    last = _behind(tokens, i) - 1
    begin = i + 1
    commas = [k for k in _depth_zero(tokens, i + 1) if k < last and tokens[k].text == ","]
    for end in (*commas, last):
        k = begin
        redeclares = tokens[begin].text == "redeclare"
        while k < end and tokens[k].text in _PREFIXES:
            k += 1
        if redeclares and tokens[k].text not in _CLASSES | {"function", "type"}:
            k = _dotted(tokens, k)[1]  # of a component: its class precedes its name
        elif redeclares:
            k += 1
        if k < end:
            modifiers[tokens[k].text] = (begin, end)
        begin = end + 1
    return modifiers


def _dotted(tokens: Sequence[Token], i: int) -> tuple[tuple[str, ...], int]:
    """Return the parts of the name at a position, and the position after it."""
    parts: list[str] = []
    while i < len(tokens) and (tokens[i].kind in ("word", "quoted") or tokens[i].text == "."):
        if tokens[i].text == ".":
            i += 1
            continue
        if parts and tokens[i - 1].text != ".":
            break
        parts.append(tokens[i].text)
        i += 1
    return tuple(parts), i


def _depth_zero(tokens: Sequence[Token], i: int) -> Iterator[int]:
    """Yield the positions from `i` on that are outside of brackets."""
    depth = 0
    for k in range(i, len(tokens)):
        symbol = tokens[k].kind == "symbol"
        depth -= symbol and tokens[k].text in _CLOSE
        if depth < 0:
            return
        if depth == 0:
            yield k
        depth += symbol and tokens[k].text in _OPEN


def _behind(tokens: Sequence[Token], i: int) -> int:
    """Return the position after the bracket that opens at `i`, or `i` without one."""
    depth = 0
    for k in range(i, len(tokens)):
        if tokens[k].kind == "symbol":
            depth += (tokens[k].text in _OPEN) - (tokens[k].text in _CLOSE)
        if depth <= 0:
            return k + 1 if k > i else i
    return len(tokens)


def _has(tokens: Sequence[Token], i: int, *texts: str) -> bool:
    return i < len(tokens) and tokens[i].text in texts


def _end(token: Token) -> int:
    return token.offset + len(token.text)
