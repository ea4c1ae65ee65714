"""``fmident design``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell
from fmident.cli.usage import Command, plugins_of
from fmident.files import save

if TYPE_CHECKING:
    from fmident.designing import Design, DesignTask, SineDesign
    from fmident.report.terminal import Alignment

EXAMPLE = """\
  fmident design design.toml -o excitation.csv

The file has [model] and [parameters] as in a problem file, [outputs] with the standard
deviation of each, [design], and [[axes]] or [sine]. The CSV holds one period of the motion, or
the sine."""

_LINES = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("design", type=Path, help="the design file (TOML)")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="CSV", help="write the motion (excitation.csv)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Design, write the CSV, and print the expected accuracy."""
    from fmident import api
    from fmident.designing import SineDesign
    from fmident.progress import watching

    host = plugins_of(arguments)
    with watching(notebook=False) as watch:
        task, design = api.design(arguments.design, host=host, report=tell, listener=watch.activity)
    output = arguments.output or arguments.design.with_name("excitation.csv")
    output.parent.mkdir(parents=True, exist_ok=True)
    _write(task, design, output)
    if isinstance(design, SineDesign):
        say(_sine_summary(task, design))
        length = "a sine"
    else:
        say(_summary(task, design))
        length = "one period"
    say(f"{output}: {design.times.size} rows, {length} of {design.times[-1]:g} s")
    return 0


def _write(task: DesignTask, design: Design | SineDesign, output: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"time [s]": design.times})
    for name, values in design.inputs.items():
        unit = task.units[name]
        frame[name if unit is None else f"{name} [{unit}]"] = values
    save(output, lambda stream: frame.to_csv(stream, index=False, float_format="%.12g"))


def _summary(task: DesignTask, design: Design) -> str:
    from fmident.report.terminal import table, unit_text
    from fmident.words import plain

    rows = []
    for q, error, first in zip(
        task.problem.free, design.standard_errors, design.first[0], strict=True
    ):
        rows.append(
            [q.name, plain(q.initial), plain(float(error), 3), unit_text(q.unit), plain(first, 3)]
        )
    header = ["parameter", "expected", "standard error", "unit", "best random motion"]
    lines = [table(header, rows, ["<", ">", ">", "<", ">"]), ""]
    lines.append(f"condition number {design.condition:.3g} (random: {design.first[1]:.3g})")
    for axis, peaks in zip(task.axes, design.peaks, strict=True):
        name = axis.position or axis.speed or axis.acceleration
        lines.append(f"{name}: speed up to {peaks[1]:.4g}, acceleration up to {peaks[2]:.4g}")
    return "\n".join(lines)


def _sine_summary(task: DesignTask, design: SineDesign) -> str:
    from fmident.designing import SineSettings
    from fmident.report.terminal import table, unit_text

    natural = task.settings.natural if isinstance(task.settings, SineSettings) else None
    name, unit = next(iter(task.units.items()))
    step = -(-len(design.candidates) // _LINES)
    rows = []
    for number, c in enumerate(design.candidates):
        if number % step and c is not design.best:
            continue
        ratio = [] if natural is None else [f"{c.omega / natural:.4g}"]
        errors = [f"{e:.3g}" for e in c.standard_errors]
        last = "best" if c is design.best else ""
        rows.append([f"{c.omega:.5g}", *ratio, f"{c.amplitude:.4g}", *errors, last])
    header = ["omega [rad/s]", *([] if natural is None else ["ratio"])]
    titles = [("amplitude", unit)] + [(f"error of {q.name}", q.unit) for q in task.problem.free]
    header += [title if u is None else f"{title} [{unit_text(u)}]" for title, u in titles]
    align: list[Alignment] = [">" for _ in header]
    align.append("<")
    lines = [table([*header, ""], rows, align), ""]
    lines.append(
        f"{name} = {design.best.amplitude:.4g}*sin({design.best.omega:.5g}*t),"
        f" condition number {design.best.condition:.3g}"
    )
    return "\n".join(lines)


COMMANDS = {"design": Command(EXAMPLE, configure, run)}
