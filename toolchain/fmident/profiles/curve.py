"""Interpolation of tau between the points of a profile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.profiles.result import ProfilePoint


def tau_curve(points: Sequence[ProfilePoint], values: F64) -> F64:
    """Interpolate tau at `values`, shape (k,), by a monotone curve; NaN outside the points.

    `points` are sorted by value. Tau is interpolated rather than the cost because it is a
    straight line where the cost is a parabola.
    """
    from scipy.interpolate import (
        PchipInterpolator,  # here, since it is slow to import and seldom needed
    )

    x = np.array([p.value for p in points])
    y = np.array([p.tau for p in points])
    x, first = np.unique(x, return_index=True)
    if x.size < 2:
        return np.where(np.isin(values, x), y[first][0], np.nan)
    tau: F64 = PchipInterpolator(x, y[first], extrapolate=False)(values)
    return tau
