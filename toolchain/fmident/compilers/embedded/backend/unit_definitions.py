"""``UnitDefinitions`` of the model description."""

from __future__ import annotations

from collections.abc import Iterable


def unit_definitions(units: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lines of the element; none when no variable has a unit.

    Parameters
    ----------
    units
        Unit and display unit of each variable; empty strings where absent.
    """
    from xml.sax.saxutils import quoteattr

    names = sorted({u for u, _ in units if u})
    if not names:
        return []
    return [
        "  <UnitDefinitions>",
        *(f"    <Unit name={quoteattr(n)}/>" for n in names),
        "  </UnitDefinitions>",
    ]
