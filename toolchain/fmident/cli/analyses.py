"""The analyses that write a result folder: estimate, profile, bootstrap, predict, cross-validate.

All are run in one way: journal, progress, result folder, exit code. The arguments of a command have
the names of the fields of its :class:`~fmident.api.run.Analysis`.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fmident.api.run import Analysis, JournalledRun, RunContext
from fmident.cli.arguments import overrides_of, plugins_of
from fmident.cli.commands import COMMANDS
from fmident.cli.console import say, tell, width
from fmident.errors import EstimationError, FmidentError, ResourceError
from fmident.evaluation.journal import Workspace
from fmident.progress.watch import Watch
from fmident.words import counted

_INTERRUPTED = 130
_FROM_OUTSIDE = (KeyboardInterrupt, ResourceError, MemoryError, OSError)
"""What ends a run from outside, so that another run can resume it."""

_NOT_AGAIN = ("-q", "--quiet", "--force", "--resume")
"""Options left out of the command that is shown to resume a run."""


def run(arguments: argparse.Namespace) -> int:
    """Run an analysis, write the result folder, print the summary.

    Returns
    -------
    int
        0 also when a limit ended the run: the status is in the result. 1 when it failed, 130
        when it was interrupted.
    """
    overrides, loud = overrides_of(arguments), not arguments.quiet
    host = plugins_of(arguments)
    analysis, watch = _analysis(arguments), Watch()
    if loud:

        def listener(*state: Any) -> None:
            if line := analysis.line(*state):
                tell(line)

        context = analysis.watched(RunContext(host, tell, listener=listener), watch)
    else:
        context = RunContext(
            host, lambda findings: tell(d for d in findings if d.severity != "note")
        )
    subject, folder = _subject(arguments), _folder(arguments)
    resume = bool(getattr(arguments, "resume", False))
    run = JournalledRun(
        analysis, folder, context, resume=resume, replace=arguments.force, report=tell
    )
    problem = run.prepared(subject, overrides)
    analysis = run.analysis
    with run.opened(problem) as workspace:
        if loud:
            if text := analysis.announcement(problem):
                tell(text)
            if resume and workspace is not None:
                tell(f"resuming: {counted(workspace.simulations, 'simulation')} in the journal")
        with _going_on(arguments, run, workspace, *_FROM_OUTSIDE):
            try:
                result = run.run(problem, workspace)
            finally:
                watch.finish()
        if loud:
            say(f"\n{analysis.summary(result, width())}\n")
        with _going_on(arguments, run, workspace, EstimationError, KeyboardInterrupt):
            try:
                earlier_result = run.write(result, problem, workspace)
            except EstimationError:
                if not loud:  # it is nowhere else
                    say(analysis.summary(result, width()))
                raise
    if earlier_result is not None:
        tell(f"the earlier result is kept as '{earlier_result}'")
    say("\n".join([f"result: {run.placed / analysis.marker}", *_files(run.placed)]))
    if run.folder != folder:
        tell(f"error: the result is not in '{folder}': it is in '{run.placed}'")
    return _ended(arguments, run, result)


def _analysis(arguments: argparse.Namespace) -> Analysis[Any]:
    module, name = COMMANDS[arguments.command].analysis.split(":")
    kind: Any = getattr(importlib.import_module(f"fmident.api.{module}"), name)
    given = vars(arguments)
    analysis: Analysis[Any] = kind(
        **{f.name: given[f.name] for f in dataclasses.fields(kind) if f.name in given}
    )
    return analysis


def _subject(arguments: argparse.Namespace) -> Path | list[Path]:
    """Return what is analysed: a problem, several, or a result."""
    given = vars(arguments)
    subject: Path | list[Path]
    subject = next(given[name] for name in ("problem", "problems", "result") if name in given)
    return subject


def _folder(arguments: argparse.Namespace) -> Path:
    if arguments.output is not None:
        return Path(arguments.output)
    subject, suffix = _subject(arguments), COMMANDS[arguments.command].suffix
    first = subject if isinstance(subject, Path) else subject[0]
    if first.is_dir() or first.suffix == ".json":
        whole = (first if first.is_dir() else first.parent).resolve()
        return whole.parent / f"{whole.name}{suffix}"
    return first.parent / "results" / f"{first.stem}{suffix}"


def _files(folder: Path) -> list[str]:
    pictures = [str(file) for file in sorted(folder.glob("*.png"))]
    noun = "pictures" if len(pictures) > 1 else "picture"
    pages = [f"report: {page}" for page in sorted(folder.glob("*.html"))]
    return [*pages, *([f"{noun}: {', '.join(pictures)}"] if pictures else [])]


def _ended(arguments: argparse.Namespace, run: JournalledRun[Any], result: object) -> int:
    """Print how to resume a run that did not converge; return the exit code."""
    status = run.analysis.status(result)
    if status == "interrupted":
        tell("interrupted: the result holds what was found so far")
        if run.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        return _INTERRUPTED
    if status == "limit" and not arguments.quiet:
        go_on = _how_to_go_on(arguments, run)
        further = f"{go_on}, with a higher limit" if run.resumable else ""
        if advice := run.analysis.advice(result) or further:
            tell(advice)
    if run.placed != run.asked:
        return FmidentError.exit_code
    return 1 if status == "failed" else 0


@contextlib.contextmanager
def _going_on(
    arguments: argparse.Namespace,
    run: JournalledRun[Any],
    workspace: Workspace | None,
    *kinds: type[BaseException],
) -> Iterator[None]:
    """After exceptions of these kinds, print how to resume the run, if possible."""
    try:
        yield
    except kinds:
        if workspace is not None and workspace.resumable:
            tell(_how_to_go_on(arguments, run), whole=True)
        raise


def _how_to_go_on(arguments: argparse.Namespace, run: JournalledRun[Any]) -> str:
    """Return the command that resumes the run: the one given, with ``--resume``."""
    words = [word for word in arguments.words if word not in _NOT_AGAIN]
    end = words.index("--") if "--" in words else len(words)
    more = [*(["-o", str(run.folder)] if run.folder != run.asked else []), "--resume"]
    return f"to resume: {shlex.join(['fmident', *words[:end], *more, *words[end:]])}"
