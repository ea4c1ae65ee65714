"""Figure of one or several cost maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from fmident.arrays import F64
from fmident.files import save
from fmident.report.figures.drawing import STYLE
from fmident.report.figures.style import INITIAL, RESULT
from fmident.words import plain

if TYPE_CHECKING:
    from fmident.evaluation.cost_map import Axis, CostMap

_PANEL, _LEAST = 3.3, 5.4
_DECADES = 8.0
_LEVELS = 14
_COLORS = "viridis_r"


def draw_cost_maps(
    maps: Sequence[CostMap], path: Path, *, result: Mapping[str, float] | None = None
) -> None:
    """Draw cost maps of all pairs of some parameters as a triangle.

    The start is a square, the `result` a star, and local minima on the grid are circles.
    `maps` are in the order of :func:`~fmident.evaluation.cost_map.pairs_of`. The format,
    PNG, SVG or PDF, follows from the suffix of `path`.
    """
    columns = list(dict.fromkeys(m.first.name for m in maps))
    rows = list(dict.fromkeys(m.second.name for m in maps))
    count = len(rows)
    with mpl.rc_context(STYLE):
        size = max(_LEAST, _PANEL * count)
        figure = Figure(figsize=(size + 1.3, size), layout="constrained")
        panels = figure.subplots(count, count, squeeze=False)
        for axes in panels.ravel():
            axes.set_axis_off()
        norm = _norm(np.concatenate([m.costs.ravel() for m in maps]))
        drawn: Any = None
        for one in maps:
            axes = panels[rows.index(one.second.name), columns.index(one.first.name)]
            axes.set_axis_on()
            drawn = _draw(axes, one, norm, result)
        bar = figure.colorbar(drawn, ax=panels[:, -1].tolist(), label="cost", shrink=0.85)
        bar.ax.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper left", ncols=3)
        save(path, lambda stream: figure.savefig(stream, dpi=150, format=path.suffix[1:]))


def _draw(axes: Axes, one: CostMap, norm: Normalize, result: Mapping[str, float] | None) -> Any:
    x, y = one.first.values, one.second.values
    costs = np.where(np.isfinite(one.costs), one.costs, np.nan)
    axes.set_facecolor("#d8dce2")  # where simulations failed
    clipped = np.clip(costs, norm.vmin, norm.vmax)
    drawn = axes.pcolormesh(x, y, clipped, cmap=_COLORS, norm=norm, shading="nearest")
    levels = _levels(clipped, norm)
    if levels.size:
        axes.contour(x, y, clipped, levels=levels, colors="white", linewidths=0.5, alpha=0.6)
    _scale(axes, one.first, one.second)
    axes.grid(visible=False)
    start = (one.start[one.first.name], one.start[one.second.name])
    axes.plot(
        [m.first for m in one.minima],
        [m.second for m in one.minima],
        "o", color="none", markeredgecolor="black", markersize=8, markeredgewidth=1.2,
        label="local minima on the grid", clip_on=False,
    )  # fmt: skip
    _mark(axes, start, "s", INITIAL, 7, "initial")
    if result is not None and one.first.name in result and one.second.name in result:
        estimate = (result[one.first.name], result[one.second.name])
        _mark(axes, estimate, "*", RESULT, 13, "result")
    number = len(one.minima)
    axes.set_title(
        f"{number} local minim{'um' if number == 1 else 'a'}", fontsize=9, color="#5b6673"
    )
    return drawn


def _mark(
    axes: Axes, place: tuple[float, float], marker: str, color: str, size: int, label: str
) -> None:
    axes.plot(
        *place,
        marker=marker,
        color=color,
        markersize=size,
        markeredgecolor="white",
        linestyle="none",
        label=label,
        zorder=5,
    )


def _norm(costs: F64) -> Normalize:
    """Return a logarithmic scale limited to some decades if the costs are positive."""
    finite = costs[np.isfinite(costs)]
    if finite.size == 0:
        return Normalize(0.0, 1.0)
    low, high = float(finite.min()), float(finite.max())
    if high <= low:
        return Normalize(low, low + 1.0)
    if low >= 0.0:
        least = float(finite[finite > 0.0].min())
        return LogNorm(max(least, high * 10.0**-_DECADES), high)
    return Normalize(low, high)


def _levels(costs: F64, norm: Normalize) -> F64:
    finite = costs[np.isfinite(costs)]
    if finite.size == 0 or float(np.ptp(finite)) == 0.0:
        return np.empty(0)
    low, high = float(finite.min()), float(finite.max())
    if isinstance(norm, LogNorm):
        return np.geomspace(low, high, _LEVELS + 2)[1:-1]
    return np.linspace(low, high, _LEVELS + 2)[1:-1]


def _scale(axes: Axes, first: Axis, second: Axis) -> None:
    if first.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.xaxis.set_minor_formatter(NullFormatter())
    if second.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(float(first.values[0]), float(first.values[-1]))
    axes.set_ylim(float(second.values[0]), float(second.values[-1]))
    axes.set_xlabel(_label(first))
    axes.set_ylabel(_label(second))


def _label(axis: Axis) -> str:
    return f"{axis.name} ({axis.unit})" if axis.unit else axis.name
