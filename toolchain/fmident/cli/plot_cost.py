"""``fmident plot-cost``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell
from fmident.cli.usage import (
    Command,
    UsageError,
    assignments,
    override_option,
    overrides_of,
    plugins_of,
)
from fmident.files import save

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fmident.evaluation import ExecutorKind
    from fmident.evaluation.cost_map import CostMap
    from fmident.problem.model import Problem

EXAMPLE = """\
  fmident plot-cost problem.toml --parameters k m --grid 41 -o cost.png
  fmident plot-cost problem.toml --parameters k m --result results/problem

The other parameters are held at their initial values, or at those of --result. Of three or
more parameters every pair is drawn."""

_MOST, _FEWEST_GRID, _SHOWN = 4, 3, 5
_SUFFIXES = (".png", ".svg", ".pdf")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "--parameters",
        nargs="+",
        metavar="NAME",
        help="two or more free parameters; all of them when they are few",
    )
    parser.add_argument(
        "--grid", type=int, default=41, metavar="N", help="values of each parameter (default 41)"
    )
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="draw a parameter over this range instead of its bounds; may be repeated",
    )
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FOLDER",
        help="result of 'fmident estimate': marked, and holds the other parameters",
    )
    override_option("cost.smoothing=4").add(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=Path("cost.png"),
        metavar="FILE",
        help="PNG, SVG or PDF (default cost.png)",
    )
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all costs as a table, too")


def run(arguments: argparse.Namespace) -> int:
    """Simulate the grid, draw it, print the minima."""
    from fmident import api
    from fmident.report.figures.cost_map import draw_cost_maps
    from fmident.report.result_json import read_result

    if arguments.grid < _FEWEST_GRID:
        raise UsageError(f"--grid must be at least {_FEWEST_GRID}, not {arguments.grid}")
    if arguments.output.suffix not in _SUFFIXES:
        raise UsageError(
            f"'{arguments.output}' is none of {', '.join(_SUFFIXES)}",
            hint="choose the format by the suffix of --output",
        )
    ranges = {k: _range(k, v) for k, v in assignments(arguments.range, "--range").items()}
    overrides = overrides_of(arguments)
    host = plugins_of(arguments)
    problem = api.load_problem(arguments.problem, host=host, overrides=overrides, report=tell)
    names = _chosen(problem, arguments.parameters)
    estimates = None
    if arguments.result is not None:
        estimates = read_result(arguments.result).result.values
    maps = _maps(problem, names, arguments.grid, estimates, ranges, host.executors.by_name)
    if arguments.csv is not None:
        _write(maps, arguments.csv)
    draw_cost_maps(maps, arguments.output, result=estimates)
    for one in maps:
        say(_summary(one))
    say(f"picture: {arguments.output}")
    return 0


def _maps(
    problem: Problem,
    names: Sequence[str],
    grid: int,
    through: Mapping[str, float] | None,
    ranges: Mapping[str, tuple[float, float]],
    kinds: Mapping[str, ExecutorKind],
) -> list[CostMap]:
    from fmident.estimation.checks import check_survives
    from fmident.evaluation import Evaluator, make_executor, runs_in_this_process
    from fmident.evaluation.cost_map import cost_map, pairs_of
    from fmident.progress import watching

    if runs_in_this_process(problem, kinds):
        check_survives(problem)
    executor = make_executor(problem, kinds, warn=lambda diagnostic: tell([diagnostic]))
    with watching(notebook=False) as watch, Evaluator(problem, executor) as evaluator:
        evaluator.activities.listener = watch.activity
        return [
            cost_map(evaluator, pair, grid=grid, through=through, ranges=ranges)
            for pair in pairs_of(names)
        ]


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
    import numpy as np

    from fmident.words import plain

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
    import numpy as np
    import pandas as pd

    parts = []
    for one in maps:
        first, second = np.meshgrid(one.first.values, one.second.values)
        parts.append(
            pd.DataFrame(
                {
                    "first": one.first.name,
                    "second": one.second.name,
                    "first_value": first.ravel(),
                    "second_value": second.ravel(),
                    "cost": one.costs.ravel(),
                }
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    save(path, lambda stream: frame.to_csv(stream, index=False, float_format="%.12g"))


COMMANDS = {"plot-cost": Command(EXAMPLE, configure, run)}
