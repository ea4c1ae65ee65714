"""``fmident profile``."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.cli.console import say, tell, tell_all, width
from fmident.cli.usage import UsageError, assignments

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fmident.errors import Diagnostic

HELP = "how far can each parameter go, when all others make up for it?"
EXAMPLE = """\
  fmident profile problem.toml
  fmident profile problem.toml --result results/problem --parameters k d
  fmident profile problem.toml -o profiles --resume

Each parameter is moved away from the estimate, all others fitted again at each value, until
the cost has risen to the threshold of the confidence level. Without --result the problem is
estimated first. The result folder holds profiles.json, profiles.csv, profiles.html and the
pictures tau.png and cost.png."""

_INTERRUPTED = 130


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("problem", type=Path, help="problem file (TOML)")
    parser.add_argument(
        "--parameters",
        nargs="+",
        metavar="NAME",
        help="free parameters to profile; all by default",
    )
    parser.add_argument(
        "--result",
        type=Path,
        metavar="FOLDER",
        help="result of 'fmident estimate' to begin from; by default the problem is estimated",
    )
    parser.add_argument(
        "--level",
        type=_level,
        default=0.95,
        metavar="P",
        help="probability of the intervals, such as 0.95 or 95%% (default 0.95)",
    )
    parser.add_argument(
        "--accuracy",
        type=float,
        default=1e-3,
        metavar="A",
        help="of the ends, in relation to their distance from the estimate (default 0.001)",
    )
    parser.add_argument(
        "--stage", metavar="NAME", help="stage to profile, of a problem with stages; the last one"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help="result folder; by default results/NAME-profiles beside the problem file NAME.toml",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a key of the problem file, such as evaluation.workers=4; may be repeated",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace earlier profiles instead of keeping them"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from a run that was interrupted or killed: what it has simulated is not "
        "simulated again",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no table")


def run(arguments: argparse.Namespace) -> int:
    """Profile, write the result folder, print the table.

    Returns
    -------
    int
        0 also when a parameter is not identifiable: that is an answer; 130 when the run was
        interrupted.
    """
    from fmident import api
    from fmident.api.profiles import profile
    from fmident.cli.profile_progress import ProfileLine
    from fmident.cli.progress import Progress
    from fmident.errors import EstimationError
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import load_plugins
    from fmident.report.folder import check_target, holds_unfinished, remove_left
    from fmident.report.profile_folder import (
        COST_PICTURE,
        FILE_NAME,
        PAGE,
        TAU_PICTURE,
        write_profiles,
    )
    from fmident.report.profile_text import profile_summary
    from fmident.toml_file.overrides import read_value

    overrides = {k: read_value(v) for k, v in assignments(arguments.set, "--set").items()}
    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    show = _warnings if arguments.quiet else tell_all
    stem = arguments.problem.stem
    folder = arguments.output or arguments.problem.parent / "results" / f"{stem}-profiles"
    check_target(folder, FILE_NAME)
    remove_left(folder)
    problem = api.load_problem(arguments.problem, host=host, overrides=overrides, report=show)
    progress, line = Progress(), ProfileLine()
    with Workspace(
        folder, problem, resume=arguments.resume, replace=arguments.force, report=tell_all
    ) as workspace:
        if not arguments.quiet:
            if arguments.resume:
                tell(f"resuming: {workspace.simulations} simulations in the journal")
            if arguments.result is None:
                tell("no --result is given: the problem is estimated first")
        try:
            found = profile(
                problem,
                arguments.result,
                parameters=arguments.parameters,
                level=arguments.level,
                accuracy=arguments.accuracy,
                stage=arguments.stage,
                host=host,
                observers=() if arguments.quiet else (progress,),
                listener=_nothing if arguments.quiet else line.show,
                report=show,
                workspace=workspace,
            )
        except KeyboardInterrupt:
            progress.finish()
            line.finish()
            if workspace.resumable:
                tell(_how_to_go_on(arguments))
            raise
        finally:
            progress.finish()
            line.finish()
        workspace.keep()
        status = "converged" if found.status == "complete" else found.status
        if not arguments.quiet:
            say()
            say(profile_summary(found, width()))
            say()
        unfinished = arguments.resume and holds_unfinished(folder, FILE_NAME)
        try:
            kept = write_profiles(
                found,
                problem,
                folder,
                replace=arguments.force or unfinished,
                placing=lambda work: workspace.placing(work, status),
            )
        except (EstimationError, KeyboardInterrupt):
            if workspace.resumable:
                tell(_how_to_go_on(arguments))
            raise
        workspace.finish(status)
        resumable = workspace.resumable
    if kept is not None:
        tell(f"earlier profiles are kept as '{kept}'")
    say(f"result: {folder / FILE_NAME}\nreport: {folder / PAGE}")
    say(f"pictures: {folder / TAU_PICTURE}, {folder / COST_PICTURE}")
    if found.status == "interrupted":
        tell("interrupted: the result holds the points so far")
        if resumable:
            tell(_how_to_go_on(arguments))
        return _INTERRUPTED
    return 0


def _nothing(_: object) -> None:
    """Take what nobody wants to see."""


def _warnings(diagnostics: Iterable[Diagnostic]) -> None:
    tell_all(d for d in diagnostics if d.severity != "note")


def _level(text: str) -> float:
    """Return a probability.

    Raises
    ------
    UsageError
        It is none.
    """
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise UsageError(
            f"--level '{text}' is not a probability between 0 and 1", hint="such as 0.95 or 95%"
        )
    return value


def _how_to_go_on(arguments: argparse.Namespace) -> str:
    """Return the command that goes on from here."""
    words = ["fmident", "profile", str(arguments.problem)]
    words += [] if arguments.result is None else ["--result", str(arguments.result)]
    words += [] if arguments.output is None else ["-o", str(arguments.output)]
    words += [] if arguments.stage is None else ["--stage", arguments.stage]
    words += [] if arguments.level == 0.95 else ["--level", str(arguments.level)]
    words += [] if arguments.accuracy == 1e-3 else ["--accuracy", str(arguments.accuracy)]
    for setting in arguments.set:
        words += ["--set", setting]
    words.append("--resume")
    if arguments.parameters is not None:
        words += ["--parameters", *arguments.parameters]
    return f"to go on from here: {shlex.join(words)}"
