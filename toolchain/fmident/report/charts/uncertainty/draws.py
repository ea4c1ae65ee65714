"""Draws from the posterior: their course, and each pair of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Bars, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.charts.ranges import padded, with_unit

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

MOST_PARAMETERS = 6
"""So many are drawn over pairs; more would be too small to read."""

_MOST_CHAINS, _MOST_DOTS, _BINS = len(colors.SERIES), 2000, 40
_TRACE, _PAIR = 150, 260


def trace_chart(result: EstimationResult) -> Chart | None:
    """Return the course of some chains, a panel per parameter; ``None`` without draws."""
    found = result.draws
    if found is None or not found.values.size:
        return None
    chains, draws = found.values.shape[:2]
    chosen = np.unique(np.linspace(0, chains - 1, min(chains, _MOST_CHAINS)).astype(np.intp))
    numbers = np.arange(1, draws + 1, dtype=np.float64)
    panels = []
    for j, e in enumerate(e for e in result.estimates if e.searched):
        marks: list[Mark] = [
            Line(numbers, np.ascontiguousarray(found.values[k, :, j]), colors.SERIES[i], width=0.8)
            for i, k in enumerate(chosen)
        ]
        marks.append(Level(e.value, colors.RESULT, "median" if j == 0 else ""))
        ends = _ends(found.values[chosen, :, j])
        across = Axis(1.0, float(max(draws, 2)), "draw", whole=True, link="draws")
        panels.append(Panel(across, Axis(*ends, with_unit(e.name, e.unit)), marks, _TRACE))
    return Chart(panels, "Course of the draws of some chains, by parameter")


def pairs_chart(result: EstimationResult) -> Chart | None:
    """Return histograms of the parameters and draws over pairs; ``None`` without draws."""
    found = result.draws
    if found is None or not found.values.size:
        return None
    searched = [e for e in result.estimates if e.searched][:MOST_PARAMETERS]
    flat = found.values.reshape(-1, found.values.shape[2])
    some = flat[:: max(len(flat) // _MOST_DOTS, 1)]
    panels = []
    for j, e in enumerate(searched):
        density, edges = np.histogram(flat[:, j], bins=_BINS, density=True)
        low, high = e.interval_95
        marks: list[Mark] = [
            Bars(edges[:-1].copy(), edges[1:].copy(), density, colors.FITTED, alpha=0.5),
            Level(e.value, colors.RESULT, "median", axis="x"),
            Level(low, colors.RESULT, "95 % interval", axis="x", dashed=True),
            Level(high, colors.RESULT, axis="x", dashed=True),
        ]
        top = Axis(0.0, 1.05 * float(density.max()), "density", fixed=True)
        across = Axis(float(edges[0]), float(edges[-1]), with_unit(e.name, e.unit))
        panels.append(Panel(across, top, marks, _PAIR))
    columns = [np.ascontiguousarray(some[:, j]) for j in range(len(searched))]
    for row in range(1, len(searched)):
        for column in range(row):
            first, second = searched[column], searched[row]
            dots = Dots(
                columns[column],
                columns[row],
                colors.FITTED,
                size=3.0,
                alpha=0.35,
                hover=[(first.name, "x"), (second.name, "y")],
            )
            middle = Dots(
                np.array([first.value]), np.array([second.value]), colors.RESULT, "median"
            )
            panels.append(
                Panel(
                    Axis(*_ends(columns[column]), with_unit(first.name, first.unit)),
                    Axis(*_ends(columns[row]), with_unit(second.name, second.unit)),
                    [dots, middle],
                    _PAIR,
                )
            )
    return Chart(panels, "Draws over each pair of parameters, and their histograms", True)


def _ends(values: F64) -> tuple[float, float]:
    return padded(float(values.min()), float(values.max()))
