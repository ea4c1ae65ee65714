"""``fmident design``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from fmident.api.designs import design
from fmident.cli.arguments import plugins_of
from fmident.cli.console import say, tell
from fmident.designing import Design, DesignTask, SineDesign, SineSettings
from fmident.files import save
from fmident.progress.watch import watching
from fmident.report.terminal import Alignment, table
from fmident.words import plain, unit_text

_LINES = 12


def run(arguments: argparse.Namespace) -> int:
    """Design, write the CSV, and print the expected accuracy."""
    host = plugins_of(arguments)
    with watching(notebook=False) as watch:
        task, motion = design(arguments.design, host=host, report=tell, listener=watch.activity)
    output = arguments.output or arguments.design.with_name("excitation.csv")
    output.parent.mkdir(parents=True, exist_ok=True)
    _write(task, motion, output)
    if isinstance(motion, SineDesign):
        say(_sine_summary(task, motion))
        length = "a sine"
    else:
        say(_summary(task, motion))
        length = "one period"
    say(f"{output}: {motion.times.size} rows, {length} of {motion.times[-1]:g} s")
    return 0


def _write(task: DesignTask, design: Design | SineDesign, output: Path) -> None:
    frame = pd.DataFrame({"time [s]": design.times})
    for name, values in design.inputs.items():
        unit = task.units[name]
        frame[name if unit is None else f"{name} [{unit}]"] = values
    save(output, lambda stream: frame.to_csv(stream, index=False, float_format="%.12g"))


def _summary(task: DesignTask, design: Design) -> str:
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
