"""Units and display units are defined."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import Document, Element
from fmident.validation.rules.registry import Finding


def check_units(document: Document) -> Iterator[Finding]:
    """Yield units that are not defined."""
    units: dict[str, set[str]] = {}
    for unit in document.entries("UnitDefinitions", "Unit"):
        displayed = {d.get("name") or "" for d in unit.all("DisplayUnit")}
        units.setdefault(unit.get("name") or "", set()).update(displayed)
    for name, (element, own, _) in document.types.items():
        what = f"the type '{name}'"
        yield from _one(
            document, units, what, own.get("unit"), own.get("displayUnit"), element.line
        )
    for variable in document.variables:
        own = variable.own
        shown = variable.get("displayUnit")
        if own.get("unit") is not None or own.get("displayUnit") is not None:
            what = f"'{variable.name}'"
            yield from _one(document, units, what, variable.get("unit"), shown, variable.line)
        for alias in variable.element.all("Alias") if document.major == 3 else ():
            if alias.get("displayUnit") is not None:
                yield from _alias(document, units, alias, variable.get("unit"))


def _alias(
    document: Document, units: dict[str, set[str]], alias: Element, unit: str | None
) -> Iterator[Finding]:
    if unit is None or unit in units:  # else it is said of the variable
        what = f"the alias '{alias.get('name')}'"
        yield from _one(document, units, what, unit, alias.get("displayUnit"), alias.line)


def _one(
    document: Document,
    units: dict[str, set[str]],
    what: str,
    unit: str | None,
    shown: str | None,
    line: int,
) -> Iterator[Finding]:
    if unit is not None and unit not in units:
        yield Finding(
            "unit", f"the unit '{unit}' of {what} is not among the unit definitions", line
        )
    elif unit is None and shown is not None:
        yield Finding("display unit", f"{what} has the display unit '{shown}', but no unit", line)
    elif (
        unit is not None and shown is not None and document.major == 3 and shown not in units[unit]
    ):
        yield Finding(
            "display unit",
            f"the display unit '{shown}' of {what} is not defined for the unit '{unit}'",
            line,
        )
