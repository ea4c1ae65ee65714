"""An analysis of a problem, and what surrounds any of them: plugins, observers, journal, folder.

An :class:`Analysis` says what is computed. :func:`perform` is the rest of a call from Python; the
command line takes a :class:`JournalledRun` to say more in between.
"""

from __future__ import annotations

import contextlib
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypedDict, TypeVar

from fmident.api.problems import Report, loaded, problem_of, warn
from fmident.errors import Diagnostic, EstimationError

if TYPE_CHECKING:
    from fmident.estimation.monitor import Observer
    from fmident.evaluation import Evaluator, Executor
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem
    from fmident.progress import Watch

Result = TypeVar("Result")


class Surroundings(TypedDict, total=False):
    """Arguments of every analysis.

    Attributes
    ----------
    host
        Plugins; loaded when not given.
    report
        Takes warnings and notes; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    listener
        Hears how far it is, in the analysis's own terms.
    """

    host: Host | None
    report: Report
    progress: bool
    listener: Callable[..., None] | None


class RunArguments(Surroundings, total=False):
    """Arguments of every analysis that estimates.

    Attributes
    ----------
    observers
        Receive each iteration of an estimation, before the plugins do.
    folder
        Where the result folder is written; a journal is kept beside it during the run. A result
        that is there is kept as ``NAME.1``.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.
    workspace
        In place of both, for a caller who writes the result: holds the journal, stays open.
    """

    observers: Sequence[Observer]
    folder: str | Path | None
    resume: bool
    workspace: Workspace | None


@dataclass(frozen=True)
class Run:
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
        """Return what makes executors that share what they have simulated, and the journal."""
        from fmident.evaluation.journal import recording

        journal = None if self.workspace is None else self.workspace.journal
        return recording(journal, self.host.executors.by_name, warn=self.warn)

    def try_out(self, problem: Problem) -> None:
        """Refuse an FMU whose code would take this process with it.

        Raises
        ------
        fmident.errors.FmuError
            It does.
        """
        from fmident.estimation.checks import check_survives
        from fmident.evaluation import runs_in_this_process

        if runs_in_this_process(problem, self.host.executors.by_name):
            check_survives(problem)

    @contextmanager
    def evaluator(
        self, problem: Problem, executors: Callable[[Problem], Executor] | None = None
    ) -> Iterator[tuple[Evaluator, Executor]]:
        """Open an evaluator of a problem, once its FMU has been tried out."""
        from fmident.evaluation import Evaluator

        self.try_out(problem)
        executor = (executors or self.executors())(problem)
        with Evaluator(problem, executor) as evaluator:
            yield evaluator, executor


class Analysis(ABC, Generic[Result]):
    """One kind of analysis with its options.

    Attributes
    ----------
    marker : str
        Name of the JSON file by which its result folder is known. Its ``"status"`` is
        ``"interrupted"`` in a result that another run may go on from and replace.
    journalled : bool
        Whether a run that writes a result folder keeps a journal.
    """

    marker: ClassVar[str] = ""
    journalled: ClassVar[bool] = True

    @abstractmethod
    def run(self, problem: Problem, run: Run) -> Result:
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
        self, result: Result, problem: Problem, folder: Path, run: Run
    ) -> Iterable[Diagnostic]:
        """Write the files of a result, `marker` among them; return what went wrong.

        The problem file is written for every analysis.
        """
        raise NotImplementedError

    def show(self, watch: Watch, *state: Any) -> None:
        """Show what the listener receives."""
        watch.activity(*state)

    def watched(self, run: Run, watch: Watch) -> Run:
        """Return the same run, which `watch` shows, too."""

        def listener(*state: Any) -> None:
            self.show(watch, *state)
            run.tell(*state)

        return dataclasses.replace(run, observers=(watch, *run.observers), listener=listener)


def perform(
    analysis: Analysis[Result],
    subject: Problem | str | Path,
    *,
    host: Host | None = None,
    report: Report = warn,
    progress: bool = False,
    listener: Callable[..., None] | None = None,
    observers: Sequence[Observer] = (),
    folder: str | Path | None = None,
    resume: bool = False,
    replace: bool = False,
    workspace: Workspace | None = None,
) -> Result:
    """Do an analysis as a function in Python does, with a result folder where one is given.

    `subject` is a problem, its file, or the folder of a result of it; `replace` deletes an earlier
    result; all else is as of :class:`RunArguments`.

    Raises
    ------
    fmident.errors.FmidentError
        As of the analysis, or the result cannot be written.
    ValueError
        `resume` without `folder`.
    """
    if resume and folder is None:
        raise ValueError("resume needs the result folder of the run that was interrupted")
    run = Run(loaded(host, report), report, observers, listener, workspace)
    problem = problem_of(subject, run.host, report)
    with contextlib.ExitStack() as stack:
        if progress:
            from fmident.progress import watching

            run = analysis.watched(run, stack.enter_context(watching()))
        if folder is None:
            return analysis.run(problem, run)
        whole = JournalledRun(analysis, Path(folder), run, resume=resume, replace=replace)
        return whole.execute(problem)


class JournalledRun(Generic[Result]):
    """An analysis that writes a result folder, and goes on after an interruption.

    The place is checked before the run, the journal kept during it, and the result folder placed
    in one step after it.

    Parameters
    ----------
    analysis, run
        What is done, and what surrounds it.
    folder
        Where the result folder is written, unless the disk has no room there. An earlier result is
        kept as ``NAME.1``, ...
    resume
        Go on from the journal of a run that was interrupted or killed.
    replace
        Delete an earlier result, and the journal of an unfinished run, instead of keeping them.
    report
        Takes what is said of folder and journal; by default who takes all else.

    Raises
    ------
    fmident.errors.EstimationError
        No result folder may be written there.
    """

    def __init__(
        self,
        analysis: Analysis[Result],
        folder: Path,
        run: Run,
        *,
        resume: bool = False,
        replace: bool = False,
        report: Report | None = None,
    ) -> None:
        from fmident.report.folder import check_target, remove_left

        check_target(folder, analysis.marker)
        remove_left(folder)
        self.analysis = analysis
        self.asked = self.folder = self.placed = folder
        """Where the result is to be; where the journal is, and it goes to; where it is."""
        self.resumed = resume
        self.resumable = False
        """Whether another run can go on from here; known when the workspace is closed."""
        self._around = run
        self._replace = replace
        self._report = run.report if report is None else report

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
        from fmident.evaluation.journal import Workspace

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
        from fmident.report.folder import lacks_room, other_place

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
        result = self.analysis.run(problem, dataclasses.replace(self._around, workspace=workspace))
        if workspace is not None:
            workspace.keep()
        return result

    def write(self, result: Result, problem: Problem, workspace: Workspace | None) -> Path | None:
        """Write the result folder and close the journal; return where an earlier result is now."""
        from fmident.report import folder as folders

        status, marker = self.analysis.status(result), self.analysis.marker
        unfinished = self.resumed and folders.holds_unfinished(self.folder, marker)

        def fill(work: Path) -> Sequence[Diagnostic]:
            return tuple(self.analysis.write(result, problem, work, self._around))

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
