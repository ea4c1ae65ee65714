"""Value references: of aliases in FMI 2.0, unique in FMI 3.0."""

from __future__ import annotations

from collections.abc import Iterator

from fmident.validation.rules.document import Document, Variable
from fmident.validation.rules.registry import Finding


def check_value_references(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with value references."""
    sets: dict[tuple[str, int], list[Variable]] = {}
    for variable in document.variables:
        if variable.reference is None or not 0 <= variable.reference < 2**32:
            said = variable.element.get("valueReference")
            yield Finding(
                "value references",
                f"'{variable.name}' has the value reference '{said}'"
                if said is not None
                else f"'{variable.name}' has no value reference",
                variable.line,
            )
        else:
            # FMI 2.0: references are of a base type; enumerations are integers.
            base = "" if document.major == 3 else variable.kind.replace("Enumeration", "Integer")
            sets.setdefault((base, variable.reference), []).append(variable)
    for group in sets.values():
        if len(group) == 1:
            continue
        if document.major == 2:
            yield from _aliases(group)
        else:
            for variable in group[1:]:
                yield Finding(
                    "value references",
                    f"'{variable.name}' has the value reference {variable.reference} of"
                    f" '{group[0].name}' (line {group[0].line})",
                    variable.line,
                )


def _settable(variable: Variable) -> bool:
    """Whether fmi2SetXXX may be called, at whatever time."""
    if variable.variability == "constant":
        return False
    return variable.causality == "input" or variable.initial in ("exact", "approx")


def _aliases(group: list[Variable]) -> Iterator[Finding]:
    of = "which have one value reference"
    settable = [v for v in group if _settable(v)]
    independent = [v for v in group if v.causality == "independent"]
    for variable in settable[1:]:
        yield Finding(
            "alias set",
            f"both '{settable[0].name}' (line {settable[0].line}) and '{variable.name}', {of}, can"
            " be set",
            variable.line,
        )
    if settable and independent:
        yield Finding(
            "alias set",
            f"'{settable[0].name}' can be set and '{independent[0].name}' is independent, {of}",
            settable[0].line,
        )
    yield from _constants(group, of)
    first = group[0]
    for variable in group[1:]:
        if variable.get("unit") != first.get("unit"):
            units = [v.get("unit") for v in (first, variable)]
            said = " and ".join("no unit" if u is None else f"the unit '{u}'" for u in units)
            yield Finding(
                "alias unit",
                f"'{first.name}' (line {first.line}) and '{variable.name}', {of}, have {said}",
                variable.line,
            )


def _constants(group: list[Variable], of: str) -> Iterator[Finding]:
    constant = [v for v in group if v.variability == "constant"]
    if not constant:
        return
    for variable in group:
        if variable.variability != "constant":
            yield Finding(
                "alias constant",
                f"'{constant[0].name}' (line {constant[0].line}) is constant and '{variable.name}'"
                f" is not, {of}",
                variable.line,
            )
    for variable in constant[1:]:
        if variable.start != constant[0].start:
            yield Finding(
                "alias constant",
                f"the constants '{constant[0].name}' (line {constant[0].line}) and"
                f" '{variable.name}', {of}, have different start values",
                variable.line,
            )
