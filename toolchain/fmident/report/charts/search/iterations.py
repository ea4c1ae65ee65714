"""How cost and parameters went over the iterations, and where several starts ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.report.charts import colors
from fmident.report.charts.chart import Axis, Chart, Dots, Level, Line, Mark, Panel
from fmident.report.charts.ranges import log_range, padded
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.result import EstimationResult

_MOST_STARTS = 60
_HEIGHT, _PARAMETER = 220, 130


def searches(history: Sequence[Iteration]) -> list[list[float]]:
    """Return the finite costs of each start in order; those of the last stage only."""
    found: dict[float, list[float]] = {}
    stage = history[-1].stage if history else ""
    for state in history:
        if state.stage != stage:  # its cost may be another
            continue
        cost = state.details.get("local_cost", state.cost)
        costs = found.setdefault(state.details.get("start", 1.0), [])
        if np.isfinite(cost):
            costs.append(cost)
    return [costs for costs in found.values() if costs]


def cost_chart(history: Sequence[Iteration]) -> Chart | None:
    """Return the cost over the iterations; of several starts one line each.

    Returns
    -------
    Chart or None
        ``None`` when there are fewer than two iterations with a finite cost.
    """
    lines = searches(history)
    if sum(len(costs) for costs in lines) < 2:
        return None
    best = min(range(len(lines)), key=lambda k: min(lines[k]))
    drawn = [k for k in range(len(lines)) if k != best][: _MOST_STARTS - 1]
    alone = len(lines) == 1
    marks: list[Mark] = []
    for k in [*drawn, best]:
        costs = np.array(lines[k])
        name = "cost" if alone else "best start" if k == best else "other starts"
        color = colors.FITTED if k == best else colors.MEASURED
        numbers = np.arange(costs.size, dtype=np.float64)
        marks.append(Line(numbers, costs, color, name, width=1.4 if k == best else 0.9))
        if k == best:
            marks.append(Dots(numbers, costs, color, name, size=5.0))
    every = np.concatenate([np.array(costs) for costs in lines])
    axis, log = log_range(every)
    last = float(max(len(costs) for costs in lines) - 1)
    label = "iteration" if alone else "iteration of each start"
    panel = Panel(
        Axis(*padded(0.0, last, 0.02), label, whole=True),
        Axis(*axis, "cost", log=log),
        marks,
        _HEIGHT,
    )
    return Chart([panel], "Cost over the iterations")


def path_chart(result: EstimationResult, most: int = 24) -> Chart | None:
    """Return the best parameters so far over the iterations of the last stage.

    Returns
    -------
    Chart or None
        ``None`` when there are fewer than two iterations.
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
    for j, e in enumerate(free[:most]):
        column = np.ascontiguousarray(path[:, j])
        seen = np.append(column[np.isfinite(column)], e.value)
        panels.append(
            Panel(
                Axis(*padded(0.0, numbers[-1], 0.02), "iteration", whole=True, link="iterations"),
                Axis(*padded(float(seen.min()), float(seen.max()), 0.12), unit_text(e.unit)),
                [
                    Level(e.value, colors.RESULT, "result", width=0.9, dashed=True),
                    Line(numbers, column, colors.FITTED, "best so far", width=1.4),
                    *(
                        [Dots(numbers, column, colors.FITTED, "best so far", size=4.0)]
                        if numbers.size <= 200
                        else []
                    ),
                ],
                _PARAMETER,
                e.name,
            )
        )
    return Chart(panels, "Parameters over the iterations", side_by_side=len(panels) > 1)


def starts_chart(result: EstimationResult, most: int = 24) -> Chart | None:
    """Return where the searches from several starts ended: costs in order, parameters over them.

    Returns
    -------
    Chart or None
        ``None`` when there was one start.
    """
    local = _local_results(result.settings)
    free = [e for e in result.estimates if e.searched]
    if len(local) < 2 or any(len(p) != len(free) for _, p in local):
        return None
    local.sort(key=lambda one: one[0])
    costs = np.array([cost for cost, _ in local])
    values = np.array([p for _, p in local], dtype=np.float64)
    ranks = np.arange(1.0, costs.size + 1.0)
    axis, log = log_range(costs)
    rank = Axis(*padded(1.0, ranks[-1], 0.04), "start, from the best", whole=True, link="starts")
    panels = [
        Panel(
            rank,
            Axis(*axis, "cost", log=log),
            [Dots(ranks, costs, colors.FITTED, size=6.0, hover=[("start", "x"), ("cost", "y")])],
            _HEIGHT,
            "Cost",
        )
    ]
    for j, e in enumerate(free[:most]):
        column: F64 = np.ascontiguousarray(values[:, j])
        seen = np.append(column[np.isfinite(column)], e.value)
        panels.append(
            Panel(
                rank,
                Axis(*padded(float(seen.min()), float(seen.max()), 0.1), unit_text(e.unit)),
                [
                    Level(e.value, colors.RESULT, width=0.9, dashed=True),
                    Dots(
                        ranks,
                        column,
                        colors.FITTED,
                        size=6.0,
                        extra={"cost": costs},
                        hover=[("start", "x"), (e.name, "y"), ("cost", "cost")],
                    ),
                ],
                _HEIGHT,
                e.name,
            )
        )
    return Chart(panels, "Where each start ended: cost and parameters", side_by_side=True)


def _local_results(settings: Mapping[str, Any]) -> list[tuple[float, list[float]]]:
    found: list[tuple[float, list[float]]] = []
    for one in settings.get("local_results", ()):
        values = one.get("parameters")
        values = list(values.values()) if isinstance(values, Mapping) else values
        if values is not None and np.isfinite(one.get("cost", np.nan)):
            found.append((float(one["cost"]), [float(v) for v in values]))
    return found
