"""``fmident design``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import out, tell_all

if TYPE_CHECKING:
    from fmident.design import Design, DesignTask

HELP = "find a motion that tells the parameters apart"
EXAMPLE = """\
  fmident design design.toml -o excitation.csv

The file has [model] and [parameters] as in a problem file, [outputs] with the standard
deviation of each, [design] and [[axes]]. The CSV holds one period of the motion."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("design", type=Path, help="the design file (TOML)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="CSV", help="write the motion (excitation.csv)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Design, write the CSV, say what it promises."""
    from fmident import api
    from fmident.plugins import load_plugins

    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    task, design = api.design(arguments.design, host=host, report=tell_all)
    output = arguments.output or arguments.design.with_name("excitation.csv")
    output.parent.mkdir(parents=True, exist_ok=True)
    _write(task, design, output)
    out(_summary(task, design))
    out(f"{output}: {design.times.size} rows, one period of {task.settings.period:g} s")
    return 0


def _write(task: DesignTask, design: Design, output: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"time [s]": design.times})
    for name, values in design.inputs.items():
        unit = task.units[name]
        frame[name if unit is None else f"{name} [{unit}]"] = values
    frame.to_csv(output, index=False, float_format="%.12g")


def _summary(task: DesignTask, design: Design) -> str:
    from fmident.report.numbers import plain
    from fmident.report.terminal import table, unit_text

    rows = []
    for q, found, first in zip(
        task.problem.free, design.standard_errors, design.first[0], strict=True
    ):
        rows.append(
            [q.name, plain(q.initial), plain(float(found), 3), unit_text(q.unit), plain(first, 3)]
        )
    header = ["parameter", "expected", "standard error", "unit", "best random motion"]
    lines = [table(header, rows, ["<", ">", ">", "<", ">"]), ""]
    lines.append(f"condition number {design.condition:.3g} (random: {design.first[1]:.3g})")
    for axis, peaks in zip(task.axes, design.peaks, strict=True):
        name = axis.position or axis.speed or axis.acceleration
        lines.append(f"{name}: speed up to {peaks[1]:.4g}, acceleration up to {peaks[2]:.4g}")
    return "\n".join(lines)
