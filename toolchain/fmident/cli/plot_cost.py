"""``fmident plot-cost``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fmident.api.problems import load_problem
from fmident.api.run import RunContext
from fmident.cli.arguments import (
    assignments,
    overrides_of,
    plugins_of,
    refuse_other_pictures,
)
from fmident.cli.console import say, tell
from fmident.cli.usage import UsageError
from fmident.evaluation.cost_map import CostMap, cost_map, pairs_of
from fmident.files import save
from fmident.problem.model import Problem
from fmident.progress.watch import watching
from fmident.report.figures.cost_map import draw_cost_maps
from fmident.report.result_json import read_result
from fmident.views import stacked
from fmident.words import plain

_MOST, _FEWEST_GRID, _SHOWN = 4, 3, 5


def run(arguments: argparse.Namespace) -> int:
    """Simulate the grid, draw it, print the minima."""
    if arguments.grid < _FEWEST_GRID:
        raise UsageError(f"--grid must be at least {_FEWEST_GRID}, not {arguments.grid}")
    refuse_other_pictures(arguments.output)
    ranges = {k: _range(k, v) for k, v in assignments(arguments.range, "--range").items()}
    overrides = overrides_of(arguments)
    host = plugins_of(arguments)
    problem = load_problem(arguments.problem, host=host, overrides=overrides, report=tell)
    names = _chosen(problem, arguments.parameters)
    estimates = None
    if arguments.result is not None:
        estimates = read_result(arguments.result).result.values
    context = RunContext(host, tell)
    with watching(notebook=False) as watch, context.evaluator(problem) as (evaluator, _):
        evaluator.activities.listener = watch.activity
        maps = [
            cost_map(evaluator, pair, grid=arguments.grid, through=estimates, ranges=ranges)
            for pair in pairs_of(names)
        ]
    if arguments.csv is not None:
        _write(maps, arguments.csv)
    draw_cost_maps(maps, arguments.output, result=estimates)
    for one in maps:
        say(_summary(one))
    say(f"picture: {arguments.output}")
    return 0


def _chosen(problem: Problem, given: Sequence[str] | None) -> list[str]:
    """Return the parameters to draw; raises `UsageError` for too few or too many."""
    names = [q.name for q in problem.free] if given is None else list(given)
    if len(names) < 2:
        raise UsageError(
            f"a map needs two free parameters, not {len(names)}", hint="--parameters NAME NAME"
        )
    if len(names) > _MOST:
        raise UsageError(
            f"{len(names)} parameters have {len(names) * (len(names) - 1) // 2} pairs",
            hint=f"choose two to {_MOST} with --parameters: {', '.join(names)}",
        )
    if len(set(names)) < len(names):
        raise UsageError("--parameters names one twice")
    return names


def _range(name: str, text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        raise UsageError(
            f"--range {name}={text} is not understood", hint=f"write --range {name}=LOW:HIGH"
        ) from None
    return low, high


def _summary(one: CostMap) -> str:
    failed = int(np.count_nonzero(~np.isfinite(one.costs)))
    count = len(one.minima)
    lines = [
        f"{one.first.name}, {one.second.name}: {one.costs.size} points"
        + (f", {failed} of which could not be simulated" if failed else "")
        + f", {count} local minim{'um' if count == 1 else 'a'} on the grid"
    ]
    for minimum in one.minima[:_SHOWN]:
        lines.append(
            f"  {one.first.name} = {plain(minimum.first)}, {one.second.name} = "
            f"{plain(minimum.second)}: cost {plain(minimum.cost)}"
            + (", on the edge" if minimum.at_edge else "")
        )
    if count > _SHOWN:
        lines.append(f"  and {count - _SHOWN} more")
    return "\n".join(lines)


def _write(maps: Sequence[CostMap], path: Path) -> None:
    parts = []
    for one in maps:
        first, second = np.meshgrid(one.first.values, one.second.values)
        names = {"first": one.first.name, "second": one.second.name}
        values = {"first_value": first.ravel(), "second_value": second.ravel()}
        parts.append(names | values | {"cost": one.costs.ravel()})
    table = stacked(parts)
    save(path, lambda stream: table.to_csv(stream, index=False, float_format="%.12g"))
