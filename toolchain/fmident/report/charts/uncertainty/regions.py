"""The region in which two parameters lie together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Dots, Mark, Panel, Segments
from fmident.report.charts.ranges import log_range, padded, with_unit
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.profiles import JointRegion

_HEIGHT = 420
_WIDE = 5.0
"""Ratio of the ends of an axis from which it is logarithmic, for a parameter with log scaling."""


def region_chart(region: JointRegion) -> Chart:
    """Return the edge of the region, the linearised one, and the estimate."""
    ends = np.array([e.values for e in region.ends])
    reached = np.array([e.outcome == "reached" for e in region.ends])
    around = [*range(len(ends)), 0]
    # Between two directions without an edge nothing is drawn.
    edge = np.where(reached[:, np.newaxis], ends, np.nan)[around]
    marks: list[Mark] = []
    if region.linearised.size:
        first, second = region.linearised.T
        marks.append(_closed(first, second, colors.INITIAL, "linearised", 1.2))
    marks.append(_closed(edge[:, 0], edge[:, 1], colors.FITTED, "region", 1.8))
    hover = [(region.names[0], "x"), (region.names[1], "y")]
    for which, name, hollow in ((reached, "edge", False), (~reached, "no edge", True)):
        if which.any():
            x, y = ends[which].T
            marks.append(
                Dots(x.copy(), y.copy(), colors.FITTED, name, 5.0, hollow=hollow, hover=hover)
            )
    estimate = np.array(region.estimate)
    marks.append(
        Dots(estimate[:1], estimate[1:], colors.RESULT, "estimate", 9.0, "diamond", hover=hover)
    )
    x, y = (_axis(region, k, ends[:, k]) for k in range(2))
    words = f"Joint region of {region.names[0]} and {region.names[1]}"
    return Chart([Panel(x, y, marks, _HEIGHT)], words)


def _closed(x: F64, y: F64, color: str, name: str, width: float) -> Segments:
    """Return the pieces of a curve; those with an end that is missing are left out."""
    known = np.isfinite(x[:-1]) & np.isfinite(x[1:]) & np.isfinite(y[:-1]) & np.isfinite(y[1:])
    return Segments(x[:-1][known], y[:-1][known], x[1:][known], y[1:][known], color, name, width)


def _axis(region: JointRegion, k: int, ends: F64) -> Axis:
    values = np.append(ends, region.estimate[k])
    label = with_unit(region.names[k], unit_text(region.units[k]))
    low, high = float(values.min()), float(values.max())
    if region.log[k] and low > 0.0 and high > _WIDE * low:
        limits, log = log_range(values)
        return Axis(*limits, label, log=log)
    return Axis(*padded(low, high, 0.08), label)
