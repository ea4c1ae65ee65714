"""The plots of the HTML report, as SVG.

A line of many samples is drawn through the smallest and the largest sample of each
narrow strip: it looks the same at a fraction of the size, and no peak is lost.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter

from fmident.arrays import F64
from fmident.report.charts.ranges import with_unit
from fmident.report.charts.search.iterations import searches
from fmident.report.charts.signals.fits import excerpt, excluded_marks, focus
from fmident.report.charts.signals.histogram import whitened
from fmident.report.numbers import plain
from fmident.report.plots import style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import OutputFit

_WIDTH, _FIT_HEIGHT, _SMALL_HEIGHT = 10.6, 4.6, 2.9
_EXCERPT_HEIGHT = 2.3
_WIDE, _WIDER = 3.2, 4.0
"""Widths of the measured line in the whole plot and in the excerpt."""

_NEAR_LABEL = 0.02
_LARGEST_GAP = 20
"""More missing samples than this in a row leave a gap in the line."""


def fit_plot(fit: OutputFit, strips: int = 900, *, with_excerpt: bool = True) -> bytes:
    """Draw measured, initial and fitted over time, residuals below, then an excerpt.

    The excerpt shows the stretch in which the fit moved the simulation most.

    Parameters
    ----------
    fit
        One output of one experiment.
    strips
        Number of strips over the width; each line has at most twice as many points.
    with_excerpt
        Whether to draw the excerpt; a short signal needs none.

    Returns
    -------
    bytes
        An SVG document.
    """
    part = excerpt(fit) if with_excerpt else None
    with mpl.rc_context(style.STYLE):
        height = _FIT_HEIGHT if part is None else _FIT_HEIGHT + _EXCERPT_HEIGHT
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        ratios = [2.2, 1.0] if part is None else [2.2, 1.0, 1.9]
        panels = figure.subplots(len(ratios), 1, height_ratios=ratios)
        top, bottom = panels[0], panels[1]
        bottom.sharex(top)
        top.tick_params(labelbottom=False)
        draw_signals(top, fit, strips, _WIDE)
        top.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.1)
        draw_residual(bottom, fit, strips)
        if part is not None:
            begin, end = float(fit.times[part][0]), float(fit.times[part][-1])
            top.axvspan(begin, end, color=style.INITIAL, alpha=0.14, linewidth=0)
            draw_signals(panels[2], _cut(fit, part), strips, _WIDER)
            panels[2].set_title("excerpt, shaded above", fontsize=9, color="#5b6673", loc="left")
        panels[-1].set_xlabel("time (s)")
        figure.align_ylabels(panels)
        return style.svg_of(figure, f"{fit.experiment}/{fit.name}")


def residual_histogram(fits: Sequence[OutputFit]) -> bytes | None:
    """Draw the histogram of all whitened residuals with the standard normal density.

    Returns
    -------
    bytes or None
        ``None`` when there is no residual to draw.
    """
    parts = [whitened(fit) for fit in fits]
    every = np.concatenate(parts) if parts else np.empty(0)
    every = every[np.isfinite(every)]
    if every.size < 2:
        return None
    reach = float(np.clip(np.max(np.abs(every)), 3.5, 6.0))
    edges = np.linspace(-reach, reach, 61)
    inside = np.clip(every, -reach, reach)
    grid = np.linspace(-reach, reach, 241)
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(_WIDTH / 2, _SMALL_HEIGHT), layout="constrained")
        axes = figure.subplots()
        axes.hist(inside, bins=list(edges), density=True, color="#bccbdc", label="residuals")
        density = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)
        axes.plot(grid, density, color=style.FITTED, linewidth=1.3, label="standard normal")
        axes.set_xlabel("residual / standard deviation")
        axes.set_ylabel("density")
        axes.set_xlim(-reach, reach)
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)
        return style.svg_of(figure, "histogram")


def cost_history(history: Sequence[Iteration]) -> bytes | None:
    """Draw the cost over the iterations; of several starts one line each.

    Returns
    -------
    bytes or None
        ``None`` when there are fewer than two iterations with a finite cost.
    """
    lines = searches(history)
    if sum(len(costs) for costs in lines) < 2:
        return None
    with mpl.rc_context(style.STYLE):
        figure = Figure(figsize=(_WIDTH / 2, _SMALL_HEIGHT), layout="constrained")
        draw_costs(figure.subplots(), lines)
        return style.svg_of(figure, "history")


def draw_costs(axes: Axes, lines: Sequence[Sequence[float]]) -> None:
    """Draw the cost over the iterations of each start; see :func:`searches`."""
    best = min(range(len(lines)), key=lambda k: min(lines[k]))
    for k, costs in enumerate(lines):
        label = {best: "best start", int(best == 0): "other starts"}.get(k)
        axes.plot(
            costs,
            color=style.FITTED if k == best else style.MEASURED,
            linewidth=1.3 if k == best else 0.8,
            marker="o" if k == best else None,
            markersize=3.5,
            zorder=3 if k == best else 2,
            label=label,
        )
    lowest = min(min(costs) for costs in lines)
    if lowest > 0.0:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: plain(value, 3))
        axes.yaxis.set_minor_formatter(NullFormatter())
        if max(max(costs) for costs in lines) < 30.0 * lowest:
            axes.yaxis.set_minor_formatter(lambda value, _: plain(value, 3))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("iteration" if len(lines) == 1 else "iteration of each start")
    axes.set_ylabel("cost")
    if len(lines) > 1:
        axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=2, borderaxespad=0.1)


def envelope(times: F64, values: F64, strips: int) -> tuple[F64, F64]:
    """Return at most two samples per strip, the smallest and the largest, in order of time.

    Parameters
    ----------
    times, values
        Shape (n,), no NaN.
    strips
        Number of strips of equal sample count.
    """
    count = values.size
    if count <= 2 * strips:
        return times, values
    edges = np.linspace(0, count, strips + 1).astype(np.intp)
    keep = {0, count - 1}
    for start, end in itertools.pairwise(edges):
        part = values[start:end]
        keep.add(int(start + np.argmin(part)))
        keep.add(int(start + np.argmax(part)))
    index = np.array(sorted(keep), dtype=np.intp)
    return times[index], values[index]


def draw_line(
    axes: Axes,
    times: F64,
    values: F64,
    strips: int,
    color: str,
    label: str,
    *,
    width: float,
    dashed: bool = False,
) -> None:
    """Draw a line of any number of samples; a long gap in them is one in the line.

    Parameters
    ----------
    axes
        On which.
    times, values
        Shape (n,); NaN where a sample is missing.
    strips
        As of :func:`envelope`.
    color, label, width, dashed
        How it looks.
    """
    present = np.isfinite(values)
    where = np.flatnonzero(present)
    if where.size == 0:
        return
    breaks = np.flatnonzero(np.diff(where) > _LARGEST_GAP) + 1
    style = "--" if dashed else "-"
    for number, piece in enumerate(np.split(where, breaks)):
        share = max(round(strips * piece.size / where.size), 2)
        axes.plot(
            *envelope(times[piece], values[piece], share),
            color=color,
            label=label if number == 0 else None,
            linewidth=width,
            linestyle=style,
            dashes=(5, 2.5) if dashed else (None, None),
            solid_joinstyle="round",
        )


def draw_residual(axes: Axes, fit: OutputFit, strips: int = 900) -> None:
    """Draw the residual over time, and 1.96 standard deviations where they are constant."""
    residual = fit.measured - fit.fitted
    draw_line(axes, fit.times, residual, strips, style.RESIDUAL, "residual", width=0.6)
    axes.axhline(0.0, color=style.FITTED, linewidth=0.9, zorder=3)
    _noise_band(axes, fit)
    axes.set_ylabel(with_unit("residual", fit.unit), parse_math=False)


def draw_signals(axes: Axes, fit: OutputFit, strips: int = 900, wide: float = _WIDE) -> None:
    """Draw measured, initial and fitted over time."""
    # Wider and paler than the fit, so that it shows on both sides of one that is good.
    draw_line(axes, fit.times, fit.measured, strips, style.MEASURED, "measured", width=wide)
    draw_line(
        axes, fit.times, fit.initial, strips, style.INITIAL, "initial", width=0.9, dashed=True
    )
    draw_line(axes, fit.times, fit.fitted, strips, style.FITTED, "fitted", width=1.1)
    gone = excluded_marks(fit)
    if gone.times.size:
        axes.plot(
            gone.times,
            gone.values,
            "x",
            color=style.EXCLUDED,
            markersize=5.0,
            label=gone.name,
            zorder=4,
        )
    axes.set_ylim(*focus(fit))
    axes.set_ylabel(with_unit(fit.name, fit.unit), parse_math=False)
    if fit.times.size > 1:
        axes.set_xlim(*_to_labels(axes, float(fit.times[0]), float(fit.times[-1])))


def _to_labels(axes: Axes, begin: float, end: float) -> tuple[float, float]:
    """Return the limits of an axis, moved to a label that they just miss."""
    ticks = axes.xaxis.get_major_locator().tick_values(begin, end)
    slack = _NEAR_LABEL * (end - begin)
    first = [float(t) for t in ticks if begin - slack <= t <= begin]
    last = [float(t) for t in ticks if end <= t <= end + slack]
    return (first[-1] if first else begin), (last[0] if last else end)


def _cut(fit: OutputFit, part: slice) -> OutputFit:
    return dataclasses.replace(
        fit,
        times=fit.times[part],
        measured=fit.measured[part],
        initial=fit.initial[part],
        fitted=fit.fitted[part],
    )


def _noise_band(axes: Axes, fit: OutputFit) -> None:
    sigma = np.broadcast_to(fit.sigma, fit.times.shape)
    if not np.all(np.isfinite(sigma)) or fit.times.size < 2:
        return
    if np.ptp(sigma) == 0.0:
        band = 1.96 * float(sigma[0])
        for level in (-band, band):
            axes.axhline(level, color=style.FITTED, linewidth=0.9, linestyle="--", zorder=3)
