"""Draws from the posterior and replicates of a bootstrap: one parameter at a time, and in pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Bars, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.figures.style import with_unit
from fmident.words import unit_text

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, ParameterEstimate
    from fmident.resampling import BootstrapParameter, BootstrapResult

MOST_PARAMETERS = 6
"""Parameters that a page compares in pairs; more would be too small to read."""

_MOST_IN_CORNER = 10
_MOST_CHAINS, _MOST_DOTS = len(style.SERIES), 2000
_MOST_PAIRS = 6
_FEW = 500
_SAMPLES = 201
_TRACE, _HEIGHT, _PAIR = 150, 220, 270


def trace_chart(result: EstimationResult) -> Chart | None:
    """Return the traces of some chains, a panel per parameter; ``None`` without draws."""
    if result.draws is None or not result.draws.values.size:
        return None
    values = result.draws.values
    chains, draws = values.shape[:2]
    chosen = np.unique(np.linspace(0, chains - 1, min(chains, _MOST_CHAINS)).astype(np.intp))
    numbers = np.arange(1, draws + 1, dtype=np.float64)
    across = Axis(1.0, float(max(draws, 2)), "draw", whole=True, link="draws")
    panels = []
    for j, e in enumerate(_searched(result)):
        marks: list[Mark] = [
            Line(numbers, np.ascontiguousarray(values[k, :, j]), style.SERIES[i], width=0.8)
            for i, k in enumerate(chosen)
        ]
        marks.append(Level(e.value, style.RESULT, "median"))
        panels.append(Panel(across, Axis.over(_label(e), values[chosen, :, j]), marks, _TRACE))
    return Chart(panels, "Course of the draws of some chains, by parameter")


def pairs_chart(result: EstimationResult) -> Chart | None:
    """Return histograms of the first parameters and draws over pairs; ``None`` without draws."""
    if result.draws is None or not result.draws.values.size:
        return None
    return draws_corner(result, MOST_PARAMETERS)


def draws_corner(result: EstimationResult, most: int = _MOST_IN_CORNER) -> Chart:
    """Return histograms of the draws of the first parameters, and each pair of these."""
    assert result.draws is not None
    draws = result.draws.values.reshape(-1, result.draws.values.shape[2])
    parameters = _searched(result)[:most]
    intervals = [
        [Level(end, style.RESULT, "95 % interval", "x", dashed=True) for end in e.interval_95]
        for e in parameters
    ]
    return _corner(parameters, draws, "median", intervals)


def replicates_corner(result: BootstrapResult) -> Chart:
    """Return histograms of the replicates of the first parameters, and each pair of these."""
    parameters = result.estimates[:_MOST_IN_CORNER]
    return _corner(parameters, result.replicates, "estimate", [()] * len(parameters))


def _corner(
    parameters: Sequence[ParameterEstimate | BootstrapParameter],
    draws: F64,
    name: str,
    ends: Sequence[Sequence[Level]],
) -> Chart:
    """Return a corner of draws, shape (k, n); `name` is that of the value of each parameter."""
    panels = []
    for j, (parameter, levels) in enumerate(zip(parameters, ends, strict=True)):
        panel = _histogram(parameter, draws[:, j], "")
        marks = [*panel.marks, Level(parameter.value, style.RESULT, name, "x"), *levels]
        panels.append(replace(panel, marks=marks, height=_PAIR))
    for row in range(1, len(parameters)):
        panels += [_pair(parameters, draws, (column, row), name) for column in range(row)]
    return Chart(panels, "Histogram of each parameter, and each pair of parameters", corner=True)


def replicates_chart(result: BootstrapResult) -> Chart:
    """Return the histogram of each parameter, with the linearised density."""
    panels = []
    for j, parameter in enumerate(result.estimates):
        panel = _histogram(parameter, result.replicates[:, j], "replicates")
        marks, top = [*panel.marks], panel.y.high
        error = parameter.linearised_error
        if math.isfinite(error) and error > 0.0:
            grid = np.linspace(panel.x.low, panel.x.high, _SAMPLES)
            normal = np.exp(-0.5 * ((grid - parameter.value) / error) ** 2)
            normal /= error * math.sqrt(2.0 * math.pi)
            marks.append(Line(grid, normal, style.INITIAL, "linearised", width=1.4, dashed=True))
            top = max(top, 1.08 * float(normal.max()))
        marks.append(Level(parameter.value, style.RESULT, "estimate", axis="x"))
        marks += [
            Level(end, style.END, "end of the BCa interval", axis="x")
            for end in parameter.bca
            if math.isfinite(end)
        ]
        panels.append(replace(panel, y=Axis(0.0, top, "density"), marks=marks))
    words = "Histograms of the replicates, with the linearised densities and the BCa intervals"
    return Chart(panels, words, side_by_side=True)


def replicate_pairs_chart(result: BootstrapResult) -> Chart | None:
    """Return the replicates of the pairs of greatest correlation; ``None`` without a pair."""
    pairs = sorted(
        combinations(range(len(result.estimates)), 2),
        key=lambda pair: -np.nan_to_num(abs(result.correlation[pair])),
    )[:_MOST_PAIRS]
    if not pairs:
        return None
    panels = []
    for i, j in pairs:
        title = f"correlation {round(float(result.correlation[i, j]), 2) + 0.0:.2f}"
        panels.append(_pair(result.estimates, result.replicates, (i, j), "estimate", title))
    return Chart(panels, "Replicates of the pairs of greatest correlation", side_by_side=True)


def _histogram(parameter: ParameterEstimate | BootstrapParameter, values: F64, name: str) -> Panel:
    heights, edges = np.histogram(values, int(np.clip(2.0 * values.size ** (1.0 / 3.0), 8, 60)))
    density = heights / (values.size * (float(edges[1] - edges[0]) or 1.0))
    bars = Bars(
        edges[:-1].copy(), edges[1:].copy(), density, style.BARS, name,
        hover=[("from", "left"), ("to", "right"), ("density", "top")],
    )  # fmt: skip
    across = Axis.over(_label(parameter), values, link=f"draws of {parameter.name}")
    return Panel(across, Axis(0.0, 1.08 * float(density.max()), "density"), [bars], _HEIGHT)


def _pair(
    parameters: Sequence[ParameterEstimate | BootstrapParameter],
    draws: F64,
    pair: tuple[int, int],
    name: str,
    title: str = "",
) -> Panel:
    first, second = (parameters[k] for k in pair)
    some = draws[:: -(-len(draws) // _MOST_DOTS)]
    x, y = (np.ascontiguousarray(some[:, k]) for k in pair)
    return Panel(
        Axis.over(_label(first), draws[:, pair[0]], link=f"draws of {first.name}"),
        Axis.over(_label(second), draws[:, pair[1]]),
        [
            Dots(
                x, y, style.FITTED, size=3.0 if x.size > _FEW else 5.0, alpha=0.4,
                hover=[(first.name, "x"), (second.name, "y")],
            ),
            Level(first.value, style.RESULT, name, "x", width=0.8),
            Level(second.value, style.RESULT, name, width=0.8),
        ],
        _PAIR,
        title,
    )  # fmt: skip


def _searched(result: EstimationResult) -> list[ParameterEstimate]:
    return [e for e in result.estimates if e.searched]


def _label(parameter: ParameterEstimate | BootstrapParameter) -> str:
    return with_unit(parameter.name, unit_text(parameter.unit))
