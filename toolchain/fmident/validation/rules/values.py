"""Start values, bounds, nominal values and declared types."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction

from fmident.validation.rules.document import FLOATS, WHOLE, Document, Variable, whole
from fmident.validation.rules.registry import Finding

_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,5})?")
_SPECIAL = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}

Number = float | int


def check_values(document: Document) -> Iterator[Finding]:
    """Yield what is wrong with values of variables and of types."""
    for variable in document.variables:
        yield from _declared(document, variable)
        yield from _variable(document, variable)
    for name, (element, own, kind) in document.types.items():
        if kind not in FLOATS and kind not in WHOLE:
            continue
        bounds: dict[str, Number] = {}
        for key in ("min", "max", "nominal"):
            said = own.get(key)
            value = None if said is None else number(said, kind, document.major)
            if value is not None:
                bounds[key] = value
            elif said is not None:
                yield Finding(
                    "numbers", _no_number(f"'{key}' of the type '{name}'", said, kind), element.line
                )
        yield from _order(f"the type '{name}'", bounds, element.line)


def number(text: str, kind: str, major: int) -> Number | None:
    """Return a value of a type, ``None`` if a text is not one."""
    stripped = text.strip()
    if kind in FLOATS:
        if stripped in _SPECIAL:
            return _SPECIAL[stripped] if major == 3 else None
        value = float(stripped) if _DECIMAL.fullmatch(stripped) else math.nan
        return value if math.isfinite(value) else None
    least, most = WHOLE[kind]
    found = whole(stripped)
    return found if found is not None and least <= found <= most else None


def _said(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _no_number(what: str, said: str, kind: str) -> str:
    return f"{what} is '{said[:40]}', which is not a value of type {kind}"


def _variable(document: Document, variable: Variable) -> Iterator[Finding]:
    name, kind = variable.name, variable.kind
    if kind == "Boolean":
        for text in variable.start or ():
            if text.strip() not in ("true", "false", "0", "1"):
                yield Finding(
                    "numbers", _no_number(f"the start value of '{name}'", text, kind), variable.line
                )
                return
    if kind not in FLOATS and kind not in WHOLE:
        return
    bounds: dict[str, Number] = {}
    for key in ("min", "max", "nominal"):
        said = variable.get(key)
        value = None if said is None else number(said, kind, document.major)
        if value is not None:
            bounds[key] = value
        elif variable.own.get(key) is not None and said is not None:
            yield Finding("numbers", _no_number(f"'{key}' of '{name}'", said, kind), variable.line)
    own = {k for k in bounds if variable.own.get(k) is not None}
    if own:  # else it is the type's, where it is said
        yield from _order(f"'{name}'", bounds, variable.line, nominal="nominal" in own)
    starts: list[Number] = []
    for text in variable.start or ():
        value = number(text, kind, document.major)
        if value is None:
            yield Finding(
                "numbers", _no_number(f"the start value of '{name}'", text, kind), variable.line
            )
            return
        starts.append(value)
    if variable.initial == "approx":
        return  # a guess, not a value of the variable
    yield from _starts(variable, starts, bounds)
    if kind == "Enumeration":
        yield from _items(document, variable, starts)


def _starts(
    variable: Variable, starts: list[Number], bounds: dict[str, Number]
) -> Iterator[Finding]:
    for value in starts:
        for key, sign, word in (("min", 1, "less"), ("max", -1, "greater")):
            if key in bounds and _less(sign * value, sign * bounds[key]):
                yield Finding(
                    "range",
                    f"'{variable.name}' starts with {_said(value)}, {word} than its {key}"
                    f" {_said(bounds[key])}",
                    variable.line,
                )
                return


def _items(document: Document, variable: Variable, starts: list[Number]) -> Iterator[Finding]:
    declared = document.types.get(variable.own.get("declaredType") or "")
    if declared is None or declared[2] != "Enumeration":
        return
    values = {item.whole("value") for item in declared[1].all("Item")}
    for value in starts:
        if value not in values:
            yield Finding(
                "enumeration start",
                f"'{variable.name}' starts with {value}, which is the value of no item of"
                f" '{declared[0].get('name')}'",
                variable.line,
            )
            return


def _less(a: Number, b: Number) -> bool:
    """Compare without rounding; false of what is not a number."""
    if math.isnan(a) or math.isnan(b):
        return False
    if math.isinf(a) or math.isinf(b):
        return float(a) < float(b)
    return Fraction(a) < Fraction(b)


def _order(
    what: str, bounds: dict[str, Number], line: int, *, nominal: bool = True
) -> Iterator[Finding]:
    if "min" in bounds and "max" in bounds and _less(bounds["max"], bounds["min"]):
        yield Finding(
            "range",
            f"the min {_said(bounds['min'])} of {what} is greater than its max"
            f" {_said(bounds['max'])}",
            line,
        )
    if nominal and "nominal" in bounds and not bounds["nominal"] > 0:
        yield Finding("nominal", f"the nominal value of {what} is {bounds['nominal']:g}", line)


def _declared(document: Document, variable: Variable) -> Iterator[Finding]:
    said = variable.own.get("declaredType")
    if said is None:
        if variable.kind == "Enumeration":
            yield Finding(
                "declared type",
                f"the enumeration '{variable.name}' has no 'declaredType'",
                variable.line,
            )
        return
    declared = document.types.get(said)
    if declared is None:
        yield Finding(
            "declared type",
            f"'{variable.name}' is of the type '{said}', which is not defined",
            variable.line,
        )
    elif variable.kind and declared[2] != variable.kind:
        yield Finding(
            "declared type",
            f"'{variable.name}' is of type {variable.kind}, but its declared type '{said}' of type"
            f" {declared[2]}",
            variable.line,
        )
