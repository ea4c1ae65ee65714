"""Draws a chart with Matplotlib: as a file, or on axes that somebody else has made."""

from __future__ import annotations

import io
import itertools
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from fmident.report.figures.browser import LARGEST_GAP, extremes
from fmident.report.figures.chart import (
    Axis,
    Band,
    Bars,
    Chart,
    Dots,
    Level,
    Line,
    Panel,
    Segments,
    total,
)
from fmident.report.figures.style import INITIAL, padded
from fmident.words import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fmident.arrays import F64

STYLE: Any = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,  # journals want fonts that can be edited
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.edgecolor": "#b6bec9",
    "axes.labelcolor": "#2b3440",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e7ebf0",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "xtick.color": "#5b6673",
    "ytick.color": "#5b6673",
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": (-4, 5),
    "legend.frameon": False,
    "text.parse_math": False,
    "path.simplify": True,
    "path.simplify_threshold": 0.3,
}

_WIDTH, _CORNER_PANEL = 10.6, 1.7
_INCHES = 1.0 / 84.0
"""Size of a pixel of the page, in inches."""

_POINTS = 0.75
_LETTERS = 130
"""Letters of a title over the whole width."""

_SAMPLES = 1800
"""Samples of a line, at most."""

_DECADES = 100.0
"""A logarithmic axis that is longer has labels at powers of ten alone."""

_COLOR_DECADES = 1e-8
"""What is less, in relation to the largest value, has the colour of this share."""

_NEAR_LABEL = 0.02
"""A time axis that misses a label by less than this share of its length is extended to it."""

_MANY = 500
"""More dots than this are drawn as pixels: each would be an element of its own."""

_MARKERS = {
    "circle": "o", "square": "s", "x": "x", "diamond": "D", "triangle": "^", "cross": "+",
    "star": "*", "left": "<", "right": ">",
}  # fmt: skip


def picture(chart: Chart, form: str = "svg") -> bytes:
    """Return a chart as a file in the format ``"svg"``, ``"pdf"`` or ``"png"``.

    Lines that are hidden at first are left out. Each part of the page that has a button is drawn
    as a panel of its own.
    """
    chart = _with_excerpts(chart)
    count = len(chart.panels)
    with mpl.rc_context(STYLE):
        if chart.corner:
            columns = corner_size(chart)
            size = max(_CORNER_PANEL * columns, 4.0)
            figure = Figure(figsize=(size, size), layout="constrained")
            grid = figure.subplots(columns, columns, squeeze=False)
        else:
            columns = min(count, 2 if count in (2, 4) else 3) if chart.side_by_side else 1
            heights = [
                max(
                    p.height * _INCHES + 0.25 * bool(p.title) for p in chart.panels[k : k + columns]
                )
                for k in range(0, count, columns)
            ]
            figure = Figure(figsize=(_WIDTH, sum(heights) + 0.4), layout="constrained")
            grid = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
        axes = [*grid.ravel()]
        draw(axes if chart.corner else axes[:count], chart)
        for one in [] if chart.corner else axes[count:]:
            one.set_axis_off()
        _color_bars(figure, axes, chart)
        if handles := legend_of(axes):
            figure.legend(
                [*handles.values()], [*handles], loc="outside upper left",
                ncols=min(len(handles), 5), fontsize=9,
            )  # fmt: skip
        if not (chart.side_by_side or chart.corner):
            figure.align_ylabels(axes)
            for one, panel in zip(axes, chart.panels, strict=False):
                one.tick_params(labelbottom=bool(panel.x.label))
        return file_of(figure, form, chart.label)


def file_of(figure: Figure, form: str, salt: str) -> bytes:
    """Return a figure as a file; `salt` makes names in it differ from those of other figures."""
    buffer = io.BytesIO()
    # Without salt and date two runs of the same data give the same bytes.
    with mpl.rc_context({"svg.hashsalt": salt}):
        if form == "png":
            figure.savefig(buffer, dpi=150, format="png")
            return buffer.getvalue()
        # Figure.savefig would draw everything twice, the first time to find the layout only.
        canvas: Any = (FigureCanvasPdf if form == "pdf" else FigureCanvasSVG)(figure)  # not typed
        if form == "pdf":
            canvas.print_pdf(buffer, metadata={"CreationDate": None})
        else:
            canvas.print_svg(buffer, metadata={"Date": None})
    return buffer.getvalue()


def corner_size(chart: Chart) -> int:
    """Return how many parameters a corner compares: it has n (n + 1) / 2 panels."""
    return math.isqrt(2 * len(chart.panels))


