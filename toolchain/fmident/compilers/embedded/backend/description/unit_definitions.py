"""``UnitDefinitions`` of the model description.

Source: FMI specification 2.0.4, section 2.2.2: ``base = factor*value + offset``, and
``display = factor*value + offset``.
"""

from __future__ import annotations

from collections.abc import Iterable

from fmident.compilers.embedded.backend.description.xml_text import number, tag
from fmident.errors import UnitError
from fmident.units import BASE_SYMBOLS, Unit, compatible, parse_unit


def unit_definitions(units: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of the element; none when no variable has a unit.

    Parameters
    ----------
    units
        Unit and display unit of each variable; empty strings where absent. Of a unit that
        cannot be read only the name is written.
    """
    displays: dict[str, set[str]] = {}
    for unit, display in units:
        if unit:
            names = displays.setdefault(unit, set())
            if shows(unit, display):
                names.add(display)
    if not displays:
        return []
    lines = ["  <UnitDefinitions>"]
    for name in sorted(displays):
        lines += _definition(name, sorted(displays[name]))
    return [*lines, "  </UnitDefinitions>"]


def shows(unit: str, display: str) -> bool:
    """Return whether values in `unit` can be displayed in `display`."""
    read, other = _read(unit), _read(display) if display else None
    return read is not None and other is not None and compatible(read, other)


def _read(text: str) -> Unit | None:
    try:
        return parse_unit(text)
    except UnitError:
        return None


def _definition(name: str, displays: list[str]) -> list[str]:
    unit = _read(name)
    if unit is None or any(e.denominator != 1 for e in unit.exponents):
        return ["    " + tag("Unit", {"name": name})]
    attributes = {
        symbol: str(int(exponent))
        for symbol, exponent in zip(BASE_SYMBOLS, unit.exponents, strict=True)
        if exponent
    }
    if unit.factor != 1.0:
        attributes["factor"] = repr(float(unit.factor))
    if unit.offset != 0.0:
        attributes["offset"] = repr(float(unit.offset))
    lines = ["    " + tag("Unit", {"name": name}, close=False)]
    lines.append("      " + tag("BaseUnit", attributes))
    for display in displays:
        other = parse_unit(display)
        scaling = {
            "name": display,
            "factor": number(unit.factor / other.factor),
            "offset": number((unit.offset - other.offset) / other.factor),
        }
        lines.append("      " + tag("DisplayUnit", scaling))
    return [*lines, "    </Unit>"]
