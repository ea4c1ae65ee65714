"""Rows that stand far out: where an event, not the smooth model, makes residuals change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

Flags = npt.NDArray[np.bool_]

_SHARE = 0.9
"""Part of the rows that is taken to be free of events."""

HEAVY = 30.0
"""Times the 0.9 quantile that a row has to exceed. Smooth responses and noise stay within 3 to
10 of it; a jump that a finite-difference step moves across a sample is far beyond."""


_FEWEST = 10
"""Of fewer rows none can be told from the others."""


def standing_out(
    values: F64, floor: float, factor: float = HEAVY, groups: Sequence[slice] = (slice(None),)
) -> Flags:
    """Return which rows are far larger than nearly all others, at most a tenth of each group.

    Where more than nine tenths of a group are zero, all of its other rows stand out.

    Parameters
    ----------
    values
        Shape (m,), finite.
    floor
        Smaller values never stand out, such as some noise levels.
    factor
        Times the 0.9 quantile of the sizes.
    groups
        Rows that are compared with each other, such as those of one output.
    """
    sizes = np.abs(values)
    found = np.zeros(values.shape, dtype=np.bool_)
    for rows in groups:
        group = sizes[rows]
        if group.size >= _FEWEST:
            found[rows] = group > max(factor * float(np.quantile(group, _SHARE)), floor)
    return found


def standing_out_of_active(values: F64, floor: float) -> Flags:
    """Return the same where rows that are zero do not count, for a parameter that acts on few."""
    found = np.zeros(values.shape, dtype=np.bool_)
    active = values != 0.0
    found[active] = standing_out(values[active], floor)
    return found
