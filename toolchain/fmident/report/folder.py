"""The result folder: written beside its location, then moved there in one step.

If the disk is full there, another location is used, with an error that says so.
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

from fmident._json import read_object
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
    from fmident.report.sections import Section

_LEAST_ROOM, _ROOM_OF_SAMPLE = 1_500_000, 150
"""Bytes that a result folder takes: in any case, and for each sample of each output."""

_PROBED_BYTES = 500_000
"""Bytes written to find out whether there is room: a quota is not seen otherwise."""

_DATA = "data"
"""Folder of the data of a problem that had them in memory."""


def holds_unfinished(folder: Path, marker: str = FILE_NAME) -> bool:
    """Return whether the result at `folder` is from an interrupted run; `marker` is its file."""
    try:
        return read_object(folder / marker).get("status") == "interrupted"
    except (OSError, ValueError):
        return False


def check_target(folder: Path, marker: str = FILE_NAME) -> None:
    """Raise `EstimationError` if no result folder may be written at `folder`.

    This is so if it is a file, or a folder with anything but a result of the same kind,
    identified by the file `marker`. It is called before the run, since hours of computing
    must not be lost.
    """
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    if folder.is_dir() and not (folder / marker).exists() and any(folder.iterdir()):
        wrong = "exists and holds other files than a result of fmident"
    elif folder.exists() and not folder.is_dir():
        wrong = "is a file"
    elif not parent.is_dir():
        wrong = f"cannot be made: '{parent}' is a file"
    elif not os.access(parent, os.W_OK):
        wrong = f"cannot be made: '{parent}' may not be written to"
    else:
        return
    raise EstimationError(
        f"'{folder}' {wrong}", hint="give another folder with -o", code=Code.UNUSABLE_FILE
    )


def lacks_room(folder: Path, problem: Problem) -> str | None:
    """Return why there is no space for a result folder; ``None`` if there is.

    It is called before the run, like :func:`check_target`.
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
    """Return another location with space for a result, in a new folder; ``None`` if none."""
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
    """Let reporters write the files of a result; return a diagnostic per failed reporter.

    `sections` are those of plugins. Raises `OSError` if the disk is full.
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
"""Part of the name of a result folder that is not complete yet."""


@dataclass(frozen=True)
class Placed(Generic[_Filled]):
    """Location of a result folder, and of the earlier result if it was kept.

    `filled` is the return value of the function that filled it.
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
    """Fill a new folder and move it to its location in one step.

    Nothing is visible there until everything has been written. If writing is impossible,
    another location is used, and `report` takes an error. The file of `problem` is written
    first, so that it can be run from there; `fill` writes everything else. An earlier
    result, identified by `marker`, is kept as ``NAME.1``, ``NAME.2``, ... unless `replace`
    is set. `placing` is called just before the folder is moved. Raises `EstimationError` as
    :func:`check_target`, or if writing is impossible anywhere.
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
    """Fill and move the folder; an `OSError` leaves everything unchanged."""
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
    """Write the file of another problem of a run, if it has one; the data are not copied."""
    if problem.file.text and not problem.file.frames:
        path.write_text(_as_run(problem, {}), encoding="utf-8")


def remove_left(folder: Path) -> None:
    """Remove unfinished results that killed runs left beside a result folder.

    Those of running processes are kept.
    """
    name = re.compile(re.escape(f".{folder.name}{_UNFINISHED}") + r"[a-z0-9_]{8}(-old)?")
    try:
        with os.scandir(folder.parent) as entries:
            leftovers = [
                Path(e.path)
                for e in entries
                if name.fullmatch(e.name) and e.is_dir(follow_symlinks=False)
            ]
    except OSError:
        return
    for path in leftovers:
        remove_if_left(path)


def _unwritable(folder: Path, error: OSError) -> EstimationError:
    room = "make room or choose another folder with -o"
    return EstimationError(
        f"the result cannot be written to '{folder}': {error.strerror or error}",
        hint=room if error.errno in NO_ROOM else advice_on(error),
        code=Code.UNUSABLE_FILE,
    )


def _write_as_run(problem: Problem, work: Path) -> None:
    """Write the problem file and those of its stages, so that they can be run from there."""
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
        in_memory = {Path(name).resolve(): f"{_DATA}/{name}" for name in problem.file.frames}
        return with_absolute_paths(problem.file.text, Path(), problem.fmu, in_memory)
    if problem.source is None:
        return problem.file.text
    return with_absolute_paths(problem.file.text, problem.source.parent, problem.fmu, copies)


def _place(work: Path, folder: Path, *, replace: bool) -> Path | None:
    """Move a complete folder to its location; return the new path of a kept earlier one.

    If it is not kept, it is first renamed beside `work`, where :func:`remove_left`
    recognises it. An `OSError` leaves the earlier one in place.
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
    while (candidate := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    return candidate