def draw(axes: Sequence[Axes], chart: Chart) -> None:
    """Draw each panel on its axes; those of a corner on a square of axes, row by row."""
    with mpl.rc_context({"text.parse_math": False}):  # "$" in a name is a letter
        if not chart.corner:
            for one, panel in zip(axes, chart.panels, strict=True):
                draw_panel(one, panel)
            return
        count = corner_size(chart)
        pairs = iter(chart.panels[count:])
        for one, (row, column) in zip(axes, itertools.product(range(count), repeat=2), strict=True):
            if column > row:
                one.set_axis_off()
                continue
            draw_panel(one, chart.panels[row] if row == column else next(pairs))
            if row == column:
                one.set_yticks([])
            _inner(one, bottom=row == count - 1, left=column == 0 and row > 0)


def _inner(axes: Axes, *, bottom: bool, left: bool) -> None:
    """Leave labels to the panels at the edges of a corner."""
    axes.grid(visible=False)
    axes.xaxis.set_major_locator(MaxNLocator(3))
    axes.tick_params(axis="x", labelrotation=45)
    axes.tick_params(labelbottom=bottom, labelleft=left, labelsize=8)
    if not bottom:
        axes.set_xlabel("")
    if not left:
        axes.set_ylabel("")


def legend_of(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Return what stands for each name, of all axes together."""
    handles: dict[str, Artist] = {}
    for one in axes:
        for handle, name in zip(*one.get_legend_handles_labels(), strict=True):
            handles.setdefault(name, handle)
    return handles


def _with_excerpts(chart: Chart) -> Chart:
    """Return a chart with a panel for each of its jumps, which is shaded in the first panel."""
    panels = [*chart.panels]
    for _, begin, end in chart.jumps:
        top = panels[0]
        ys = np.concatenate([_between(mark, begin, end) for mark in top.marks])
        ys = ys[np.isfinite(ys)]
        y = padded(float(ys.min()), float(ys.max())) if ys.size else (top.y.low, top.y.high)
        part = replace(chart.panels[-1].x, low=begin, high=end)
        panels.append(
            Panel(part, replace(top.y, low=y[0], high=y[1]), top.marks, top.height, "Shaded above")
        )
        shade = Band(
            np.array([begin, end]), np.full(2, top.y.low), np.full(2, top.y.high), INITIAL,
            alpha=0.14,
        )  # fmt: skip
        panels[0] = replace(top, marks=[shade, *top.marks])
    return replace(chart, panels=panels)


def _between(mark: object, begin: float, end: float) -> F64:
    if not isinstance(mark, Line):
        return np.empty(0)
    return total(mark.y)[(mark.x >= begin) & (mark.x <= end)]


def _color_bars(figure: Figure, axes: Sequence[Axes], chart: Chart) -> None:
    names = [
        mark.hover[-1][0]
        for panel in chart.panels
        for mark in panel.marks
        if isinstance(mark, Dots) and mark.values is not None and mark.hover
    ]
    colored = [c for one in axes for c in one.collections if c.get_array() is not None]
    if colored and names:
        color_bar(figure, colored[0], axes, names[0])


def color_bar(figure: Figure, colors: Any, axes: Sequence[Axes], label: str) -> None:
    """Add a colour bar for a mappable on some axes."""
    bar = figure.colorbar(colors, ax=[*axes], shrink=0.7, aspect=30)
    bar.set_label(label, parse_math=False)
    bar.ax.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
    bar.ax.yaxis.set_minor_formatter(NullFormatter())


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw one panel; names of marks become labels, for a legend."""
    if panel.x.log:
        axes.set_xscale("log")
    if panel.y.log:
        axes.set_yscale("log")
    for mark in panel.marks:
        if not (isinstance(mark, Line) and mark.hidden):
            # Below a title of the same name a legend says nothing.
            _draw(axes, mark, "" if panel.title.startswith(mark.name) else mark.name)
    axes.set_ylim(panel.y.low, panel.y.high)
    _ticks(axes, "y", panel.y)
    axes.set_xlim(panel.x.low, panel.x.high)
    _ticks(axes, "x", panel.x)
    if panel.title:
        grid = axes.get_subplotspec()
        letters = _LETTERS // (1 if grid is None else grid.get_gridspec().ncols)
        title = textwrap.fill(panel.title, letters)
        axes.set_title(title, loc="left", fontsize=9.5, fontweight="bold", parse_math=False)


def _ticks(axes: Axes, which: Literal["x", "y"], axis: Axis) -> None:
    drawn = axes.xaxis if which == "x" else axes.yaxis
    drawn.set_label_text(axis.label, parse_math=False)
    if axis.ticks:
        drawn.set_ticks([place for place, _ in axis.ticks])
        drawn.set_ticklabels([label for _, label in axis.ticks], parse_math=False)
    elif axis.whole:
        drawn.set_major_locator(MaxNLocator(integer=True))
    elif axis.log:
        if axis.high < _DECADES * axis.low:
            drawn.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        drawn.set_major_formatter(lambda value, _: plain(value, 3))
        drawn.set_minor_formatter(NullFormatter())
    elif which == "x" and axis.link:
        axes.set_xlim(*_to_labels(axes, axis.low, axis.high))


def _to_labels(axes: Axes, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis, moved to labels that they just miss."""
    places = axes.xaxis.get_major_locator().tick_values(low, high)
    slack = _NEAR_LABEL * (high - low)
    first = [float(t) for t in places if low - slack <= t <= low]
    last = [float(t) for t in places if high <= t <= high + slack]
    return (first[-1] if first else low), (last[0] if last else high)


def _draw(axes: Axes, mark: object, name: str) -> None:
    label = name or "_nolegend_"
    if isinstance(mark, Line):
        _line(axes, mark, label)
    elif isinstance(mark, Level):
        across = axes.axvline if mark.axis == "x" else axes.axhline
        dash: Literal["--", "-"] = "--" if mark.dashed else "-"
        across(mark.value, color=mark.color, linewidth=mark.width, linestyle=dash, label=label)
    elif isinstance(mark, Band):
        axes.fill_between(
            mark.x, mark.low, mark.high, color=mark.color, alpha=mark.alpha, linewidth=0,
            label=label,
        )  # fmt: skip
    elif isinstance(mark, Bars):
        axes.bar(
            mark.left, mark.top, mark.right - mark.left, align="edge", color=mark.color,
            alpha=mark.alpha, label=label,
        )  # fmt: skip
    elif isinstance(mark, Segments):
        ends = np.column_stack([mark.x0, mark.y0, mark.x1, mark.y1]).reshape(-1, 2, 2)
        axes.add_collection(
            LineCollection(
                [*ends], colors=mark.color, linewidths=mark.width * _POINTS, capstyle="butt",
                label=label,
            )
        )  # fmt: skip
    elif isinstance(mark, Dots):
        _dots(axes, mark, label)


def _line(axes: Axes, mark: Line, label: str) -> None:
    """Draw a line of any number of samples; a long gap in them is one in the line."""
    values = total(mark.y)
    there = np.flatnonzero(np.isfinite(values))
    if not there.size:
        return
    for number, piece in enumerate(
        np.split(there, np.flatnonzero(np.diff(there) > LARGEST_GAP) + 1)
    ):
        share = max(round(_SAMPLES * piece.size / there.size), 4)
        shown = piece[extremes([values[piece]], share)]
        axes.plot(
            mark.x[shown], values[shown], color=mark.color, linewidth=mark.width * _POINTS,
            linestyle="--" if mark.dashed else "-",
            dashes=(5, 2.5) if mark.dashed else (None, None), solid_joinstyle="round",
            label="_nolegend_" if number else label,
        )  # fmt: skip


def _dots(axes: Axes, mark: Dots, label: str) -> None:
    marker = _MARKERS.get(mark.marker, "o")
    size = mark.size * _POINTS
    many = mark.x.size > _MANY
    if mark.values is not None:
        axes.scatter(
            mark.x, mark.y, c=mark.values, cmap="viridis_r", norm=color_norm(mark.values),
            rasterized=many, linewidths=0, marker=marker, s=size**2, alpha=mark.alpha, zorder=3,
            label=label,
        )  # fmt: skip
        return
    axes.plot(
        mark.x, mark.y, linestyle="", marker=marker, markersize=size, color=mark.color,
        markerfacecolor="white" if mark.hollow else mark.color,
        markeredgewidth=1.1 if mark.hollow else 0.0, alpha=mark.alpha, rasterized=many, zorder=3,
        label=label,
    )  # fmt: skip


def color_norm(values: F64) -> Normalize:
    """Return a scale of colours, over some decades if no value is negative."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return Normalize(0.0, 1.0)
    low, high = float(finite.min()), float(finite.max())
    if not high > low:
        return Normalize(low, low + 1.0)
    if low < 0.0:
        return Normalize(low, high)
    return LogNorm(max(float(finite[finite > 0.0].min()), high * _COLOR_DECADES), high)
