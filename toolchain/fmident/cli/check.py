"""``fmident check`` and ``fmident design``."""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

from fmident.api.checks import check, design
from fmident.api.problems import load_problem
from fmident.checking import GlobalMethod, check_html, check_page
from fmident.cli.arguments import overrides_of, plugins_of, write_json
from fmident.cli.console import out, say, tell, width
from fmident.cli.usage import UsageError
from fmident.designing import Design, DesignTask, SineDesign, SineSettings
from fmident.files import save
from fmident.progress.watch import watching
from fmident.report.terminal import Alignment, table
from fmident.words import plain, unit_text

_LINES = 12


def run(arguments: argparse.Namespace) -> int:
    """Check and print the page; 1 if the problem cannot be estimated."""
    method = _method(arguments)
    overrides = overrides_of(arguments)
    host = plugins_of(arguments)
    problem = load_problem(
        arguments.problem,
        host=host,
        overrides=overrides,
        # The problem's own notes are among the findings.
        report=lambda found: tell(d for d in found if d.rule is None),
    )
    with watching(only_blocks=True, notebook=False) as watch:
        report = check(
            problem,
            host=host,
            quick=arguments.quick,
            global_method=method,
            listener=watch.activity,
        )
    out(check_page(report, width()))
    write_json(arguments.json, report.to_dict())
    if arguments.report is not None:
        save(arguments.report, check_html(report))
        say(f"report: {arguments.report}")
    return 0 if report.can_be_estimated else 1


def _method(arguments: argparse.Namespace) -> GlobalMethod | None:
    """Return the method for global sensitivities, if requested."""
    if arguments.global_method is None:
        if arguments.samples is not None:
            raise UsageError(
                "--samples belongs to --global-method", hint="add --global-method sobol"
            )
        return None
    return GlobalMethod(arguments.global_method, arguments.samples, arguments.seed)


def run_design(arguments: argparse.Namespace) -> int:
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
