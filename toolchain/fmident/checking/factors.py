"""Factors by which numbers are wrong when their unit is."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class UnitFactor:
    """A factor between two units that are mistaken for each other.

    Parameters
    ----------
    value
        Larger than 1.
    small, large
        Units whose numbers are smaller and larger by the factor, as examples.
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

_WITHIN, _WITHIN_LARGE = 0.03, 0.12
_LARGE = 300.0
"""From here on hardly anything but a unit makes a factor."""


def unit_factor(ratio: float, within: float = _WITHIN) -> UnitFactor | None:
    """Return the factor that a ratio, or its inverse, equals within a relative tolerance.

    Large factors may be off by more, since initial values are never exact.
    """
    size = abs(ratio)
    if not (math.isfinite(size) and size > 0.0):
        return None
    size = max(size, 1.0 / size)
    near = min(UNIT_FACTORS, key=lambda f: abs(math.log(size / f.value)))
    allowed = max(within, _WITHIN_LARGE) if near.value > _LARGE else within
    return near if abs(math.log(size / near.value)) <= allowed else None
