"""What holds a parameter."""

from __future__ import annotations

import numpy as np

from fmident.statistics.feasible_set import FeasibleSet


def held_at(number: int, count: int = 2) -> dict[str, object]:
    """Return what holds one of `count` parameters on a bound."""
    row = np.zeros((1, count))
    row[0, number] = 1.0
    limits = FeasibleSet(np.empty((0, count)), row, np.zeros(1))
    return {"feasible": limits, "holding": np.array([True])}
