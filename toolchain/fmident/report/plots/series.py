"""The plot of estimates over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fmident.arrays import F64
from fmident.report.charts.signals.series import series_range
from fmident.report.plots import style

if TYPE_CHECKING:
    from fmident.estimation.online.series import TimeSeriesEstimate

_WIDTH, _HEIGHT = 10.6, 2.2
_MOST_DRAWN = 1500


def series_plot(series: TimeSeriesEstimate, final: F64) -> bytes:
    """Draw each parameter over time with its 95 % interval and the final estimate.

    Parameters
    ----------
    series
        Of one experiment.
    final
        Estimates of the whole run, shape (n,).

    Returns
    -------
    bytes
        An SVG document.
    """
    count = len(series.names)
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(_WIDTH, 0.5 + _HEIGHT * count), layout="constrained")
        panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for j, axes in enumerate(panels):
            _draw(axes, series, j, float(final[j]))
        panels[-1].set_xlabel("time (s)")
        panels[-1].set_xlim(float(series.times[0]), float(series.times[-1]))
        figure.align_ylabels(panels)
        return style.svg_of(figure, f"series/{series.experiment}")


def _draw(axes: Axes, series: TimeSeriesEstimate, j: int, final: float) -> None:
    every = max(1, series.times.size // _MOST_DRAWN)
    times, values = series.times[::every], series.values[::every, j]
    margin = 1.96 * series.standard_errors[::every, j]
    axes.fill_between(times, values - margin, values + margin, color="#cfe0f2", linewidth=0)
    axes.plot(times, values, color=style.FITTED, linewidth=1.0)
    axes.axhline(final, color=style.INITIAL, linewidth=0.9, linestyle="--")
    unit = series.units[j]
    axes.set_ylabel(f"{series.names[j]} ({unit})" if unit else series.names[j])
    shown = series_range(series, j, final)
    if shown is not None:
        axes.set_ylim(*shown)
