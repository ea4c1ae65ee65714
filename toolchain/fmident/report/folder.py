"""The result folder: written beside its place, then moved there in one step.

Where the machine has no room for it there, it goes to another place, with an error that says so.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from fmident._json import loads_json
from fmident.data import csv_of, read_table
from fmident.data.table import InMemory
from fmident.errors import (
    NO_ROOM,
    Code,
    Diagnostic,
    EstimationError,
    FmidentError,
    advice_on,
    in_words,
)
from fmident.files import (
    make_locked,
    other_places,
    remove_if_left,
    remove_locked,
    written_elsewhere,
)
from fmident.plugin_code import raised_in
from fmident.problem.reading.in_memory import with_absolute_paths
from fmident.report.contract import TakesSections
from fmident.report.result_json import FILE_NAME

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter
    from fmident.report.sections.html import Section

_LEAST_ROOM, _ROOM_OF_SAMPLE = 1_500_000, 150
"""Bytes that a result folder takes: in any case, and for each sample of each output."""

_PROBED_BYTES = 500_000
"""So much is written to find out whether there is room: a quota is not seen otherwise."""

_DATA = "data"
"""Folder of the data of a problem that had them in memory."""


def holds_unfinished(folder: Path, marker: str = FILE_NAME) -> bool:
    """Return whether the result at `folder` is one of an interrupted run.

    Parameters
    ----------
    folder
        Where.
    marker
        The file that holds such a result.
    """
    try:
        content = loads_json((folder / marker).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("status") == "interrupted"


def check_target(folder: Path, marker: str = FILE_NAME) -> None:
    """Refuse a place where no result folder may be written.

    To be called before the run: an hour of computing must not end here.

    Parameters
    ----------
    folder
        Where.
    marker
        The file by which a folder is known for an earlier result of the same kind.

    Raises
    ------
    fmident.errors.EstimationError
        `folder` is a file, or a folder that holds something else than a result.
    """
    if folder.is_dir():
        if not (folder / marker).exists() and any(folder.iterdir()):
            raise EstimationError(
                f"'{folder}' exists and holds other files than a result of fmident",
                hint="give another folder with -o",
                code=Code.UNUSABLE_FILE,
            )
    elif folder.exists():
        raise EstimationError(
            f"'{folder}' is a file", hint="give another folder with -o", code=Code.UNUSABLE_FILE
        )
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise EstimationError(
            f"'{folder}' cannot be made: '{parent}' is a file",
            hint="give another folder with -o",
            code=Code.UNUSABLE_FILE,
        )
    if not os.access(parent, os.W_OK):
        raise EstimationError(
            f"'{folder}' cannot be made: '{parent}' may not be written to",
            hint="give another folder with -o",
            code=Code.UNUSABLE_FILE,
        )


def lacks_room(folder: Path, problem: Problem) -> str | None:
    """Return why a result folder does not fit in at a place, ``None`` where it does.

    To be called before the run, as :func:`check_target`.
    """
    samples = sum(
        e.times.size * len(e.measurements) for e in (*problem.experiments, *problem.validation)
    )
    needed = _LEAST_ROOM + _ROOM_OF_SAMPLE * samples
    parent = next(p for p in folder.absolute().parents if p.exists())
    try:
        free = shutil.disk_usage(parent).free
        if free < needed:
            return f"the disk has {free / 1e6:.1f} MB left, and {needed / 1e6:.1f} MB are needed"
        with tempfile.TemporaryFile(dir=parent) as file:
            file.write(bytes(_PROBED_BYTES))
    except OSError as error:
        return in_words(error)
    return None


def other_place(folder: Path, problem: Problem) -> Path | None:
    """Return where a result folder fits in instead, in a new folder; ``None`` if nowhere."""
    for parent in other_places():
        if lacks_room(parent / folder.name, problem) is None:
            return parent / folder.name
        parent.rmdir()
    return None


def write_reports(
    result: EstimationResult,
    problem: Problem,
    folder: Path,
    reporters: Iterable[Registration[type[Reporter]]],
    sections: Sequence[Section] = (),
) -> list[Diagnostic]:
    """Let reporters write the files of a result.

    Parameters
    ----------
    result, problem
        What to write.
    folder
        Where.
    reporters
        Who writes. One that fails is left out and reported.
    sections
        What plugins add to a report.

    Returns
    -------
    list of Diagnostic
        One for each reporter that failed.

    Raises
    ------
    OSError
        The disk is full.
    """
    failed: list[Diagnostic] = []
    for registration in reporters:
        # A reporter may be a stranger's; whatever it raises, the result must be kept.
        try:
            reporter = registration.item()
            if isinstance(reporter, TakesSections):
                reporter.take_sections(sections)
            reporter.write(result, problem, folder)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            own = error if isinstance(error, FmidentError) else None
            failed.append(
                Diagnostic(
                    "warning",
                    f"reporter '{registration.name}' of plugin {registration.origin} "
                    f"failed: {own.message if own else repr(error)}",
                    own.location if own else raised_in(error, registration.origin.package),
                    hint="its files are missing or incomplete; the others were written",
                    rule="failed-reporter",
                )
            )
    return failed


_Filled = TypeVar("_Filled")

_UNFINISHED = ".new-"
"""Behind the name of a result folder: one that is not complete yet."""


@dataclass(frozen=True)
class Placed(Generic[_Filled]):
    """What became of a result folder.

    Parameters
    ----------
    folder
        Where it is.
    earlier
        Where the earlier result is now, if it is kept.
    filled
        What filled it has returned.
    """

    folder: Path
    earlier: Path | None
    filled: _Filled


def place_folder(
    folder: Path,
    problem: Problem,
    fill: Callable[[Path], _Filled],
    report: Callable[[Iterable[Diagnostic]], None],
    *,
    replace: bool = False,
    marker: str = FILE_NAME,
    placing: Callable[[Path], None] | None = None,
) -> Placed[_Filled]:
    """Fill a new folder and move it to its place in one step.

    Nothing is seen there until everything has been written. Where it cannot be written there, it
    goes to another place.

    Parameters
    ----------
    folder
        Its place.
    problem
        Whose file is written for a start, so that it runs from there, too.
    fill
        Writes all else into the folder that it is given.
    report
        Takes an error where the result is in another place.
    replace
        Delete an earlier result instead of keeping it as ``NAME.1``, ``NAME.2``, ...
    marker
        As of :func:`check_target`.
    placing
        Called with the complete folder immediately before it is moved to its place.

    Raises
    ------
    fmident.errors.EstimationError
        As :func:`check_target`; it cannot be written anywhere.
    """
    # The last part of a path such as "." is not a name that another could be made from.
    place = folder if folder.name not in ("", "..") else folder.resolve()

    def write(to: Path) -> Placed[_Filled]:
        return _filled(to, problem, fill, replace=replace, placing=placing)

    try:
        check_target(folder, marker)
        return write(place)
    except (OSError, EstimationError) as error:
        wrong = error if isinstance(error, EstimationError) else _unwritable(folder, error)
        other = written_elsewhere(place.name, write)
        if other is None:
            raise wrong from error
        report(
            [
                Diagnostic(
                    "error", f"{wrong.message}; the result is in '{other[0]}'", hint=wrong.hint
                )
            ]
        )
        return other[1]


def _filled(
    place: Path,
    problem: Problem,
    fill: Callable[[Path], _Filled],
    *,
    replace: bool,
    placing: Callable[[Path], None] | None,
) -> Placed[_Filled]:
    """Do it; an `OSError` leaves all as it was."""
    place.parent.mkdir(parents=True, exist_ok=True)
    remove_left(place)
    work, held = make_locked(f".{place.name}{_UNFINISHED}", place.parent)
    try:
        work.chmod(0o755)  # it is made private; a result is an ordinary folder
        if problem.file.text:
            _write_as_run(problem, work)
        filled = fill(work)
        if placing is not None:
            placing(work)
        earlier = _place(work, place, replace=replace)
    finally:
        remove_locked(work, held)
        remove_left(place)  # the earlier result, where it was to be replaced
    return Placed(place, earlier, filled)


def write_problem_as(problem: Problem, path: Path) -> None:
    """Write the file of a further problem of a run, if it has one; the data stay where they are."""
    if problem.file.text and not problem.file.frames:
        path.write_text(_as_run(problem, {}), encoding="utf-8")


def remove_left(folder: Path) -> None:
    """Remove what killed runs have left beside a result folder: results that were not finished.

    Parameters
    ----------
    folder
        The result folder. What a living process writes is left alone.
    """
    name = re.compile(re.escape(f".{folder.name}{_UNFINISHED}") + r"[a-z0-9_]{8}(-old)?")
    try:
        with os.scandir(folder.parent) as entries:
            found = [
                Path(e.path)
                for e in entries
                if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for path in found:
        remove_if_left(path)


def _unwritable(folder: Path, error: OSError) -> EstimationError:
    room = "make room or choose another folder with -o"
    return EstimationError(
        f"the result cannot be written to '{folder}': {error.strerror or error}",
        hint=room if error.errno in NO_ROOM else advice_on(error),
        code=Code.UNUSABLE_FILE,
    )


def _write_as_run(problem: Problem, work: Path) -> None:
    """Write the problem file, and those of its stages, so that they run from there, too."""
    copies: dict[Path, str] = {}
    for number, stage in enumerate(problem.stages, 1):
        source = stage.problem.source
        if not stage.separate or source is None or source.resolve() in copies:
            continue
        name = f"stage-{number}.toml"
        (work / name).write_text(_as_run(stage.problem, {}), encoding="utf-8")
        copies[source.resolve()] = name
    (work / "problem.toml").write_text(_as_run(problem, copies), encoding="utf-8")
    held = InMemory(problem.file.frames)
    for name in problem.file.frames:
        (work / _DATA).mkdir(exist_ok=True)
        (work / _DATA / name).write_bytes(csv_of(read_table(name, reader=held)))


def _as_run(problem: Problem, copies: Mapping[Path, str]) -> str:
    if problem.file.frames:
        kept = {Path(name).resolve(): f"{_DATA}/{name}" for name in problem.file.frames}
        return with_absolute_paths(problem.file.text, Path(), problem.fmu, kept)
    if problem.source is None:
        return problem.file.text
    return with_absolute_paths(problem.file.text, problem.source.parent, problem.fmu, copies)


def _place(work: Path, folder: Path, *, replace: bool) -> Path | None:
    """Move a complete folder to its place; return where the earlier one is, if it is kept.

    Where it is not kept, it gets a name beside that of `work`, by which :func:`remove_left`
    knows it.

    Raises
    ------
    OSError
        What was there is there still.
    """
    if folder.exists() and not any(folder.iterdir()):
        folder.rmdir()
    if not folder.exists():
        work.rename(folder)
        return None
    aside = work.with_name(f"{work.name}-old") if replace else _free_name(folder)
    folder.rename(aside)
    try:
        work.rename(folder)
    except BaseException:
        aside.rename(folder)
        raise
    return None if replace else aside


def _free_name(folder: Path) -> Path:
    number = 1
    while (kept := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    return kept
