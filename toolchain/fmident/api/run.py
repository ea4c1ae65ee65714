"""What all analyses of a problem share: plugins, observers, journal, result folder.

An :class:`Analysis` says what is computed, written and said. :func:`perform` is the rest of a call
from Python; the command line takes a :class:`JournalledRun` to say more in between.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypedDict, TypeVar

from fmident.api.problems import Report, loaded, problem_of, warn
from fmident.errors import Diagnostic, EstimationError
from fmident.estimation.checks import check_survives
from fmident.estimation.monitor import Observer
from fmident.evaluation import Evaluator, Executor, runs_in_this_process
from fmident.evaluation.journal import Workspace, recording
from fmident.plugins import Host
from fmident.problem.model import Problem
from fmident.progress.watch import Watch, watching
from fmident.report import folder as folders
from fmident.report.contents import Contents
from fmident.report.folder import check_target, lacks_room, other_place, remove_left

Result = TypeVar("Result")
_Function = TypeVar("_Function", bound=Callable[..., Any])


class AnalysisArguments(TypedDict, total=False):
    """Arguments of every analysis; :func:`perform` says what they are."""

    host: Host | None
    report: Report
    progress: bool
    listener: Callable[..., None] | None


class FolderArguments(AnalysisArguments, total=False):
    """Arguments of every analysis that writes a result folder."""

    folder: str | Path | None
    replace: bool


class RunArguments(FolderArguments, total=False):
    """Arguments of every analysis that estimates."""

    resume: bool
    observers: Sequence[Observer]
    workspace: Workspace | None


def with_arguments(arguments: Any, *, listener: str) -> Callable[[_Function], _Function]:
    """Have a function show what its ``**run`` stands for, in its signature and its docstring.

    `arguments` is one of the classes above, and `listener` says what that one receives.
    """

    def show(function: _Function) -> _Function:
        signature, shared = inspect.signature(function), inspect.signature(perform).parameters
        named = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [shared[name] for name in arguments.__annotations__]
        function.__signature__ = signature.replace(parameters=[*named, *more])  # type: ignore[attr-defined]
        meanings = dict(re.findall(r"^(\w+)\n((?: {4}.+\n)+)", inspect.getdoc(perform) or "", re.M))
        meanings["listener"] = f"    Receives {listener}.\n"
        texts = "".join(f"{p.name}\n{meanings[p.name]}" for p in more)
        own = inspect.getdoc(function) or ""
        function.__doc__ = re.sub(r"\*\*run\n    .+\n", lambda _: texts, own)
        return function

    return show


SIMULATIONS_DONE = "what is done, how many simulations of it have ended, and how many it takes"
"""What listeners of a check and of a design receive."""


@dataclass(frozen=True)
class RunContext:
    """What surrounds an analysis while it computes; fields as of :class:`RunArguments`."""

    host: Host
    report: Report
    observers: Sequence[Observer] = ()
    listener: Callable[..., None] | None = None
    workspace: Workspace | None = None

    def tell(self, *state: Any) -> None:
        """Tell the listener, if there is one."""
        if self.listener is not None:
            self.listener(*state)

    def warn(self, diagnostic: Diagnostic) -> None:
        """Report one warning or note."""
        self.report([diagnostic])

    def executors(self) -> Callable[[Problem], Executor]:
        """Return a function that makes the executor of a problem; all share cache and journal."""
        journal = None if self.workspace is None else self.workspace.journal
        return recording(journal, self.host.executors.by_name, warn=self.warn)

    def try_out(self, problem: Problem) -> None:
        """Refuse an FMU whose code would take this process with it.

        Raises
        ------
        fmident.errors.FmuError
            It does.
        """
        if runs_in_this_process(problem, self.host.executors.by_name):
            check_survives(problem)

    @contextmanager
    def evaluator(
        self, problem: Problem, executors: Callable[[Problem], Executor] | None = None
    ) -> Iterator[tuple[Evaluator, Executor]]:
        """Open an evaluator of a problem, once its FMU has been tried out."""
        self.try_out(problem)
        executor = (executors or self.executors())(problem)
        with Evaluator(problem, executor) as evaluator:
            yield evaluator, executor


class Analysis(ABC, Generic[Result]):
    """One kind of analysis with its options.

    Attributes
    ----------
    contents : Contents or None
        Text, tables and figures of its result, where `write` and `summary` are those.
    marker : str
        Name of the JSON file by which its result folder is known. Its ``"status"`` is
        ``"interrupted"`` in a result that another run may go on from and replace.
    journalled : bool
        Whether a run that writes a result folder keeps a journal.
    """

    contents: ClassVar[Contents[Any] | None] = None
    marker: ClassVar[str] = ""
    journalled: ClassVar[bool] = True

    def prepared(
        self, subject: Any, context: RunContext, overrides: Mapping[str, object] | None = None
    ) -> tuple[Self, Problem]:
        """Return the analysis with all that it needs of its subject, and the problem.

        `subject` is a problem, its file, or the folder of a result of it; `overrides` are of keys
        of the problem file.
        """
        return self, problem_of(subject, context.host, context.report, overrides)

    @abstractmethod
    def run(self, problem: Problem, context: RunContext) -> Result:
        """Compute the result; executors made by `run` lose nothing.

        After Ctrl-C it returns what there is, with the status ``"interrupted"``, or raises
        `KeyboardInterrupt` where there is nothing to write.
        """

    def identity(self, problem: Problem) -> Mapping[str, Any]:
        """Return what identifies the run beside its problem, as JSON's own types.

        Another run goes on from its journal only if that is the same.
        """
        return {}

    def status(self, result: Result) -> str:
        """Return how the run ended: ``"converged"``, ``"limit"``, ``"interrupted"``, ``"failed"``.

        The journal is deleted after ``"converged"`` and kept otherwise.
        """
        status = str(getattr(result, "status", "complete"))
        return "converged" if status == "complete" else status

    def write(
        self, result: Result, problem: Problem, folder: Path, context: RunContext
    ) -> Iterable[Diagnostic]:
        """Write the files of a result, `marker` among them; return what went wrong.

        The problem file is written for every analysis.
        """
        if self.contents is not None:
            self.contents.write(result, problem, folder)
        return ()

    def summary(self, result: Result, width: int) -> str:
        """Return the result as text for a terminal of `width` columns."""
        return str(result) if self.contents is None else self.contents.text(result, width)

    def announcement(self, problem: Problem) -> str:
        """Return what the command says before the run."""
        return ""

    def advice(self, result: Result) -> str:
        """Return what to do after a limit, where a higher one does not help."""
        return ""

    def line(self, *state: Any) -> str:
        """Return a line of what the listener receives, where the command prints one."""
        return ""

    def show(self, watch: Watch, *state: Any) -> None:
        """Show what the listener receives."""
        watch.activity(*state)

    def watched(self, context: RunContext, watch: Watch) -> RunContext:
        """Return the same run, which `watch` shows, too."""

        def listener(*state: Any) -> None:
            self.show(watch, *state)
            context.tell(*state)

        return dataclasses.replace(
            context, observers=(watch, *context.observers), listener=listener
        )


def perform(
    analysis: Analysis[Result],
    subject: Any,
    *,
    overrides: Mapping[str, object] | None = None,
    host: Host | None = None,
    report: Report = warn,
    progress: bool = False,
    listener: Callable[..., None] | None = None,
    folder: str | Path | None = None,
    replace: bool = False,
    resume: bool = False,
    observers: Sequence[Observer] = (),
    workspace: Workspace | None = None,
) -> Result:
    """Do an analysis as a function in Python does, with a result folder where one is given.

    Parameters
    ----------
    analysis, subject, overrides
        As of :meth:`Analysis.prepared`.
    host
        Plugins; loaded when not given.
    report
        Takes warnings and notes; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    listener
        Hears how far it is, in the analysis's own terms.
    folder
        Where the result folder is written; a journal is kept beside it during the run.
    replace
        Delete a result that is there, instead of keeping it as ``NAME.1``.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.
    observers
        Receive each iteration of an estimation, before the plugins do.
    workspace
        In place of `folder`, for a caller who writes the result: holds the journal, stays open.

    Raises
    ------
    fmident.errors.FmidentError
        As of the analysis, or the result cannot be written.
    ValueError
        `resume` without `folder`.
    """
    if resume and folder is None:
        raise ValueError("resume needs the result folder of the run that was interrupted")
    context = RunContext(loaded(host, report), report, observers, listener, workspace)
    with contextlib.ExitStack() as stack:
        if progress:
            context = analysis.watched(context, stack.enter_context(watching()))
        if folder is None:
            ready, problem = analysis.prepared(subject, context, overrides)
            return ready.run(problem, context)
        whole = JournalledRun(analysis, Path(folder), context, resume=resume, replace=replace)
        return whole.execute(whole.prepared(subject, overrides))


class JournalledRun(Generic[Result]):
    """An analysis that writes a result folder, and goes on after an interruption.

    The place is checked before the run, the journal kept during it, and the result folder placed
    in one step after it.

    Parameters
    ----------
    analysis, context
        What is done, and what surrounds it.
    folder
        Where the result folder is written, unless the disk has no room there. An earlier result is
        kept as ``NAME.1``, ...
    resume
        Go on from the journal of a run that was interrupted or killed.
    replace
        Delete an earlier result, and the journal of an unfinished run, instead of keeping them.
    report
        Receives the messages on folder and journal; by default that of `context`.

    Raises
    ------
    fmident.errors.EstimationError
        No result folder may be written there.
    """

    def __init__(
        self,
        analysis: Analysis[Result],
        folder: Path,
        context: RunContext,
        *,
        resume: bool = False,
        replace: bool = False,
        report: Report | None = None,
    ) -> None:
        check_target(folder, analysis.marker)
        remove_left(folder)
        self.analysis = analysis
        self.asked = self.folder = self.placed = folder
        """Where the result was requested; where there is room for it and a journal; where it is."""
        self.resumed = resume
        self.resumable = False
        """Whether another run can go on from here; known when the workspace is closed."""
        self._context = context
        self._replace = replace
        self._report = context.report if report is None else report

    def prepared(self, subject: Any, overrides: Mapping[str, object] | None = None) -> Problem:
        """Prepare the analysis of a subject, and return the problem."""
        self.analysis, problem = self.analysis.prepared(subject, self._context, overrides)
        return problem

    def execute(self, problem: Problem) -> Result:
        """Run and write the result folder.

        A result that cannot be written anywhere is still returned, with a warning. Raises
        `FmidentError` if another run is using the folder, there is nothing to resume, or the
        run fails.
        """
        with self.opened(problem) as workspace:
            result = self.run(problem, workspace)
            try:
                self.write(result, problem, workspace)
            except EstimationError as error:
                self._report([Diagnostic("error", error.message, hint=error.hint)])
        return result

    @contextmanager
    def opened(self, problem: Problem) -> Iterator[Workspace | None]:
        """Lock out other runs and open the journal, on another disk if this one is full."""
        self._make_room(problem)
        if not self.analysis.journalled:
            yield None
            return
        with Workspace(
            self.folder,
            problem,
            resume=self.resumed,
            replace=self._replace,
            report=self._report,
            beside=self.analysis.identity(problem),
        ) as workspace:
            try:
                yield workspace
            finally:
                self.resumable = workspace.resumable

    def _make_room(self, problem: Problem) -> None:
        """Warn if the disk has no space for a result; redirect a new run to another folder."""
        lack = lacks_room(self.folder, problem)
        if lack is None:
            return
        other = None if self.resumed else other_place(self.folder, problem)
        message = f"there is no room for the result in '{self.folder}': {lack}"
        if other is not None:
            message += f"; the journal and the result go to '{other}'"
            self.folder = self.placed = other
        hint = "stop this run, make room or choose another folder with -o, and start again"
        self._report([Diagnostic("warning", message, hint=hint)])

    def run(self, problem: Problem, workspace: Workspace | None) -> Result:
        """Do the work; from now on the journal survives an error."""
        result = self.analysis.run(problem, dataclasses.replace(self._context, workspace=workspace))
        if workspace is not None:
            workspace.keep()
        return result

    def write(self, result: Result, problem: Problem, workspace: Workspace | None) -> Path | None:
        """Write the result folder and close the journal; return where an earlier result is now."""
        status, marker = self.analysis.status(result), self.analysis.marker
        unfinished = self.resumed and folders.holds_unfinished(self.folder, marker)

        def fill(work: Path) -> Sequence[Diagnostic]:
            return tuple(self.analysis.write(result, problem, work, self._context))

        placed = folders.place_folder(
            self.folder,
            problem,
            fill,
            self._report,
            replace=self._replace or unfinished,
            marker=marker,
            placing=None if workspace is None else lambda work: workspace.placing(work, status),
        )
        self.placed = placed.folder
        if workspace is not None:
            workspace.finish(status)
        self._report(placed.filled)
        return placed.earlier
