"""Names: unique, and in the convention that the description declares."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from fmident.fmu.model_description.names import structured_name
from fmident.validation.rules.document import Document, Element
from fmident.validation.rules.registry import Finding

_QUOTED = r"[A-Za-z0-9_!#$%&()*+,\-./:;<>=?@\[\]^{}|~ ]|\\['\"?\\abfnrtv]"
_BASE = rf"(?:[A-Za-z_][A-Za-z0-9_]*|'(?:{_QUOTED})+')"
_INDICES = r"(?:\[[0-9]+(?:,[0-9]+)*\])?"
_IDENTIFIER = rf"{_BASE}{_INDICES}(?:\.{_BASE}{_INDICES})*"
_STRUCTURED = re.compile(rf"(?:der\({_IDENTIFIER}(?:,[0-9]+)?\)|{_IDENTIFIER})")
_ELEMENT = re.compile(r"(.*)\[([0-9]{1,9}(?:,[0-9]{1,9})*)\]", re.DOTALL)


def check_names(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with names."""
    yield from _variables(document)
    yield from _convention(document)
    if document.major == 2 and document.root.get("variableNamingConvention") == "structured":
        yield from _sequences(document)
    yield from _types(document)
    yield from _units(document)
    yield from _named_once(
        document.entries("LogCategories", "Category"), "log categories", "log category"
    )
    if document.major == 2:
        yield from _named_once(
            document.entries("VendorAnnotations", "Tool"), "annotations", "annotation of the tool"
        )


def _variables(document: Document) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for variable in document.variables:
        named = [variable.element]
        if document.major == 3:
            named += variable.element.all("Alias")
        for element in named:
            name = element.get("name") or ""
            if not name:
                yield Finding("unique names", "a variable has no name", element.line)
            elif name in first:
                yield Finding(
                    "unique names",
                    f"the variable '{name}' has the name of the one in line {first[name]}",
                    element.line,
                )
            else:
                first[name] = element.line


def _convention(document: Document) -> Iterator[Finding]:
    structured = document.root.get("variableNamingConvention") == "structured"
    for variable in document.variables:
        elements = [variable.element]
        if document.major == 3:
            elements += variable.element.all("Alias")
        for element in elements:
            name = element.get("name") or ""
            if structured and name and not _STRUCTURED.fullmatch(name):
                legal = structured_name(name)
                better = f"; it would be '{legal}'" if _STRUCTURED.fullmatch(legal) else ""
                yield Finding(
                    "structured names",
                    f"'{name}' is not a name of the convention \"structured\"{better}",
                    element.line,
                )
            elif not structured and any(c in name for c in "\r\n\t"):
                yield Finding(
                    "structured names",
                    f"the name {name!r} contains a line break or a tab",
                    element.line,
                )


def _sequences(document: Document) -> Iterator[Finding]:
    """Look for arrays of which others stand between the elements, or in another order."""
    finished: set[str] = set()
    current = ""
    last: tuple[int, ...] = (-1,)
    for variable in document.variables:
        match = _ELEMENT.fullmatch(variable.name)
        array = "" if match is None else match[1]
        indices = () if match is None else tuple(int(i) for i in match[2].split(","))
        if array != current:
            finished.add(current)
            current, last = array, (-1,)
            if array in finished and array:
                yield Finding(
                    "array elements",
                    f"'{variable.name}' does not follow the other elements of '{array}'",
                    variable.line,
                )
        elif array and indices < last:
            yield Finding(
                "array elements",
                f"'{variable.name}' comes after a later element of '{array}'",
                variable.line,
            )
        last = indices or (-1,)


def _types(document: Document) -> Iterator[Finding]:
    yield from _named_once(document.entries("TypeDefinitions"), "type names", "type")
    variables = {v.name: v for v in document.variables}
    for name, (element, own, kind) in document.types.items():
        same = variables.get(name)
        if same is not None:
            yield Finding(
                "type names",
                f"the type '{name}' has the name of a variable (line {same.line})",
                element.line,
            )
        if kind == "Enumeration":
            yield from _items(document, name, own)


def _items(document: Document, name: str, own: Element) -> Iterator[Finding]:
    items = own.all("Item")
    if not items:
        yield Finding("items", f"the enumeration '{name}' has no items", own.line)
    for key in ("value",) if document.major == 2 else ("value", "name"):
        seen: dict[object, int] = {}
        for item in items:
            said: object = item.whole(key) if key == "value" else item.get(key)
            if said in seen:
                yield Finding(
                    "items",
                    f"the enumeration '{name}' has two items of the {key} '{said}'"
                    f" (the other in line {seen[said]})",
                    item.line,
                )
            seen.setdefault(said, item.line)


def _units(document: Document) -> Iterator[Finding]:
    units = document.entries("UnitDefinitions", "Unit")
    # FMI 2.0: "" is a valid unit.
    yield from _named_once(units, "unit names", "unit", empty=document.major == 2)
    for unit in units:
        what = f"of the unit '{unit.get('name')}', the display unit"
        yield from _named_once(unit.all("DisplayUnit"), "unit names", what, empty=True)


def _named_once(
    elements: Iterable[Element], key: str, what: str, *, empty: bool = False
) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for element in elements:
        name = element.get("name")
        if name is None or not (name or empty):
            yield Finding(key, f"{what} without a name", element.line)
        elif name in first:
            yield Finding(
                key, f"{what} '{name}' is there twice (also in line {first[name]})", element.line
            )
        else:
            first[name] = element.line
