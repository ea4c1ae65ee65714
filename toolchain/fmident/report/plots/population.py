"""The plots of population methods: cost over generations, evaluated vectors over pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from fmident.arrays import F64
from fmident.estimation.population import Generation
from fmident.report.charts.search.population import (
    MOST_PARAMETERS,
    by_stage,
    color_limits,
    has_log_axis,
    quantiles,
    thinned,
)
from fmident.report.numbers import plain
from fmident.report.plots import style

if TYPE_CHECKING:
    from fmident.estimation.result import ParameterEstimate

__all__ = ["MOST_PARAMETERS", "by_stage", "generations_plot", "has_log_axis", "pairs_plot"]

_WIDTH, _HEIGHT, _PANEL = 10.6, 3.1, 2.1
_MOST_DRAWN = 20_000
_DOTS_PER_INCH = 130
_COLORS = "viridis_r"


def generations_plot(generations: Sequence[Generation]) -> bytes | None:
    """Draw the best cost so far, and median and spread of each generation.

    Parameters
    ----------
    generations
        In order; the first is the initial point.

    Returns
    -------
    bytes or None
        An SVG document; ``None`` when there are fewer than two generations.
    """
    if len(generations) < 2:
        return None
    numbers = np.arange(len(generations))
    rows = np.array([quantiles(g.costs) for g in generations])
    lowest = [np.min(g.costs, initial=np.inf) for g in generations]
    best = np.minimum.accumulate(np.array(lowest))
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained")
        axes = figure.subplots()
        axes.fill_between(
            numbers, rows[:, 0], rows[:, 2], color="#cfe0f2", linewidth=0, label="5 % to 95 %"
        )
        axes.plot(numbers, rows[:, 1], color=style.RESIDUAL, linewidth=1.0, label="median")
        axes.plot(numbers, best, color=style.FITTED, linewidth=1.5, label="best so far")
        _log_when_positive(axes, np.concatenate([best, rows[:, 0]]))
        axes.set_xlim(0.0, float(numbers[-1]))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("generation")
        axes.set_ylabel("cost")
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)
        return style.svg_of(figure, "generations")


def pairs_plot(
    generations: Sequence[Generation], parameters: Sequence[ParameterEstimate]
) -> bytes | None:
    """Draw all evaluated vectors over each pair of parameters, coloured by cost.

    With one parameter, the cost is drawn over it. A parameter whose bounds span decades has a
    logarithmic axis.

    Parameters
    ----------
    generations
        In order.
    parameters
        The free ones, in the order of the vectors; the first :data:`MOST_PARAMETERS` are drawn.

    Returns
    -------
    bytes or None
        An SVG document; ``None`` when no vector has a finite cost.
    """
    points = np.vstack([g.points for g in generations])
    costs = np.concatenate([g.costs for g in generations])
    if not bool(np.isfinite(costs).any()) or not parameters:
        return None
    points, costs = thinned(points, costs, _MOST_DRAWN)
    shown = list(parameters[:MOST_PARAMETERS])
    with mpl.rc_context(style.STYLE):
        if len(shown) == 1:
            return _over_one(points[:, 0], costs, shown[0])
        count = len(shown) - 1
        size = min(_WIDTH, _PANEL * count + 2.4)
        figure = Figure(figsize=(size, size * 0.86), layout="constrained", dpi=_DOTS_PER_INCH)
        panels = figure.subplots(count, count, squeeze=False)
        norm = _norm(costs)
        drawn: Any = None
        for row in range(count):
            for column in range(count):
                axes = panels[row, column]
                if column > row:
                    axes.set_axis_off()
                    continue
                drawn = _scatter(axes, points[:, [column, row + 1]], costs, norm)
                _mark(axes, shown[column], shown[row + 1])
                _scale(axes, shown[column], shown[row + 1])
                _labels(
                    axes,
                    shown[column] if row == count - 1 else None,
                    shown[row + 1] if column == 0 else None,
                )
        bar = figure.colorbar(drawn, ax=panels[:, -1].tolist(), label="cost", shrink=0.8)
        bar.ax.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        figure.align_labels(panels.ravel().tolist())
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        return style.svg_of(figure, "pairs")


def _log_when_positive(axes: Axes, values: F64) -> None:
    finite = values[np.isfinite(values)]
    if finite.size and float(finite.min()) > 0.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _norm(costs: F64) -> Normalize:
    """Return the scale of colours: logarithmic when it can be."""
    low, high = color_limits(costs)
    if low > 0.0:
        return LogNorm(low, high, clip=bool(np.min(costs) <= 0.0))
    return Normalize(low, high)


def _scatter(axes: Axes, points: F64, costs: F64, norm: Normalize) -> Any:
    failed = ~np.isfinite(costs)
    if bool(failed.any()):
        axes.scatter(
            points[failed, 0],
            points[failed, 1],
            s=7,
            marker="x",
            color="#c9ced6",
            linewidths=0.6,
            rasterized=True,
        )
    return axes.scatter(
        points[~failed, 0],
        points[~failed, 1],
        c=costs[~failed],
        s=7,
        cmap=_COLORS,
        norm=norm,
        linewidths=0,
        rasterized=True,
    )


def _mark(axes: Axes, first: ParameterEstimate, second: ParameterEstimate) -> None:
    axes.plot(
        first.initial,
        second.initial,
        marker="s",
        color=style.INITIAL,
        markersize=6,
        markeredgecolor="white",
        linestyle="none",
        label="initial",
    )
    axes.plot(
        first.value,
        second.value,
        marker="*",
        color="#d1242f",
        markersize=11,
        markeredgecolor="white",
        markeredgewidth=0.7,
        linestyle="none",
        label="result",
    )


def _scale(axes: Axes, first: ParameterEstimate, second: ParameterEstimate) -> None:
    for parameter, name in ((first, "x"), (second, "y")):
        low, high = parameter.lower, parameter.upper
        if not (np.isfinite(low) and np.isfinite(high)) or low == high:
            continue
        if has_log_axis(parameter):
            axes.set(**{f"{name}scale": "log"})
            ticks = axes.xaxis if name == "x" else axes.yaxis
            ticks.set_major_formatter(lambda value, _: plain(value, 3))
            ticks.set_minor_formatter(NullFormatter())
            margin = (high / low) ** 0.03
            limits = (low / margin, high * margin)
        else:
            margin = 0.03 * (high - low)
            limits = (low - margin, high + margin)
        axes.set(**{f"{name}lim": limits})


def _labels(axes: Axes, first: ParameterEstimate | None, second: ParameterEstimate | None) -> None:
    axes.tick_params(labelbottom=first is not None, labelleft=second is not None, labelsize=8)
    axes.tick_params(which="minor", labelbottom=False, labelleft=False)
    if first is not None:
        axes.set_xlabel(_named(first))
    if second is not None:
        axes.set_ylabel(_named(second))


def _named(parameter: ParameterEstimate) -> str:
    return f"{parameter.name} ({parameter.unit})" if parameter.unit else parameter.name


def _over_one(points: F64, costs: F64, parameter: ParameterEstimate) -> bytes:
    figure = Figure(figsize=(_WIDTH, _HEIGHT), layout="constrained", dpi=_DOTS_PER_INCH)
    axes = figure.subplots()
    finite = np.isfinite(costs)
    axes.scatter(
        points[finite], costs[finite], s=9, color=style.FITTED, linewidths=0, rasterized=True
    )
    axes.axvline(parameter.initial, color=style.INITIAL, linestyle="--", label="initial")
    axes.axvline(parameter.value, color="#d1242f", label="result")
    _log_when_positive(axes, costs)
    if has_log_axis(parameter):
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: plain(value, 3))
    axes.set_xlabel(_named(parameter))
    axes.set_ylabel("cost")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)
    return style.svg_of(figure, "pairs")
