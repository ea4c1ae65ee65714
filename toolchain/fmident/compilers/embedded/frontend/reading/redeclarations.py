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

from fmident.compilers.embedded.frontend.reading.names import Names
from fmident.compilers.scanner import (
    PREFIXES,
    ClassText,
    Edit,
    Element,
    Token,
    after_words,
    behind,
    dotted,
    has,
    modifiers,
)


@dataclass(frozen=True)
class Construct:
    """A construct outside the subset: its rule, its name, and its position."""

    rule: str
    what: str
    item: ClassText
    token: Token


_RULE = "unsupported-redeclaration"
_MODELS = frozenset({"model", "block", "record", "class"})
_CLASSES = _MODELS | {"package", "connector"}


def held_modifiers(items: Sequence[ClassText], class_name: str, names: Names) -> Iterator[Edit]:
    """Yield the edits that give rumoca the modifiers that apply."""
    for element, redeclared in _constrained(items, class_name, names):
        own, clause = element.own, element.of_clause
        held = {**clause, **({} if redeclared == {True} else own)}
        if len(redeclared) == 1 and held != own:
            tokens, text = element.item.tokens, names.text(element.item.file)
            texts = (text[tokens[i].offset : tokens[j - 1].end] for i, j in held.values())
            begin = tokens[element.behind - 1].end
            end = tokens[behind(tokens, element.behind) - 1].end
            new = f"({', '.join(texts)})" if held else ""
            yield Edit(element.item.file, begin, end, new)


def dropped_modifiers(
    items: Sequence[ClassText], class_name: str, names: Names
) -> Iterator[Construct]:
    """Yield declarations and redeclarations whose modifiers rumoca drops or misreads."""

    def construct(item: ClassText, i: int, what: str) -> Construct:
        return Construct(_RULE, f"{what} '{item.tokens[i].text}'", item, item.tokens[i])

    for element, redeclared in _constrained(items, class_name, names):
        own, clause = element.own, element.of_clause
        if len(redeclared) > 1 and own.keys() - clause.keys():
            what = "modifiers of a component that is redeclared in one place and not in another,"
            yield construct(element.item, element.name, what)
        elif any(
            "(" in (t.text for t in element.item.tokens[slice(*own[n])])
            for n in own.keys() & clause
        ):
            what = "modifiers that the constraining clause has, too, of"
            yield construct(element.item, element.name, what)
    classes = {item.tokens[i].text for item in items for i, _ in _redeclared_classes(item)}
    for item in items:
        yield from _wrong_definition(item, classes, names)
        for i, in_base in _redeclared_classes(item):
            _, end = dotted(item.tokens, i + 2)
            package = item.tokens[i - 1].text == "package"
            if has(item.tokens, end, "(") and (in_base or not package):
                yield construct(item, i, "modifiers in the redeclaration of the class")
        for element in item.elements:
            for i in _redeclarations_below(element) if element.kind != "extends" else ():
                yield construct(item, i, "a redeclaration inside the modifier of a component,")
            for i in _inherited(element, names):
                yield construct(item, i, "new modifiers in the redeclaration of the inherited")


def _wrong_definition(item: ClassText, redeclared: set[str], names: Names) -> Iterator[Construct]:
    tokens = item.tokens
    outer, _, name = item.name.rpartition(".")
    around = names.find(outer)
    if not tokens or tokens[0].text != "=" or item.keyword not in _CLASSES or around is None:
        return
    element = next((e for e in item.elements if e.kind == "short"), None)
    if element is None:
        return
    replaceable = any(t.text == "replaceable" for t in item.prefixes)
    if element.of_clause or (
        replaceable and element.clause is None and element.own and name in redeclared
    ):
        what = f"modifiers of the replaceable class '{name}'"
        yield Construct(_RULE, what, item, element.token)
    elif item.keyword in _MODELS and around.keyword in _MODELS:
        components = _component_names(around, names)
        for i, j in element.own.values():
            for k in range(i, j):
                word = tokens[k]
                if word.text in components and tokens[k - 1].text not in (".", "(", ","):
                    what = f"'{word.text}' of '{outer}' in the modifiers of the class '{name}'"
                    yield Construct(_RULE, f"the component {what} inside it", item, word)


def _inherited(element: Element, names: Names) -> Iterator[int]:
    """Yield components that are redeclared in a base inheriting them, with new modifiers."""
    tokens = element.item.tokens
    base = _class_of(element, names)
    for name in element.redeclared if element.kind == "extends" and base else ():
        declared = None if base is None else _declaration(name, base, names)
        begin, end = element.own[name]
        places = (k for k in range(begin, end) if tokens[k].text == name)
        i = next((k for k in places if not has(tokens, k + 1, ".")), begin)
        size = behind(tokens, i + 1, "[")
        kind = None if declared is None else _class_of(declared, names)
        if declared is None or declared.item == base or kind is None:
            continue
        if modifiers(tokens, size).keys() - _component_names(kind, names):
            yield i


def _declaration(name: str, item: ClassText, names: Names) -> Element | None:
    for element in item.elements:
        if element.kind == "component" and element.token.text == name:
            return element
    inherited = (_declaration(name, base, names) for base in names.bases(item))
    return next((element for element in inherited if element is not None), None)


def _class_of(element: Element, names: Names) -> ClassText | None:
    if element.kind == "extends":
        full = names.resolve_base(element.type_name, element.item) if element.type_name else None
        return names.find(full) if full else None
    return names.class_of(element.type_name, element.item)


def _component_names(item: ClassText, names: Names) -> set[str]:
    components = {e.token.text for e in item.elements if e.kind == "component"}
    return components.union(*(_component_names(base, names) for base in names.bases(item)))


def _constrained(
    items: Sequence[ClassText], class_name: str, names: Names
) -> Iterator[tuple[Element, set[bool]]]:
    """Yield the components with a constraining clause, and whether they are redeclared."""
    elements = [e for item in items for e in item.elements]
    nested = {e.item.tokens[i].text for e in elements for i in _redeclarations_below(e)}
    for element in elements:
        if "replaceable" not in element.prefixes or element.clause is None:
            continue
        name = element.token.text
        redeclared = _fates(name, element.item.name, elements, class_name, names, set())
        yield element, redeclared | ({True} if name in nested else set())


def _fates(
    name: str,
    owner: str,
    elements: Sequence[Element],
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


def _redeclared_classes(item: ClassText) -> Iterator[tuple[int, bool]]:
    """Yield the positions of class names that modifiers redeclare, and whether of a base."""
    tokens = item.tokens
    for element in item.elements:
        for i in range(element.behind, behind(tokens, element.behind)):
            redeclares = any(t.text == "redeclare" for t in tokens[max(i - 3, 0) : i])
            if redeclares and tokens[i].text in _CLASSES and has(tokens, i + 2, "="):
                yield i + 1, element.kind == "extends"


def _redeclarations_below(element: Element) -> Iterator[int]:
    """Yield the names of components that nested modifiers redeclare."""
    tokens = element.item.tokens
    for i, j in element.own.values():
        for k in range(i + 1, j):
            if tokens[k].text == "redeclare" and tokens[i].text != "redeclare":
                yield dotted(tokens, after_words(tokens, k + 1, PREFIXES))[1]
