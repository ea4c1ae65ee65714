"""Replicates of a bootstrap: their distribution, one parameter at a time and in pairs."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Bars, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.charts.ranges import padded, with_unit
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.resampling import BootstrapParameter, BootstrapResult

_HEIGHT, _PAIR_HEIGHT = 220, 280
_MOST_PAIRS = 6
_SAMPLES = 201


def replicates_chart(result: BootstrapResult) -> Chart:
    """Return the histogram of each parameter, with the linearised density."""
    panels = [
        _histogram(parameter, result.replicates[:, j])
        for j, parameter in enumerate(result.parameters)
    ]
    words = "Histograms of the replicates, with the linearised densities and the BCa intervals"
    return Chart(panels, words, side_by_side=True)


def pairs_chart(result: BootstrapResult) -> Chart | None:
    """Return the replicates of the pairs of greatest correlation; ``None`` without a pair."""
    pairs = sorted(
        combinations(range(len(result.parameters)), 2),
        key=lambda pair: -np.nan_to_num(abs(result.correlation[pair])),
    )[:_MOST_PAIRS]
    if not pairs:
        return None
    panels = []
    for i, j in pairs:
        x, y = result.replicates[:, i], result.replicates[:, j]
        first, second = result.parameters[i], result.parameters[j]
        panels.append(
            Panel(
                Axis(*_ends(x), _label(first), link=f"replicates of {first.name}"),
                Axis(*_ends(y), _label(second)),
                [
                    Dots(
                        x, y, colors.FITTED, "replicates", size=3.5, alpha=0.5,
                        hover=[(first.name, "x"), (second.name, "y")],
                    ),
                    Dots(
                        np.array([first.value]), np.array([second.value]), colors.RESULT,
                        "estimate", size=8.0, marker="x", hollow=True,
                    ),
                ],
                _PAIR_HEIGHT,
                f"correlation {round(float(result.correlation[i, j]), 2) + 0.0:.2f}",
            )
        )  # fmt: skip
    return Chart(panels, "Replicates of the pairs of greatest correlation", side_by_side=True)


def _histogram(parameter: BootstrapParameter, values: np.ndarray) -> Panel:
    low, high = _ends(values)
    count = int(np.clip(2.0 * values.size ** (1.0 / 3.0), 8, 60))
    heights, edges = np.histogram(values, count)
    width = float(edges[1] - edges[0]) or 1.0
    density = heights / (values.size * width)
    top = float(density.max())
    marks: list[Mark] = [
        Bars(
            edges[:-1].copy(), edges[1:].copy(), density, "#bccbdc", "replicates",
            hover=[("from", "left"), ("to", "right"), ("density", "top")],
        )
    ]  # fmt: skip
    error = parameter.linearised_error
    if math.isfinite(error) and error > 0.0:
        grid = np.linspace(low, high, _SAMPLES)
        normal = np.exp(-0.5 * ((grid - parameter.value) / error) ** 2)
        normal /= error * math.sqrt(2.0 * math.pi)
        marks.append(Line(grid, normal, colors.INITIAL, "linearised", width=1.4, dashed=True))
        top = max(top, float(normal.max()))
    marks.append(Level(parameter.value, colors.RESULT, "estimate", axis="x"))
    marks += [
        Level(end, colors.END, "end of the BCa interval", axis="x")
        for end in parameter.bca
        if math.isfinite(end)
    ]
    axis = Axis(low, high, _label(parameter), link=f"replicates of {parameter.name}")
    return Panel(axis, Axis(0.0, 1.08 * top, "density"), marks, _HEIGHT)


def _ends(values: np.ndarray) -> tuple[float, float]:
    return padded(float(values.min()), float(values.max()))


def _label(parameter: BootstrapParameter) -> str:
    return with_unit(parameter.name, unit_text(parameter.unit))
