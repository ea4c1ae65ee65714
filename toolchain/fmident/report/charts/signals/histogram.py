"""The distribution of all whitened residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Bars, Chart, Line, Panel

if TYPE_CHECKING:
    from fmident.estimation.result import OutputFit

_BARS, _HEIGHT = 60, 220


def whitened(fit: OutputFit) -> F64:
    """Return residuals over their standard deviation, shape (n,); NaN where missing."""
    with np.errstate(all="ignore"):
        found: F64 = (fit.measured - fit.fitted) / np.broadcast_to(fit.sigma, fit.times.shape)
    return found


def histogram_chart(fits: Sequence[OutputFit]) -> Chart | None:
    """Return the histogram of all whitened residuals with the standard normal density.

    Returns
    -------
    Chart or None
        ``None`` when there is no residual.
    """
    parts = [whitened(fit) for fit in fits]
    every = np.concatenate(parts) if parts else np.empty(0)
    panel = histogram_panel(every[np.isfinite(every)], _HEIGHT)
    if panel is None:
        return None
    return Chart([panel], "Histogram of the whitened residuals with the standard normal density")


def histogram_panel(values: F64, height: int, title: str = "") -> Panel | None:
    """Return the histogram of finite values with the standard normal density."""
    if values.size < 2:
        return None
    reach = float(np.clip(np.max(np.abs(values)), 3.5, 6.0))
    counts, edges = np.histogram(np.clip(values, -reach, reach), _BARS, (-reach, reach))
    density = counts / (values.size * np.diff(edges))
    grid = np.linspace(-reach, reach, 241)
    normal = np.exp(-0.5 * grid**2) / np.sqrt(2.0 * np.pi)
    top = 1.08 * float(max(density.max(), normal.max()))
    return Panel(
        Axis(-reach, reach, "residual / standard deviation"),
        Axis(0.0, top, "density"),
        [
            Bars(
                edges[:-1].copy(), edges[1:].copy(), density, "#bccbdc", "residuals",
                hover=[("from", "left"), ("to", "right"), ("density", "top")],
            ),
            Line(grid, normal, colors.FITTED, "standard normal", width=1.4),
        ],
        height,
        title,
    )  # fmt: skip
