"""Shifts of parameters and start values, and weights for differences."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fmident.fmu.model_description.variables import Variable

RELATIVE_SHIFT = 2e-6
"""Of a parameter: its error is the square for smooth models, rounding gives 1e-10."""

PATTERNS = ((-1.0, 1.0), (0.0, 1.0, 2.0), (0.0, -1.0, -2.0))
"""Shifts in units, the first that the parameter's range and the FMU allow: central differences,
and one-sided ones of the same order."""

_WEIGHTS = {2: (-0.5, 0.5), 3: (-1.5, 2.0, -0.5)}


@dataclass(frozen=True)
class Stencil:
    """Values of one parameter, and weights of a difference formula.

    `offsets` are relative to the value in the run.
    """

    name: str
    values: tuple[float, ...]
    offsets: tuple[float, ...]
    weights: tuple[float, ...]


def scale_of(variable: Variable, value: float) -> float:
    """Return the scale of a parameter, from its value, start value or nominal value."""
    sizes = [abs(value), abs(variable.nominal or 0.0)]
    if isinstance(variable.start, (int, float)):
        sizes.append(abs(float(variable.start)))
    return max(sizes) or 1.0


def stencils_of(variable: Variable, value: float, factor: float = 1.0) -> list[Stencil]:
    """Return the stencils that the variable's range permits, the best first, by `factor`."""
    unit = RELATIVE_SHIFT * factor * scale_of(variable, value)
    unit = 2.0 ** round(math.log2(unit))
    stencils = []
    low = -math.inf if variable.minimum is None else variable.minimum
    high = math.inf if variable.maximum is None else variable.maximum
    for pattern in PATTERNS:
        values = tuple(value + k * unit for k in pattern)
        if not all(low <= v <= high for v in values):
            continue
        offsets = tuple(v - value for v in values)
        width = (values[-1] - values[0]) / (pattern[-1] - pattern[0])
        weights = tuple(w / width for w in _WEIGHTS[len(pattern)])
        if width != 0.0:
            stencils.append(Stencil(variable.name, values, offsets, weights))
    return stencils
