"""Tau between the points of a profile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.profiles.result import ProfilePoint


def tau_curve(points: Sequence[ProfilePoint], values: F64) -> F64:
    """Return tau between points by a curve that keeps their monotony.

    Tau is interpolated, not the cost: it is a straight line where the cost is a parabola.

    Parameters
    ----------
    points
        Rising in the value.
    values
        Shape (k,).

    Returns
    -------
    numpy.ndarray
        Shape (k,); NaN outside of the points.
    """
    from scipy.interpolate import (
        PchipInterpolator,  # here, since it is slow to import and seldom needed
    )

    x = np.array([p.value for p in points])
    y = np.array([p.tau for p in points])
    x, first = np.unique(x, return_index=True)
    if x.size < 2:
        return np.where(np.isin(values, x), y[first][0], np.nan)
    found: F64 = PchipInterpolator(x, y[first], extrapolate=False)(values)
    return found
