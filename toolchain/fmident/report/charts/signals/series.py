"""Estimates of online estimators over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Band, Chart, Level, Line, Panel, long_band
from fmident.report.charts.ranges import time_link, with_unit

if TYPE_CHECKING:
    from fmident.estimation.online.series import TimeSeriesEstimate

_HEIGHT, _LOWER = 160, 50


def series_chart(series: TimeSeriesEstimate, final: F64) -> Chart:
    """Return each parameter over time with its 95 % interval and the final estimate.

    Parameters
    ----------
    series
        Of one experiment.
    final
        Estimates of the whole run, shape (n,).
    """
    times = np.asarray(series.times, dtype=np.float64)
    count = len(series.names)
    panels = [_panel(series, times, j, float(final[j]), j == count - 1) for j in range(count)]
    return Chart(panels, f"Estimates over time of {series.experiment} with their 95 % intervals")


def series_range(series: TimeSeriesEstimate, j: int, final: float) -> tuple[float, float] | None:
    """Return where nine tenths of the estimates lie: near singular windows they go far."""
    good = series.values[series.good, j]
    good = good[np.isfinite(good)]  # none for a parameter of other experiments
    if good.size == 0:
        return None
    low, high = (float(x) for x in np.quantile(good, [0.05, 0.95]))
    low, high = min(low, final), max(high, final)
    pad = 0.4 * (high - low) or 0.05 * abs(final) or 1.0
    return low - pad, high + pad


def _panel(series: TimeSeriesEstimate, times: F64, j: int, final: float, last: bool) -> Panel:
    values = np.ascontiguousarray(series.values[:, j])
    margin = 1.96 * series.standard_errors[:, j]
    low, high = series_range(series, j, final) or (final - 1.0, final + 1.0)
    begin, end = float(times[0]), float(times[-1])
    return Panel(
        Axis(begin, end, "time (s)" if last else "", link=time_link(series.experiment)),
        Axis(low, high, with_unit(series.names[j], series.units[j])),
        [
            long_band(
                Band(times, values - margin, values + margin, colors.SPREAD, "95 % interval")
            ),
            Level(final, colors.INITIAL, "whole run", width=1.0, dashed=True),
            Line(times, values, colors.FITTED, "estimate", width=1.2),
        ],
        _HEIGHT + (_LOWER if last else 0),
    )
