"""``fmident estimate``."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell, tell_all, width
from fmident.cli.usage import UsageError, assignments

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fmident.errors import Diagnostic
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
history.csv and problem.toml. It appears when it is complete. A result that stands
there already is kept as NAME.1, NAME.2, ...; --force replaces it."""

_INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="result folder; by default results/NAME beside the problem file NAME.toml",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the problem file, such as estimator.solver=scipy; may be repeated",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an earlier result instead of keeping it"
    )
    parser.add_argument(
        "--export",
        action="append",
        default=[],
        choices=("modifier", "record", "ssv"),
        help="write the values into the result folder as Modelica or SSV, too; may be repeated",
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
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from a run that was interrupted or killed: what it has simulated is not "
        "simulated again",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no table")


def run(arguments: argparse.Namespace) -> int:
    """Estimate, write the result folder, print the summary.

    Returns
    -------
    int
        0 also when a limit ended the run: the status is in the result. 1 when the
        estimation failed, 130 when it was interrupted.
    """
    from fmident import api
    from fmident.cli.progress import Progress
    from fmident.errors import EstimationError
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import load_plugins
    from fmident.report.folder import check_target, holds_unfinished, remove_left, write_folder
    from fmident.report.terminal import summary
    from fmident.toml_file.overrides import read_value

    overrides = {k: read_value(v) for k, v in assignments(arguments.set, "--set").items()}
    if arguments.follow is not None:
        from fmident.cli import follow

        if arguments.resume:
            raise UsageError(
                "--resume does not go with --follow: following data leaves no journal",
                hint="leave --resume out; samples that have passed by must be fed again",
            )
        return follow.run(arguments, overrides)
    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    show = _warnings if arguments.quiet else tell_all
    folder = arguments.output or arguments.problem.parent / "results" / arguments.problem.stem
    check_target(folder)
    remove_left(folder)
    problem = api.load_problem(arguments.problem, host=host, overrides=overrides, report=show)
    progress = Progress()
    observers = () if arguments.quiet else (progress,)
    with Workspace(
        folder, problem, resume=arguments.resume, replace=arguments.force, report=tell_all
    ) as workspace:
        if not arguments.quiet:
            tell(_announcement(problem))
            if arguments.resume:
                tell(f"resuming: {_count(workspace.simulations, 'simulation')} in the journal")
        try:
            result = api.estimate(
                problem, host=host, observers=observers, report=show, workspace=workspace
            )
        except KeyboardInterrupt:
            progress.finish()
            if workspace.resumable:
                tell(_how_to_go_on(arguments))
            raise
        finally:
            progress.finish()
        workspace.keep()
        if not arguments.quiet:
            say()
            say(summary(result, width()))
            say()
        reporters = [*host.reporters, *_exports(arguments.export)]
        replace = arguments.force or (arguments.resume and holds_unfinished(folder))
        try:
            kept, failed = write_folder(
                result,
                problem,
                folder,
                reporters,
                replace=replace,
                placing=lambda work: workspace.placing(work, result.status),
            )
        except (EstimationError, KeyboardInterrupt):
            if workspace.resumable:
                tell(_how_to_go_on(arguments))
            raise
        workspace.finish(result.status)
        resumable = workspace.resumable
    tell_all(failed)
    if kept is not None:
        tell(f"the earlier result is kept as '{kept}'")
    page = folder / "report.html"
    say(f"result: {folder / 'result.json'}" + (f"\nreport: {page}" if page.exists() else ""))
    if result.status == "interrupted":
        tell("interrupted: the result holds the best parameters so far")
        if resumable:
            tell(_how_to_go_on(arguments))
        return _INTERRUPTED
    if result.status == "limit" and resumable and not arguments.quiet:
        tell(f"{_how_to_go_on(arguments)}, with a higher limit")
    return 1 if result.status == "failed" else 0


def _how_to_go_on(arguments: argparse.Namespace) -> str:
    """Return the command that goes on from here."""
    words = ["fmident", "estimate", str(arguments.problem)]
    words += [] if arguments.output is None else ["-o", str(arguments.output)]
    for setting in arguments.set:
        words += ["--set", setting]
    return f"to go on from here: {shlex.join([*words, '--resume'])}"


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


def _warnings(diagnostics: Iterable[Diagnostic]) -> None:
    tell_all(d for d in diagnostics if d.severity != "note")


def _announcement(problem: Problem) -> str:
    samples = sum(e.times.size for e in problem.experiments)
    outputs = len({m.name for e in problem.experiments for m in e.measurements})
    return (
        f"{problem.fmu.name}: {_count(len(problem.free), 'free parameter')}, "
        f"{_count(len(problem.experiments), 'experiment')}, {_count(samples, 'sample')} of "
        f"{_count(outputs, 'output')}; {_solved_by(problem)}"
    )


def _solved_by(problem: Problem) -> str:
    if problem.stages:
        return "stages " + ", ".join(
            f"{s.name} ({s.problem.estimator.name})" for s in problem.stages
        )
    return f"estimator {problem.estimator.name}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
