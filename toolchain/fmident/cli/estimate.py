"""``fmident estimate``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli import journalled
from fmident.cli.console import width
from fmident.cli.journalled import Shown, counted
from fmident.cli.usage import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fmident.api import Report
    from fmident.estimation.result import EstimationResult
    from fmident.plugins import Host
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter

HELP = "identify the parameters of a problem file"
EXAMPLE = """\
  fmident estimate problem.toml -o results
  fmident estimate problem.toml --set estimator.solver=scipy
  fmident estimate problem.toml -o results --resume
  logger | fmident estimate problem.toml --follow -

The result folder holds result.json, report.html, parameters.csv, fit.csv,
history.csv and problem.toml. It appears when it is complete. A result that is
there already is kept as NAME.1, NAME.2, ...; --force replaces it."""


_ADVICE = {
    "plateau": "no limit ended this run, so that --resume would lead to the same end: start from"
    " other initial values, or search the whole box with differential-evolution or cma-es",
    "jump": "no limit ended this run, so that --resume would lead to the same end: start where the"
    " note says that the cost is lower, or give several starts",
    "stuck": "no limit ended this run, so that --resume would lead to the same end: see why it"
    " stopped, and change that or the initial values",
}
"""What to do after an end that a higher limit does not change."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    journalled.configure(parser, setting="estimator.solver=scipy")
    parser.add_argument(
        "--export",
        action="append",
        default=[],
        choices=("modifier", "record", "ssv"),
        help="write the values into the result folder as Modelica or SSV, too; may be repeated",
    )
    parser.add_argument(
        "--hold-out",
        action="append",
        default=[],
        metavar="NAME",
        help="experiment that is not fitted, but predicted at the end; may be repeated",
    )
    parser.add_argument(
        "--follow",
        metavar="DATA",
        help="print estimates as samples arrive, from a CSV file that may still grow or from - "
        "(standard input); takes the place of the first experiment's data",
    )
    parser.add_argument(
        "--patience",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="with --follow: how long to wait for more at the end of a file (default 0)",
    )
    parser.add_argument(
        "--print-every",
        type=_positive,
        default=1,
        metavar="N",
        help="with --follow: print every N-th estimate only",
    )


def run(arguments: argparse.Namespace) -> int:
    """Estimate, write the result folder, print the summary; exit codes as of `execute`."""
    if arguments.follow is not None:
        from fmident.cli import follow

        overrides = journalled.overrides_of(arguments)
        if arguments.hold_out:
            raise UsageError("--hold-out does not go with --follow: data that pass are not kept")
        if arguments.resume:
            raise UsageError(
                "--resume does not go with --follow: following data leaves no journal",
                hint="leave --resume out; samples that have passed by must be fed again",
            )
        return follow.run(arguments, overrides)

    def describe(host: Host, report: Report) -> Shown[EstimationResult]:
        from fmident.api.estimates import EstimateRun
        from fmident.progress import Watch
        from fmident.report.terminal import summary

        watch = Watch()
        observers = () if arguments.quiet else (watch,)
        return Shown(
            EstimateRun(host, observers, report, _exports(arguments.export)),
            lambda result: summary(result, width()),
            announcement=_announcement,
            progress=(watch,),
            files=lambda folder: [f"report: {page}" for page in folder.glob("report.html")],
            partial="the result holds the best parameters so far",
            advice=lambda result: _ADVICE.get(result.ended_by or "", ""),
        )

    return journalled.execute(arguments, describe)


def _exports(forms: Sequence[str]) -> list[Registration[type[Reporter]]]:
    """Return the reporters of the forms that were asked for."""
    if not forms:
        return []
    from fmident.plugins.registry import Origin, Registration
    from fmident.report.export import export_reporters

    origin = Origin("(command line)")
    return [Registration(n, item, item.summary, origin) for n, item in export_reporters(forms)]


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, not '{text}'")
    return number


def _announcement(problem: Problem) -> str:
    samples = sum(e.samples for e in problem.experiments)
    outputs = len({m.name for e in problem.experiments for m in e.measurements})
    held_out = f" and {len(problem.validation)} for validation" if problem.validation else ""
    return (
        f"{problem.fmu.name}: {counted(len(problem.free), 'free parameter')}, "
        f"{counted(len(problem.experiments), 'experiment')}{held_out}, "
        f"{counted(samples, 'sample')} of "
        f"{counted(outputs, 'output')}; {_solved_by(problem)}"
    )


def _solved_by(problem: Problem) -> str:
    if problem.stages:
        return "stages " + ", ".join(
            f"{s.name} ({s.problem.estimator.name})" for s in problem.stages
        )
    return f"estimator {problem.estimator.name}"
