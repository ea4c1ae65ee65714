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

from fmident.files import save
from fmident.report.figures.chart import Axis, Dots, Panel
from fmident.report.figures.drawing import STYLE, color_bar, color_norm, draw_panel, legend_of
from fmident.report.figures.style import INITIAL, RESULT, with_unit

if TYPE_CHECKING:
    from fmident.evaluation import cost_map
    from fmident.evaluation.cost_map import CostMap

_PANEL, _LEAST = 3.3, 5.4
_LEVELS = 14


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
    size = max(_LEAST, _PANEL * len(rows))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(size + 1.3, size), layout="constrained")
        panels = figure.subplots(len(rows), len(rows), squeeze=False)
        for axes in panels.ravel():
            axes.set_axis_off()
        norm = color_norm(np.concatenate([m.costs.ravel() for m in maps]))
        colors: Any = None
        for one in maps:
            axes = panels[rows.index(one.second.name), columns.index(one.first.name)]
            axes.set_axis_on()
            colors = _draw(axes, one, norm, result)
        color_bar(figure, colors, panels[:, -1].tolist(), "cost")
        handles = legend_of(panels[:1, 0])
        figure.legend([*handles.values()], [*handles], loc="outside upper left", ncols=3)
        save(path, lambda stream: figure.savefig(stream, dpi=150, format=path.suffix[1:]))


def _draw(axes: Axes, one: CostMap, norm: Normalize, result: Mapping[str, float] | None) -> Any:
    x, y = one.first, one.second
    axes.set_facecolor("#d8dce2")  # where simulations failed
    costs = np.clip(np.where(np.isfinite(one.costs), one.costs, np.nan), norm.vmin, norm.vmax)
    colors = axes.pcolormesh(
        x.values, y.values, costs, cmap="viridis_r", norm=norm, shading="nearest"
    )
    known = costs[np.isfinite(costs)]
    if known.size and np.ptp(known) > 0.0:
        spaced = np.geomspace if isinstance(norm, LogNorm) else np.linspace
        levels = spaced(known.min(), known.max(), _LEVELS + 2)[1:-1]
        axes.contour(
            x.values, y.values, costs, levels=levels, colors="white", linewidths=0.5, alpha=0.6
        )
    minima = np.array([(m.first, m.second) for m in one.minima]).reshape(-1, 2)
    marks = [
        Dots(minima[:, 0], minima[:, 1], "black", "local minima on the grid", 10.0, hollow=True),
        _place(one, one.start, INITIAL, "initial", "square", 9.0),
    ]
    if result is not None and x.name in result and y.name in result:
        marks.append(_place(one, result, RESULT, "result", "star", 17.0))
    number = len(one.minima)
    title = f"{number} local minim{'um' if number == 1 else 'a'}"
    draw_panel(axes, Panel(_axis(x), _axis(y), marks, title=title))
    axes.grid(visible=False)
    return colors


def _place(
    one: CostMap, values: Mapping[str, float], color: str, name: str, marker: str, size: float
) -> Dots:
    x, y = (np.array([values[axis.name]]) for axis in (one.first, one.second))
    return Dots(x, y, color, name, size, marker)


def _axis(axis: cost_map.Axis) -> Axis:
    low, high = float(axis.values[0]), float(axis.values[-1])
    return Axis(low, high, with_unit(axis.name, axis.unit), log=axis.log)
