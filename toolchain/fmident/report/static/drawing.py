"""A chart of the page by Matplotlib, so that both show the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from fmident.arrays import F64
from fmident.report.charts.chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Dots,
    Level,
    Line,
    Mark,
    Panel,
    Segments,
    Values,
)
from fmident.report.charts.signals.bands import band_chart
from fmident.report.numbers import plain
from fmident.report.plots import style
from fmident.report.plots.fits import draw_line

if TYPE_CHECKING:
    from fmident.prediction import OutputBand

_WIDTH = 10.6
_INCHES = 1.0 / 84.0
"""Of a pixel of the page."""

_POINTS = 0.75
_STRIPS = 900
_DECADES = 100.0
"""A logarithmic axis that is longer has labels at powers of ten alone."""

_MANY = 500
"""More dots than this are drawn as pixels: each would be an element of its own."""

_STROKES = ("x", "+")
"""Markers of strokes alone, which have no inside."""

_MARKERS = {
    "circle": "o", "square": "s", "x": "x", "diamond": "D", "triangle": "^", "cross": "+",
    "star": "*",
}  # fmt: skip


def drawn(chart: Chart, salt: str) -> bytes:
    """Return a chart as SVG, or as the format of :func:`style.written_as`.

    Parameters
    ----------
    chart
        As of the page. Lines that are hidden at first are left out.
    salt
        Makes names in the file differ from those of other files.
    """
    count = len(chart.panels)
    columns = min(count, 2 if count < 5 else 3) if chart.side_by_side else 1
    rows = [chart.panels[k : k + columns] for k in range(0, count, columns)]
    heights = [max(_height(panel) for panel in row) for row in rows]
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(_WIDTH, sum(heights) + 0.4), layout="constrained")
        grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights)
        handles: dict[str, Artist] = {}
        for axes, panel in zip(grid.ravel(), chart.panels, strict=False):
            draw_panel(axes, panel, handles)
        for axes in grid.ravel()[count:]:
            axes.set_axis_off()
        _color_bar(figure, list(grid.ravel()[:count]), chart)
        if handles:
            figure.legend(
                list(handles.values()),
                list(handles),
                loc="outside upper left",
                ncols=min(len(handles), 5),
                fontsize=9,
            )
        if not chart.side_by_side:
            figure.align_ylabels(list(grid[:, 0]))
        return style.svg_of(figure, salt)


def _color_bar(figure: Figure, axes: Sequence[Axes], chart: Chart) -> None:
    """Say what the colours of dots mean, which are the same in all panels."""
    names = [
        mark.hover[-1][0]
        for panel in chart.panels
        for mark in panel.marks
        if isinstance(mark, Dots) and mark.values is not None and mark.hover
    ]
    colored = [c for one in axes for c in one.collections if c.get_array() is not None]
    if colored and names:
        bar = figure.colorbar(colored[0], ax=axes, shrink=0.6, aspect=30)
        bar.set_label(names[0], parse_math=False)
        bar.ax.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())


def band_pictures(bands: Sequence[OutputBand], level: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of a picture of each output with its bands.

    Parameters
    ----------
    bands
        The outputs.
    level
        Probability of the bands as text.
    """
    for number, band in enumerate(bands, 1):
        # Two names may differ in what a file's name cannot hold.
        name = f"bands-{number}-{band.experiment}-{band.name}"
        yield name, drawn(band_chart(band, level), name)


def _height(panel: Panel) -> float:
    return panel.height * _INCHES + (0.25 if panel.title else 0.0)


def draw_panel(axes: Axes, panel: Panel, handles: dict[str, Artist]) -> None:
    """Draw one panel of a chart; `handles` takes what a legend is to show, by name."""
    for axis, said in ((axes.xaxis, panel.x), (axes.yaxis, panel.y)):
        if said.log:
            (axes.set_xscale if axis is axes.xaxis else axes.set_yscale)("log")
    for mark in panel.marks:
        if isinstance(mark, Line) and mark.hidden:
            continue
        handle = _mark(axes, mark)
        if mark.name and not panel.title.startswith(mark.name):
            handles.setdefault(mark.name, handle)
    axes.set_xlim(panel.x.low, panel.x.high)
    axes.set_ylim(panel.y.low, panel.y.high)
    _ticks(axes, "x", panel.x)
    _ticks(axes, "y", panel.y)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize=9.5, fontweight="bold", parse_math=False)


