"""The plots of population methods: cost over generations, evaluated vectors over pairs."""

from __future__ import annotations

import dataclasses
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
from fmident.report.numbers import plain
from fmident.report.plots import style

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate

MOST_PARAMETERS = 6
"""So many are drawn over pairs; more would be too small to read."""

_WIDTH, _HEIGHT, _PANEL = 10.6, 3.1, 2.1
_MOST_DRAWN = 20_000
_DOTS_PER_INCH = 130
_WIDE_RANGE = 100.0
_COLORS = "viridis_r"


def by_stage(
    result: EstimationResult,
) -> list[tuple[str, list[Generation], list[ParameterEstimate]]]:
    """Return the generations of each stage and the parameters that it searched.

    Stages minimise different costs, which have no scale in common. Without stages there is one
    group, whose name is empty.

    Returns
    -------
    list
        Name of the stage, its generations with the columns of the searched parameters only, and
        these parameters from the first vector of the stage to its result.
    """
    free = [e for e in result.estimates if e.searched]
    found = {s.name: s.parameters for s in result.stages}
    groups: list[tuple[str, list[Generation], list[ParameterEstimate]]] = []
    for stage in dict.fromkeys(g.stage for g in result.generations):
        own = [g for g in result.generations if g.stage == stage]
        if not stage:
            groups.append((stage, own, free))
            continue
        columns = [k for k, e in enumerate(free) if e.name in found[stage]]
        kept = [Generation.of(g.points[:, columns], g.costs, stage) for g in own]
        points = np.vstack([g.points for g in kept])
        searched = [
            # The bounds are those of the last stage that searched it; another may have had wider.
            dataclasses.replace(
                free[k],
                initial=float(points[0, j]),
                value=found[stage][free[k].name],
                lower=min(free[k].lower, float(points[:, j].min())),
                upper=max(free[k].upper, float(points[:, j].max())),
            )
            for j, k in enumerate(columns)
        ]
        groups.append((stage, kept, searched))
    return groups


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
    rows = np.array([_quantiles(g.costs) for g in generations])
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
    points, costs = _thinned(points, costs)
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


def has_log_axis(parameter: ParameterEstimate) -> bool:
    """Return whether the bounds of a parameter span so much that only a logarithm shows it."""
    low, high = parameter.lower, parameter.upper
    return bool(low > 0.0 and np.isfinite(high) and high >= _WIDE_RANGE * low)


def _quantiles(costs: F64) -> F64:
    finite = costs[np.isfinite(costs)]
    if finite.size == 0:
        return np.full(3, np.nan)
    found: F64 = np.quantile(finite, [0.05, 0.5, 0.95])
    return found


def _log_when_positive(axes: Axes, values: F64) -> None:
    finite = values[np.isfinite(values)]
    if finite.size and float(finite.min()) > 0.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.yaxis.set_minor_formatter(NullFormatter())


def _thinned(points: F64, costs: F64) -> tuple[F64, F64]:
    """Return vectors so that good ones are drawn over bad ones, and not too many."""
    order = np.argsort(-costs, kind="stable")
    points, costs = points[order], costs[order]
    if costs.size > _MOST_DRAWN:
        keep = np.unique(np.linspace(0, costs.size - 1, _MOST_DRAWN).astype(np.intp))
        points, costs = points[keep], costs[keep]
    return points, costs


def _norm(costs: F64) -> Normalize:
    """Return the scale of colours: logarithmic when it can be."""
    finite = costs[np.isfinite(costs)]
    low, high = float(finite.min()), float(np.quantile(finite, 0.98))
    if low > 0.0 and high > low:
        # What lies many decades below differs in no way that matters here.
        return LogNorm(max(low, 1e-8 * high), high)
    positive = finite[finite > 0.0]
    if positive.size and high > 0.0:
        return LogNorm(max(float(positive.min()), 1e-8 * high), high, clip=True)
    return Normalize(low, high if high > low else low + 1.0)


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
