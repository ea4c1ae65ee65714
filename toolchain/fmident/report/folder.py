"""The result folder: written beside its place, then moved there in one step."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from fmident.errors import Diagnostic, EstimationError, FmidentError
from fmident.problem.portable import with_absolute_paths
from fmident.report.result_json import FILE_NAME

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
"""No fault of a reporter: half a result would be taken for a whole one."""


def holds_unfinished(folder: Path, marker: str = FILE_NAME) -> bool:
    """Return whether the result that stands at `folder` is one of an interrupted run.

    Parameters
    ----------
    folder
        Where.
    marker
        The file that holds such a result.
    """
    try:
        content = json.loads((folder / marker).read_text(encoding="utf-8"))
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
            )
    elif folder.exists():
        raise EstimationError(f"'{folder}' is a file", hint="give another folder with -o")
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise EstimationError(
            f"'{folder}' cannot be made: '{parent}' is a file", hint="give another folder with -o"
        )
    if not os.access(parent, os.W_OK):
        raise EstimationError(
            f"'{folder}' cannot be made: '{parent}' may not be written to",
            hint="give another folder with -o",
        )


def write_folder(
    result: EstimationResult,
    problem: Problem,
    folder: Path,
    reporters: Iterable[Registration[type[Reporter]]],
    *,
    replace: bool = False,
) -> tuple[Path | None, tuple[Diagnostic, ...]]:
    """Write a result folder.

    Nothing is seen at `folder` until everything has been written. A result that stands
    there already is kept as ``NAME.1``, ``NAME.2``, ... unless `replace`.

    Parameters
    ----------
    result, problem
        What to write.
    folder
        Where.
    reporters
        Who writes. One that fails is left out and reported.
    replace
        Delete an earlier result instead of keeping it.

    Returns
    -------
    kept : Path or None
        Where the earlier result is now.
    diagnostics : tuple of Diagnostic
        One for each reporter that failed.

    Raises
    ------
    fmident.errors.EstimationError
        As :func:`check_target`; the disk is full.
    """

    def fill(work: Path) -> tuple[Diagnostic, ...]:
        if problem.text:
            write_as_run(problem, work)
        return tuple(_write_all(result, problem, work, reporters))

    return place_folder(folder, fill, replace=replace)


_Filled = TypeVar("_Filled")


def place_folder(
    folder: Path,
    fill: Callable[[Path], _Filled],
    *,
    replace: bool = False,
    marker: str = FILE_NAME,
) -> tuple[Path | None, _Filled]:
    """Fill a new folder and move it to its place in one step.

    Parameters
    ----------
    folder
        Its place.
    fill
        Writes into the folder that it is given.
    replace
        Delete an earlier result instead of keeping it as ``NAME.1``, ``NAME.2``, ...
    marker
        As of :func:`check_target`.

    Returns
    -------
    kept : Path or None
        Where the earlier result is now.
    filled
        What `fill` returned.

    Raises
    ------
    fmident.errors.EstimationError
        As :func:`check_target`; the disk is full.
    """
    check_target(folder, marker)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise EstimationError(
            f"the result cannot be written to '{folder}': {error.strerror or error}",
            hint="make room or choose another folder with -o",
        ) from error
    try:
        work.chmod(0o755)  # mkdtemp makes it private; a result is an ordinary folder
        filled = fill(work)
        earlier = _make_room(folder)
        work.rename(folder)
    except OSError as error:
        raise EstimationError(
            f"the result cannot be written to '{folder}': {error.strerror or error}",
            hint="make room or choose another folder with -o",
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if earlier is not None and (replace or not any(earlier.iterdir())):
        shutil.rmtree(earlier)
        earlier = None
    return earlier, filled


def write_as_run(problem: Problem, work: Path) -> None:
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


def _as_run(problem: Problem, copies: Mapping[Path, str]) -> str:
    if problem.source is None:
        return problem.text
    return with_absolute_paths(problem.text, problem.source.parent, problem.fmu, copies)


def _write_all(
    result: EstimationResult,
    problem: Problem,
    work: Path,
    reporters: Iterable[Registration[type[Reporter]]],
) -> list[Diagnostic]:
    failed: list[Diagnostic] = []
    for registration in reporters:
        # A reporter may be a stranger's; whatever it raises, the result must be kept.
        try:
            registration.item().write(result, problem, work)
        except Exception as error:
            if isinstance(error, OSError) and error.errno in _NO_ROOM:
                raise
            reason = error.message if isinstance(error, FmidentError) else repr(error)
            failed.append(
                Diagnostic(
                    "warning",
                    f"reporter '{registration.name}' of plugin {registration.origin} "
                    f"failed: {reason}",
                    hint="its files are missing or incomplete; the others were written",
                    rule="failed-reporter",
                )
            )
    return failed


def _make_room(folder: Path) -> Path | None:
    """Move what stands at `folder` aside; return where it is now."""
    if not folder.exists():
        return None
    number = 1
    while (kept := folder.with_name(f"{folder.name}.{number}")).exists():
        number += 1
    folder.rename(kept)
    return kept