def _ticks(axes: Axes, which: str, said: Axis) -> None:
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_label_text(said.label, parse_math=False)
    if said.ticks:
        axis.set_ticks([place for place, _ in said.ticks])
        axis.set_ticklabels([label for _, label in said.ticks], parse_math=False)
    elif said.whole:
        axis.set_major_locator(MaxNLocator(integer=True))
    elif said.log:
        if said.high < _DECADES * said.low:
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(lambda value, _: plain(value, 3))
        axis.set_minor_formatter(NullFormatter())


def _mark(axes: Axes, mark: Mark) -> Artist:
    if isinstance(mark, Line):
        draw_line(
            axes, mark.x, _added(mark.y), _STRIPS, mark.color, "", width=mark.width,
            dashed=mark.dashed,
        )  # fmt: skip
        return _stroke(mark.color, mark.width, dashed=mark.dashed)
    if isinstance(mark, Level):
        line = axes.axvline if mark.axis == "x" else axes.axhline
        line(mark.value, color=mark.color, linewidth=mark.width, linestyle=_dash(mark.dashed))
        return _stroke(mark.color, mark.width, dashed=mark.dashed)
    if isinstance(mark, Band):
        axes.fill_between(
            mark.x, mark.low, mark.high, color=mark.color, alpha=mark.alpha, linewidth=0
        )
    elif isinstance(mark, Bars):
        axes.bar(
            mark.left, mark.top, mark.right - mark.left, align="edge", color=mark.color,
            alpha=mark.alpha,
        )  # fmt: skip
    elif isinstance(mark, Segments):
        pieces = np.stack(
            [np.column_stack([mark.x0, mark.y0]), np.column_stack([mark.x1, mark.y1])], axis=1
        )
        width = mark.width * _POINTS
        axes.add_collection(
            LineCollection(list(pieces), colors=mark.color, linewidths=width, capstyle="butt")
        )
        return _stroke(mark.color, mark.width)
    else:
        return _dots(axes, mark)
    return Patch(color=mark.color, alpha=mark.alpha)


def _dots(axes: Axes, mark: Dots) -> Artist:
    marker = _MARKERS.get(mark.marker, "o")
    size = mark.size * _POINTS
    how: Any = {"marker": marker, "s": size**2, "alpha": mark.alpha, "zorder": 3}
    many = mark.x.size > _MANY
    if mark.values is not None:
        axes.scatter(
            mark.x, mark.y, c=mark.values, cmap="viridis_r", norm=_norm(mark.values),
            rasterized=many, linewidths=0, **how,
        )  # fmt: skip
    elif mark.hollow and marker not in _STROKES:
        axes.scatter(
            mark.x, mark.y, facecolors="white", edgecolors=mark.color, linewidths=1.1, **how
        )
    else:
        axes.scatter(mark.x, mark.y, color=mark.color, rasterized=many, **how)
    return Line2D(
        [], [], linestyle="", marker=marker, markersize=size, color=mark.color,
        markerfacecolor="white" if mark.hollow else mark.color,
    )  # fmt: skip


def _norm(values: F64) -> Normalize:
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Normalize()
    low, high = float(finite.min()), float(finite.max())
    return LogNorm(low, high) if 0.0 < low < high else Normalize(low, high)


def _stroke(color: str, width: float, *, dashed: bool = False) -> Line2D:
    return Line2D([], [], color=color, linewidth=max(width, 1.0), linestyle=_dash(dashed))


def _dash(dashed: bool) -> Literal["--", "-"]:
    return "--" if dashed else "-"


def _added(values: Values) -> F64:
    if not isinstance(values, tuple):
        return values
    total: F64 = np.sum(values, axis=0)
    return total
