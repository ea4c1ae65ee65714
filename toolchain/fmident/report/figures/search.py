"""Charts of cost and parameters over the iterations, and of the ends of several starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Generation
from fmident.report.figures import style
from fmident.report.figures.chart import Axis, Band, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.figures.style import padded, with_unit
from fmident.words import plain, unit_text

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult, ParameterEstimate


_MOST_STARTS, _MOST_PANELS = 60, 24
_HEIGHT, _PARAMETER = 220, 130


MOST_PARAMETERS = 6
"""Parameters drawn in pairs, at most; more would be too small to read."""

_GENERATIONS_HEIGHT, _PAIR = 250, 280
_MOST_DRAWN = 5000
_WIDE_RANGE = 100.0
_FEW = 200
_FAILED = "#c9ced6"


def searches(history: Sequence[Iteration]) -> list[list[float]]:
    """Return the finite costs of each start in order, for the last stage only."""
    costs_by_start: dict[float, list[float]] = {}
    stage = history[-1].stage if history else ""
    for state in history:
        if state.stage != stage:  # its cost may be another
            continue
        cost = state.details.get("local_cost", state.cost)
        costs = costs_by_start.setdefault(state.details.get("start", 1.0), [])
        if np.isfinite(cost):
            costs.append(cost)
    return [costs for costs in costs_by_start.values() if costs]


def cost_chart(history: Sequence[Iteration]) -> Chart | None:
    """Return the cost over the iterations, one line per start.

    It is ``None`` if fewer than two iterations have a finite cost.
    """
    lines = searches(history)
    if sum(len(costs) for costs in lines) < 2:
        return None
    return Chart([cost_panel(lines)], "Cost over the iterations")


def cost_panel(lines: Sequence[Sequence[float]]) -> Panel:
    """Return the costs of each start, the best one in front; see :func:`searches`."""
    best = min(range(len(lines)), key=lambda k: min(lines[k]))
    others = [k for k in range(len(lines)) if k != best][: _MOST_STARTS - 1]
    alone = len(lines) == 1
    marks: list[Mark] = []
    for k in [*others, best]:
        costs = np.array(lines[k])
        name = "cost" if alone else "best start" if k == best else "other starts"
        color = style.FITTED if k == best else style.MEASURED
        numbers = np.arange(costs.size, dtype=np.float64)
        marks.append(Line(numbers, costs, color, name, width=1.4 if k == best else 0.9))
        if k == best:
            marks.append(Dots(numbers, costs, color, name, size=5.0))
    last = float(max(len(costs) for costs in lines) - 1)
    label = "iteration" if alone else "iteration of each start"
    across = Axis(*padded(0.0, last, 0.02), label, whole=True)
    return Panel(across, Axis.over("cost", *lines, log=True), marks, _HEIGHT)


def path_chart(result: EstimationResult) -> Chart | None:
    """Return the best parameters over the iterations of the last stage.

    It is ``None`` if there are fewer than two iterations.
    """
    stage = result.history[-1].stage if result.history else ""
    history = [state for state in result.history if state.stage == stage]
    free = [e for e in result.estimates if e.searched]
    points = [np.asarray(s.parameters, dtype=np.float64) for s in history]
    if len(history) < 2 or any(p.size != len(free) for p in points):
        return None
    path = np.vstack(points)
    numbers = np.arange(len(history), dtype=np.float64)
    panels: list[Panel] = []
    across = Axis(*padded(0.0, numbers[-1], 0.02), "iteration", whole=True, link="iterations")
    for e, column in zip(free[:_MOST_PANELS], np.ascontiguousarray(path.T), strict=False):
        marks: list[Mark] = [
            Level(e.value, style.RESULT, "result", width=0.9, dashed=True),
            Line(numbers, column, style.FITTED, "best so far", width=1.4),
        ]
        if numbers.size <= _FEW:
            marks.append(Dots(numbers, column, style.FITTED, "best so far", size=4.0))
        down = Axis.over(unit_text(e.unit), column, e.value, share=0.12)
        panels.append(Panel(across, down, marks, _PARAMETER, e.name))
    return Chart(panels, "Parameters over the iterations", side_by_side=len(panels) > 1)


def starts_chart(result: EstimationResult) -> Chart | None:
    """Return the ends of the searches: sorted costs, and the parameters over them.

    It is ``None`` if there was only one start.
    """
    local = _local_results(result.settings)
    free = [e for e in result.estimates if e.searched]
    if len(local) < 2 or any(len(p) != len(free) for _, p in local):
        return None
    local.sort(key=lambda one: one[0])
    costs = np.array([cost for cost, _ in local])
    values = np.array([p for _, p in local], dtype=np.float64)
    ranks = np.arange(1.0, costs.size + 1.0)
    rank = Axis(*padded(1.0, ranks[-1], 0.04), "start, from the best", whole=True, link="starts")
    dots = Dots(ranks, costs, style.FITTED, hover=[("start", "x"), ("cost", "y")])
    panels = [Panel(rank, Axis.over("cost", costs, log=True), [dots], _HEIGHT, "Cost")]
    for e, column in zip(free[:_MOST_PANELS], np.ascontiguousarray(values.T), strict=False):
        hover = [("start", "x"), (e.name, "y"), ("cost", "cost")]
        marks: list[Mark] = [
            Level(e.value, style.RESULT, width=0.9, dashed=True),
            Dots(ranks, column, style.FITTED, extra={"cost": costs}, hover=hover),
        ]
        down = Axis.over(unit_text(e.unit), column, e.value, share=0.1)
        panels.append(Panel(rank, down, marks, _HEIGHT, e.name))
    return Chart(panels, "Where each start ended: cost and parameters", side_by_side=True)


def _local_results(settings: Mapping[str, Any]) -> list[tuple[float, list[float]]]:
    results: list[tuple[float, list[float]]] = []
    for one in settings.get("local_results", ()):
        values = one.get("parameters")
        values = list(values.values()) if isinstance(values, Mapping) else values
        if values is not None and np.isfinite(one.get("cost", np.nan)):
            results.append((float(one["cost"]), [float(v) for v in values]))
    return results


def by_stage(
    result: EstimationResult,
) -> list[tuple[str, list[Generation], list[ParameterEstimate]]]:
    """Return name, generations and searched parameters of each stage.

    Stages have different costs, which are not comparable. Without stages there is one group
    with an empty name. The generations have the columns of the searched parameters only,
    and the parameters go from the first vector of the stage to its result.
    """
    free = [e for e in result.estimates if e.searched]
    values_by_stage = {s.name: s.parameters for s in result.stages}
    groups: list[tuple[str, list[Generation], list[ParameterEstimate]]] = []
    for stage in dict.fromkeys(g.stage for g in result.generations):
        own = [g for g in result.generations if g.stage == stage]
        if not stage:
            groups.append((stage, own, free))
            continue
        columns = [k for k, e in enumerate(free) if e.name in values_by_stage[stage]]
        reduced = [Generation.of(g.points[:, columns], g.costs, stage) for g in own]
        points = np.vstack([g.points for g in reduced])
        searched = [
            # The bounds are those of the last stage that searched it; another may have had wider.
            dataclasses.replace(
                free[k],
                initial=float(points[0, j]),
                value=values_by_stage[stage][free[k].name],
                lower=min(free[k].lower, float(points[:, j].min())),
                upper=max(free[k].upper, float(points[:, j].max())),
            )
            for j, k in enumerate(columns)
        ]
        groups.append((stage, reduced, searched))
    return groups


def generations_chart(generations: Sequence[Generation]) -> Chart | None:
    """Return the best cost so far, and median and spread of each generation.

    The first of the `generations` is the initial point. It is ``None`` if there are fewer
    than two.
    """
    if len(generations) < 2:
        return None
    numbers = np.arange(len(generations), dtype=np.float64)
    rows = np.array([quantiles(g.costs) for g in generations])
    lowest = [np.min(g.costs, initial=np.inf) for g in generations]
    best = np.minimum.accumulate(np.array(lowest))
    low, median, high = (np.ascontiguousarray(column) for column in rows.T)
    marks: list[Mark] = [
        Band(numbers, low, high, style.SPREAD, "5 % to 95 %"),
        Line(numbers, median, style.RESIDUAL, "median", width=1.2),
        Line(numbers, best, style.FITTED, "best so far", width=1.6),
    ]
    across = Axis(0.0, float(numbers[-1]), "generation", whole=True)
    panel = Panel(across, Axis.over("cost", best, rows, log=True), marks, _GENERATIONS_HEIGHT)
    return Chart([panel], "Best cost so far, median and spread over the generations")


def population_chart(
    generations: Sequence[Generation], parameters: Sequence[ParameterEstimate]
) -> tuple[Chart, str] | None:
    """Return all evaluated vectors over each pair of parameters, coloured by cost.

    With one parameter, the cost is drawn over it. A parameter whose bounds span decades has a
    logarithmic axis.

    Parameters
    ----------
    generations
        In order.
    parameters
        The free ones, in the order of the vectors; the first :data:`MOST_PARAMETERS` are drawn.

    Returns
    -------
    chart : Chart
        A panel for each pair.
    colours : str
        What the colours mean; empty with one parameter.
    None
        No vector has a finite cost.
    """
    points = np.vstack([g.points for g in generations])
    costs = np.concatenate([g.costs for g in generations])
    if not bool(np.isfinite(costs).any()) or not parameters:
        return None
    points, costs = thinned(points, costs, _MOST_DRAWN)
    finite = np.isfinite(costs)
    words = "All evaluated vectors over pairs of parameters, coloured by cost"
    columns = [np.ascontiguousarray(points[finite, j]) for j in range(points.shape[1])]
    good = costs[finite]
    if len(parameters) == 1:
        return Chart([_over_one(columns[0], good, parameters[0])], words), ""
    failed = [np.ascontiguousarray(points[~finite, j]) for j in range(points.shape[1])]
    low, high = color_limits(costs)
    shown = np.clip(good, low, high)
    panels = []
    count = min(len(parameters), MOST_PARAMETERS)
    for row in range(1, count):
        for column in range(row):
            first, second = parameters[column], parameters[row]
            names = [(first.name, "x"), (second.name, "y"), ("cost", "cost")]
            marks: list[Mark] = []
            if failed[0].size:
                marks.append(
                    Dots(failed[column], failed[row], _FAILED, "failed", size=5.0, marker="x")
                )
            marks.append(
                Dots(
                    columns[column], columns[row], "#21918c", "simulated", size=4.5, values=shown,
                    hover=names, extra={"cost": good},
                )
            )  # fmt: skip
            marks += [
                _place(first.initial, second.initial, style.INITIAL, "initial", "square", 8.0),
                _place(first.value, second.value, style.RESULT, "result", "star", 13.0),
            ]
            panels.append(Panel(_axis(first), _axis(second), marks, _PAIR))
    chart = Chart(panels, words, side_by_side=len(panels) > 1)
    return chart, f"Light: cost {plain(low, 3)}; dark: {plain(high, 3)} and more."


def has_log_axis(parameter: ParameterEstimate) -> bool:
    """Return whether the bounds of a parameter span so much that a log axis is needed."""
    low, high = parameter.lower, parameter.upper
    return bool(low > 0.0 and np.isfinite(high) and high >= _WIDE_RANGE * low)


def quantiles(costs: F64) -> F64:
    """Return the 5 %, 50 % and 95 % quantiles of the finite costs, shape (3,); NaN if none."""
    finite = costs[np.isfinite(costs)]
    if finite.size == 0:
        return np.full(3, np.nan)
    quantile_values: F64 = np.quantile(finite, [0.05, 0.5, 0.95])
    return quantile_values


def thinned(points: F64, costs: F64, most: int) -> tuple[F64, F64]:
    """Return at most `most` vectors, ordered so that good ones are drawn last."""
    order = np.argsort(-costs, kind="stable")
    points, costs = points[order], costs[order]
    if costs.size > most:
        keep = np.unique(np.linspace(0, costs.size - 1, most).astype(np.intp))
        points, costs = points[keep], costs[keep]
    return points, costs


def color_limits(costs: F64) -> tuple[float, float]:
    """Return the range of the colour scale; both ends are positive if it can be logarithmic."""
    finite = costs[np.isfinite(costs)]
    low, high = float(finite.min()), float(np.quantile(finite, 0.98))
    if low > 0.0 and high > low:
        # What lies many decades below differs in no way that matters here.
        return max(low, 1e-8 * high), high
    positive = finite[finite > 0.0]
    if positive.size and high > 0.0:
        return max(float(positive.min()), 1e-8 * high), high
    return low, high if high > low else low + 1.0


def _place(x: float, y: float, color: str, name: str, marker: str, size: float) -> Dots:
    hover = [("x", "x"), ("y", "y")]
    return Dots(np.array([x]), np.array([y]), color, name, size, marker, hover=hover)


def _axis(parameter: ParameterEstimate) -> Axis:
    low, high = parameter.lower, parameter.upper
    label = with_unit(parameter.name, parameter.unit)
    if has_log_axis(parameter):
        margin = (high / low) ** 0.03
        return Axis(low / margin, high * margin, label, log=True)
    return Axis(*padded(low, high, 0.03), label)


def _over_one(values: F64, costs: F64, parameter: ParameterEstimate) -> Panel:
    name = parameter.name
    return Panel(
        _axis(parameter),
        Axis.over("cost", costs, log=True),
        [
            Dots(
                values, costs, style.FITTED, "simulated", size=4.5,
                hover=[(name, "x"), ("cost", "y")],
            ),
            Level(parameter.initial, style.INITIAL, "initial", axis="x", dashed=True),
            Level(parameter.value, style.RESULT, "result", axis="x"),
        ],
        _GENERATIONS_HEIGHT,
    )  # fmt: skip
