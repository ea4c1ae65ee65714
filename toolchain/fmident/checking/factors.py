"""Typical factors between values in confused units."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fmident.errors import UnitError
from fmident.units import parse_unit


@dataclass(frozen=True)
class UnitFactor:
    """A factor between two units that are easily confused.

    `value` is greater than 1; `small` and `large` are example units with smaller and larger
    numbers.
    """

    value: float
    small: str
    large: str


UNIT_FACTORS = (
    UnitFactor(1e6, "m or MPa", "um or Pa"),
    UnitFactor(1e5, "bar", "Pa"),
    UnitFactor(1e3, "m or kN", "mm or N"),
    UnitFactor(100.0, "m or 1", "cm or %"),
    UnitFactor(60.0, "min", "s"),
    UnitFactor(180.0 / math.pi, "rad", "deg"),
    UnitFactor(60.0 / (2.0 * math.pi), "rad/s", "rpm"),
    UnitFactor(9.80665, "kgf", "N"),
    UnitFactor(2.0 * math.pi, "Hz or turns", "rad/s or rad"),
    UnitFactor(3.6, "m/s or kWh", "km/h or MJ"),
)

_CONFUSED = (
    "rad/s", "rpm", "deg/s", "rev/s", "rad", "deg", "rev", "m", "cm", "mm", "um", "m/s", "km/h",
    "mm/s", "m/s2", "mm/s2", "N", "kN", "N.m", "kN.m", "N.mm", "Pa", "kPa", "MPa", "bar", "V", "mV",
    "A", "mA", "W", "kW", "kg", "g", "s", "ms", "min", "m3/s", "l/s", "l/min", "kg/s", "kg/h",
)  # fmt: skip
"""Units in which the same quantity is often recorded."""

_WITHIN_WITHOUT_UNIT = math.log(1.2)
"""Tolerance where nobody gave the unit of the numbers: initial values are off by some percent."""

_OTHER = 1.5
"""Units that differ by less would not be told from initial values that are wrong."""

_WITHIN, _WITHIN_LARGE = 0.03, 0.12
_LARGE = 300.0
"""From here on hardly anything but a unit makes a factor."""


def unit_factor(ratio: float, within: float = _WITHIN) -> UnitFactor | None:
    """Return the factor that equals a ratio or its inverse within a relative tolerance.

    The tolerance is wider for large factors, since initial values are never exact.
    """
    size = abs(ratio)
    if not (math.isfinite(size) and size > 0.0):
        return None
    size = max(size, 1.0 / size)
    near = min(UNIT_FACTORS, key=lambda f: abs(math.log(size / f.value)))
    allowed = max(within, _WITHIN_LARGE) if near.value > _LARGE else within
    return near if abs(math.log(size / near.value)) <= allowed else None


def confused_unit(ratio: float, unit: str) -> UnitFactor | None:
    """Return the likely unit of numbers without one, given the FMU's unit.

    Only units of the same quantity are considered, and only in the observed direction: this
    permits a wider tolerance, so that inexact initial values do not hide the confusion.
    `ratio` is that of the measured numbers to those of the FMU; its sign is ignored.
    """
    size = abs(ratio)
    if not (math.isfinite(size) and size > 0.0):
        return None
    try:
        own = parse_unit(unit)
    except UnitError:
        return None
    candidates: list[tuple[float, UnitFactor]] = []
    for text in _CONFUSED:
        other = parse_unit(text)
        if other.exponents != own.exponents:
            continue
        value = own.factor / other.factor
        off = abs(math.log(size / value))
        if off <= _WITHIN_WITHOUT_UNIT and max(value, 1.0 / value) > _OTHER:
            pair = (unit, text) if value > 1.0 else (text, unit)
            candidates.append((off, UnitFactor(max(value, 1.0 / value), *pair)))
    return min(candidates, key=lambda item: item[0])[1] if candidates else None
