"""By how much parameters and start values are shifted, and how differences weigh the shifts."""

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
    """Values of one parameter, and the weights that make differences of them.

    Parameters
    ----------
    name
        Of the parameter or start value.
    values
        What it is set to.
    offsets
        The same, less its value in the run.
    weights
        Sum of weights times results: the derivative.
    """

    name: str
    values: tuple[float, ...]
    offsets: tuple[float, ...]
    weights: tuple[float, ...]


def scale_of(variable: Variable, value: float) -> float:
    """Return the size of a parameter: of its value, its start value, or its nominal value."""
    sizes = [abs(value), abs(variable.nominal or 0.0)]
    if isinstance(variable.start, (int, float)):
        sizes.append(abs(float(variable.start)))
    return max(sizes) or 1.0


def stencils_of(variable: Variable, value: float, factor: float = 1.0) -> list[Stencil]:
    """Return the stencils that the range of the variable allows, the best first.

    Parameters
    ----------
    variable
        The parameter or start value.
    value
        In this run.
    factor
        By which the shift is reduced.
    """
    unit = RELATIVE_SHIFT * factor * scale_of(variable, value)
    unit = 2.0 ** round(math.log2(unit))
    found = []
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
            found.append(Stencil(variable.name, values, offsets, weights))
    return found
