"""Draws of several parameters: histograms on the diagonal, pairs below it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fmident.arrays import F64
from fmident.report.numbers import plain
from fmident.report.plots import style

MOST = 10
"""Parameters that have room in one picture."""

_PANEL = 1.7
_MOST_DOTS = 5000

CORNER_STYLE: Any = {**style.STYLE, "font.size": 8.0, "axes.grid": False}


def draw_corner(labels: Sequence[str], draws: F64, estimate: Sequence[float], path: Path) -> None:
    """Draw all parameters against each other into one picture.

    Parameters
    ----------
    labels
        Names with units, n of them; of more than :data:`MOST` the first are drawn.
    draws
        Shape (draws, n).
    estimate
        Of the data themselves, marked in each panel, n numbers.
    path
        PNG, SVG or PDF, by its suffix.
    """
    count = min(len(labels), MOST)
    with mpl.rc_context(CORNER_STYLE):
        size = max(_PANEL * count, 4.0)
        figure = Figure(figsize=(size, size), layout="constrained")
        corner_on(figure.subplots(count, count, squeeze=False), labels, draws, estimate)
        style.write(figure, path)


def corner_on(
    panels: npt.NDArray[np.object_], labels: Sequence[str], draws: F64, estimate: Sequence[float]
) -> None:
    """Draw the first parameters against each other.

    Parameters
    ----------
    panels
        Axes, shape (k, k).
    labels, draws, estimate
        As of :func:`draw_corner`, with k parameters or more.
    """
    count = len(panels)
    bins = int(np.clip(2.0 * draws.shape[0] ** (1.0 / 3.0), 8, 40))
    some = draws[:: -(-len(draws) // _MOST_DOTS)]
    for i in range(count):
        for j in range(count):
            axes = panels[i, j]
            if j > i:
                axes.set_axis_off()
                continue
            if i == j:
                axes.hist(draws[:, j], bins=bins, color="#bccbdc")
                axes.set_yticks([])
            else:
                axes.plot(
                    some[:, j], some[:, i], ".", color=style.FITTED, markersize=2.0, alpha=0.5,
                    rasterized=True,
                )  # fmt: skip
                axes.axhline(estimate[i], color="#d1242f", linewidth=0.8)
                axes.yaxis.set_major_locator(MaxNLocator(3))
                axes.yaxis.set_major_formatter(lambda value, _: plain(value, 4))
            axes.axvline(estimate[j], color="#d1242f", linewidth=0.8)
            axes.xaxis.set_major_locator(MaxNLocator(3))
            axes.xaxis.set_major_formatter(lambda value, _: plain(value, 4))
            axes.tick_params(axis="x", labelrotation=45)
            axes.tick_params(labelbottom=i == count - 1, labelleft=j == 0 and i > 0)
            if i == count - 1:
                axes.set_xlabel(labels[j], parse_math=False)
            if j == 0 and i > 0:
                axes.set_ylabel(labels[i], parse_math=False)
