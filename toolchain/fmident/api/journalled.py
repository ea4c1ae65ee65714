"""A run that keeps a journal and writes a result folder, whatever it is that is run.

:class:`RunKind` is what one kind of run adds (an estimation, profiles); :class:`JournalledRun` is
what they share: the place is checked before the run, the journal kept during it, the result
folder placed in one step after it, and an interrupted run goes on from its journal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from fmident.api.wiring import Report
from fmident.errors import Diagnostic, EstimationError

if TYPE_CHECKING:
    from fmident.evaluation.journal import Workspace
    from fmident.problem.model import Problem
    from fmident.progress import Watch

Result = TypeVar("Result")


class RunKind(ABC, Generic[Result]):
    """A kind of run.

    Attributes
    ----------
    marker : str
        Name of the JSON file by which its result folder is known. Its ``"status"`` is
        ``"interrupted"`` in a result that another run may go on from and replace.
    """

    marker: ClassVar[str]

    @abstractmethod
    def run(self, problem: Problem, workspace: Workspace) -> Result:
        """Do the work; executors made by ``recording(workspace.journal)`` lose nothing.

        After Ctrl-C it returns what it has with the status ``"interrupted"``, or raises
        `KeyboardInterrupt` where there is nothing to write.
        """

    def beside(self, problem: Problem) -> Mapping[str, Any]:
        """Return what identifies the run beside its problem, as JSON's own types.

        Another run goes on from its journal only if that is the same.

        Raises
        ------
        fmident.errors.FmidentError
            It cannot be run as it is.
        """
        return {}

    @abstractmethod
    def status(self, result: Result) -> str:
        """Return how the run ended: ``"converged"``, ``"limit"``, ``"interrupted"``, ``"failed"``.

        The journal is thrown away after ``"converged"``, and kept after the others.
        """

    @abstractmethod
    def write(self, result: Result, problem: Problem, folder: Path) -> Iterable[Diagnostic]:
        """Write the files of a result, `marker` among them; return what went wrong.

        The problem file is written for every kind.
        """


class WatchedKind(RunKind[Result]):
    """A kind of run that :func:`carried_out` can show as it goes."""

    report: Report

    @abstractmethod
    def run(self, problem: Problem, workspace: Workspace | None) -> Result:
        """Do the work, as any kind; without a workspace there is no journal."""

    @abstractmethod
    def watched(self, watch: Watch) -> WatchedKind[Result]:
        """Return the same run, which tells `watch` how it goes, too."""


def carried_out(
    kind: WatchedKind[Result],
    problem: Problem,
    folder: str | Path | None,
    *,
    progress: bool,
    resume: bool,
    workspace: Workspace | None = None,
) -> Result:
    """Run as a function in Python does, with a result folder where one is given.

    Parameters
    ----------
    kind
        What is run.
    problem
        Of which.
    folder
        Where the result folder is written, if it is.
    progress
        Whether the run is shown as it goes.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.
    workspace
        In place of a folder: holds the journal, stays open.

    Raises
    ------
    fmident.errors.FmidentError
        As of the kind, or the result cannot be written.
    ValueError
        `resume` without `folder`.
    """
    if progress:
        from fmident.progress import watching

        with watching() as watch:
            return carried_out(
                kind.watched(watch),
                problem,
                folder,
                progress=False,
                resume=resume,
                workspace=workspace,
            )
    if folder is not None:
        run = JournalledRun(kind, Path(folder), resume=resume, report=kind.report)
        return run.execute(problem)
    if resume:
        raise ValueError("resume needs the result folder of the run that was interrupted")
    return kind.run(problem, workspace)


class JournalledRun(Generic[Result]):
    """One run of a kind.

    Parameters
    ----------
    kind
        What is run.
    folder
        Where the result folder is written, unless the disk has no room there. An earlier result is
        kept as ``NAME.1``, ...
    resume
        Go on from the journal of a run that was interrupted or killed.
    replace
        Delete an earlier result, and the journal of an unfinished run, instead of keeping them.
    report
        Takes warnings and notes.

    Raises
    ------
    fmident.errors.EstimationError
        No result folder may be written there.
    """

    def __init__(
        self,
        kind: RunKind[Result],
        folder: Path,
        *,
        resume: bool = False,
        replace: bool = False,
        report: Report,
    ) -> None:
        from fmident.report.folder import check_target, remove_left

        check_target(folder, kind.marker)
        remove_left(folder)
        self.kind = kind
        self.asked = self.folder = self.placed = folder
        """Where the result is to be; where the journal is, and it goes to; where it is."""
        self.resumed = resume
        self.resumable = False
        """Whether another run can go on from here; known when the workspace is closed."""
        self._replace = replace
        self._report = report

    def execute(self, problem: Problem) -> Result:
        """Run and write the result folder.

        A result that cannot be written anywhere is returned all the same, with a warning.

        Raises
        ------
        fmident.errors.FmidentError
            Another run is at work there, there is nothing to resume, or the run fails.
        """
        with self.opened(problem) as workspace:
            result = self.run(problem, workspace)
            try:
                self.write(result, problem, workspace)
            except EstimationError as error:
                self._report([Diagnostic("error", error.message, hint=error.hint)])
        return result

    @contextmanager
    def opened(self, problem: Problem) -> Iterator[Workspace]:
        """Keep other runs away and open the journal; where there is room, if need be."""
        from fmident.evaluation.journal import Workspace

        self._make_room(problem)
        with Workspace(
            self.folder,
            problem,
            resume=self.resumed,
            replace=self._replace,
            report=self._report,
            beside=self.kind.beside(problem),
        ) as workspace:
            try:
                yield workspace
            finally:
                self.resumable = workspace.resumable

    def _make_room(self, problem: Problem) -> None:
        """Say where the disk has no room for a result, and go elsewhere with a new run."""
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

    def run(self, problem: Problem, workspace: Workspace) -> Result:
        """Do the work; from here on the journal outlives an error."""
        result = self.kind.run(problem, workspace)
        workspace.keep()
        return result

    def write(self, result: Result, problem: Problem, workspace: Workspace) -> Path | None:
        """Write the result folder, and close the journal.

        Returns
        -------
        Path or None
            Where the earlier result is now.
        """
        from fmident.report import folder as folders

        status = self.kind.status(result)
        unfinished = self.resumed and folders.holds_unfinished(self.folder, self.kind.marker)

        def fill(work: Path) -> Sequence[Diagnostic]:
            return tuple(self.kind.write(result, problem, work))

        placed = folders.place_folder(
            self.folder,
            problem,
            fill,
            self._report,
            replace=self._replace or unfinished,
            marker=self.kind.marker,
            placing=lambda work: workspace.placing(work, status),
        )
        self.placed = placed.folder
        workspace.finish(status)
        self._report(placed.filled)
        return placed.earlier
