"""Models as Python functions, and their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.problem.model import Parameter


def parameter(name: str, initial: float = 1.0, *bounds: float, **more: Any) -> Parameter:
    """Return a parameter that sets the variable of its name."""
    return Parameter(name, initial, *bounds, **{"variable": name} | more)


def decay(times: F64, inputs: object, a: float, k: float) -> dict[str, F64]:
    return {"y": a * np.exp(-k * times)}
