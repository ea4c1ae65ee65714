"""Commands that run with a journal: their common arguments, their progress, how they go on.

A command of this kind describes itself as a :class:`Shown` and calls :func:`execute`.
"""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from fmident.cli.console import say, tell, tell_all
from fmident.cli.usage import assignments
from fmident.errors import EstimationError, FmidentError, ResourceError

if TYPE_CHECKING:
    from fmident.api import Report
    from fmident.api.journalled import JournalledRun, RunKind
    from fmident.errors import Diagnostic
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem

_INTERRUPTED = 130
_FROM_OUTSIDE = (KeyboardInterrupt, ResourceError, MemoryError, OSError)
"""What ends a run that another one can go on from."""

_NOT_AGAIN = ("-q", "--quiet", "--force", "--resume")
"""Options that the command does not have that goes on from an interrupted run."""

Result = TypeVar("Result")


class Line(Protocol):
    """Something that writes progress."""

    def finish(self) -> None:
        """End what is on the terminal."""


@dataclass(frozen=True)
class Shown(Generic[Result]):
    """What a command shows of its kind of run.

    Parameters
    ----------
    kind
        What is run.
    summary
        The result as text for the terminal.
    announcement
        What to say before the run.
    progress
        Lines to end when the run ends.
    suffix
        Of the default result folder: ``results/NAMEsuffix`` beside ``NAME.toml``.
    files
        Lines that name what was written, from the result folder.
    earlier, partial
        Beginnings of what is said of an earlier result, and of an interrupted one.
    """

    kind: RunKind[Result]
    summary: Callable[[Result], str]
    announcement: Callable[[Problem], str] = lambda _: ""
    progress: Sequence[Line] = field(default=())
    suffix: str = ""
    files: Callable[[Path], Sequence[str]] = lambda _: ()
    earlier: str = "the earlier result is"
    partial: str = "the result holds what was found so far"
    advice: Callable[[Result], str] = lambda _: ""


def configure(
    parser: argparse.ArgumentParser, *, suffix: str = "", setting: str = "evaluation.workers=4"
) -> None:
    """Add the arguments of every command that runs with a journal."""
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FOLDER",
        help=f"result folder; by default results/NAME{suffix} beside the problem file NAME.toml",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"override a key of the problem file, such as {setting}; may be repeated",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an earlier result instead of keeping it"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="go on from a run that was interrupted or killed: what it has simulated is not "
        "simulated again",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, no table")


def overrides_of(arguments: argparse.Namespace) -> dict[str, object]:
    """Return what ``--set`` gives, and ``--hold-out`` where there is such an argument."""
    from fmident.toml_file.overrides import read_value

    given: dict[str, object] = {
        k: read_value(v) for k, v in assignments(arguments.set, "--set").items()
    }
    names: Sequence[str] = getattr(arguments, "hold_out", ())
    if names:
        from fmident.problem import read_problem_file
        from fmident.problem.reading.roles import held_out
        from fmident.toml_file import parse_toml

        text, file = read_problem_file(arguments.problem), str(arguments.problem)
        given |= held_out(parse_toml(text, arguments.problem), names, file)
    return given


def execute(
    arguments: argparse.Namespace, describe: Callable[[Host, Report], Shown[Result]]
) -> int:
    """Run, write the result folder, print the summary.

    Parameters
    ----------
    arguments
        With those of :func:`configure`, and ``problem``.
    describe
        Makes the kind of run from the plugins and from what takes warnings and notes.

    Returns
    -------
    int
        0 also when a limit ended the run: the status is in the result. 1 when it failed, 130
        when it was interrupted.
    """
    from fmident import api
    from fmident.api.journalled import JournalledRun
    from fmident.plugins import load_plugins

    overrides, loud = overrides_of(arguments), not arguments.quiet
    host = load_plugins(without=arguments.no_plugin)
    tell_all(host.diagnostics)
    report = tell_all if loud else _warnings
    shown = describe(host, report)
    name = f"{arguments.problem.stem}{shown.suffix}"
    folder = arguments.output or arguments.problem.parent / "results" / name
    run = JournalledRun(
        shown.kind, folder, resume=arguments.resume, replace=arguments.force, report=tell_all
    )
    problem = api.load_problem(arguments.problem, host=host, overrides=overrides, report=report)
    with run.opened(problem) as workspace:
        if loud:
            if text := shown.announcement(problem):
                tell(text)
            if arguments.resume:
                tell(f"resuming: {counted(workspace.simulations, 'simulation')} in the journal")
        with _going_on(arguments, run, workspace, *_FROM_OUTSIDE):
            try:
                result = run.run(problem, workspace)
            finally:
                _finish(shown.progress)
        if loud:
            say(f"\n{shown.summary(result)}\n")
        with _going_on(arguments, run, workspace, EstimationError, KeyboardInterrupt):
            try:
                kept = run.write(result, problem, workspace)
            except EstimationError:
                if not loud:  # it is nowhere else
                    say(shown.summary(result))
                raise
    if kept is not None:
        tell(f"{shown.earlier} kept as '{kept}'")
    say("\n".join([f"result: {run.placed / shown.kind.marker}", *shown.files(run.placed)]))
    if run.folder != folder:
        tell(f"error: the result is not in '{folder}': it is in '{run.placed}'")
    status = shown.kind.status(result)
    if status == "interrupted":
        tell(f"interrupted: {shown.partial}")
        if run.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        return _INTERRUPTED
    if status == "limit" and loud:
        go_on = _how_to_go_on(arguments, run)
        further = f"{go_on}, with a higher limit" if run.resumable else ""
        if advice := shown.advice(result) or further:
            tell(advice)
    if run.placed != folder:
        return FmidentError.exit_code
    return 1 if status == "failed" else 0


@contextlib.contextmanager
def _going_on(
    arguments: argparse.Namespace,
    run: JournalledRun[Result],
    workspace: Workspace,
    *kinds: type[BaseException],
) -> Iterator[None]:
    """Say after exceptions of these kinds how the run goes on, if it can."""
    try:
        yield
    except kinds:
        if workspace.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        raise


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _finish(lines: Iterable[Line]) -> None:
    for line in lines:
        line.finish()


def _how_to_go_on(arguments: argparse.Namespace, run: JournalledRun[Result]) -> str:
    """Return the command that goes on from here: the one that was given, with ``--resume``."""
    words = [word for word in arguments.words if word not in _NOT_AGAIN]
    end = words.index("--") if "--" in words else len(words)
    more = [*(["-o", str(run.folder)] if run.folder != run.asked else []), "--resume"]
    return f"to go on from here: {shlex.join(['fmident', *words[:end], *more, *words[end:]])}"


def _warnings(diagnostics: Iterable[Diagnostic]) -> None:
    tell_all(d for d in diagnostics if d.severity != "note")
