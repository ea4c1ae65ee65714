"""From a :class:`~fmident.problem.model.Problem` back to a problem file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident._whole_file import whole_file
from fmident.api.problems import load_problem, reread
from fmident.api.wiring import loaded
from fmident.errors import Code, Diagnostic, ProblemError
from fmident.toml_file import Source, loads

if TYPE_CHECKING:
    import pandas as pd

    from fmident.plugins import Host
    from fmident.problem.model import Problem


def write_problem(problem: Problem, path: str | os.PathLike[str] | None, *, data: bool) -> str:
    """Return the problem file of a problem; write it: what :meth:`fmident.Problem.to_toml` does.

    Parameters
    ----------
    problem
        As it was read.
    path
        Where it is written, if it is.
    data
        Whether the data are written beside it.

    Raises
    ------
    fmident.errors.ProblemError
        It was changed after it was read, or built of its parts; a file is in the way.
    """
    if not problem.text:
        raise ProblemError(
            "this problem was built of its parts: there is no text that says what it is",
            hint="make it with fmident.Problem.from_frames, or read it from a file",
        )
    if data and path is None:
        raise ProblemError(
            "the data are to be written, but there is no place for them",
            hint='name the problem file, such as problem.to_toml("study/problem.toml", data=True)',
        )
    host = loaded(None, _silent)
    text = _absolute(problem, {})
    _refuse_other(problem, _read(problem, text, host), "the problem was changed after it was read")
    if path is None:
        return text
    target = Path(path)
    if data:
        names = _names_of_files(problem)
        for source, name in names.items():
            _write(target.parent / name, _content(problem.frames, source, name))
        text = _absolute(problem, names)
    _write(target, text.encode())
    if data:
        written = load_problem(target, host=host, report=_silent)
        _refuse_other(problem, written, f"'{target}' cannot say what the problem is")
    return text


def _silent(_found: Iterable[Diagnostic]) -> None:
    """Take warnings that were reported when the problem was read."""


def _absolute(problem: Problem, copies: Mapping[Path, str]) -> str:
    """Return the text with absolute paths; data in memory keep the names of their files."""
    from fmident.problem.portable import with_absolute_paths

    folder = _folder(problem)
    kept = {(folder / name).resolve(): name for name in problem.frames}
    return with_absolute_paths(problem.text, folder, problem.fmu, {**kept, **copies})


def _folder(problem: Problem) -> Path:
    return (Path() if problem.source is None else problem.source.parent).resolve()


def _read(problem: Problem, text: str, host: Host) -> Problem:
    if problem.source is None:
        return reread(Source(Path("problem"), text), problem.frames, host, _silent)
    return load_problem(problem.source, host=host, report=_silent, text=text)


def _refuse_other(problem: Problem, read: Problem, what: str) -> None:
    """Refuse to write a text that means another problem.

    Raises
    ------
    ProblemError
        Naming what differs.
    """
    from fmident.evaluation.journal.keys import differences, identity_of

    before, now = ({**identity_of(p), "limits": _limits(p)} for p in (read, problem))
    found = differences(before, now)
    if found:
        raise ProblemError(
            f"{what}: {found}",
            hint="make the change where the problem is read: load_problem(path, overrides=...),"
            " or the arguments of Problem.from_frames",
        )


def _limits(problem: Problem) -> dict[str, Any]:
    """Return what the identity of a run leaves out, since a run may go on with other limits."""
    return {
        "options": {k: repr(v) for k, v in problem.estimator.options.items()},
        "evaluation": repr(problem.evaluation),
        "stages": {s.name: _limits(s.problem) for s in problem.stages},
    }


def _names_of_files(problem: Problem) -> dict[Path, str]:
    """Return each data file, resolved, and the name that it gets beside the problem file."""
    folder = _folder(problem)
    found: dict[Path, str] = {}
    for name in _data_of(loads(problem.text)):
        path = (folder / name).resolve()
        if path in found:
            continue
        stem, suffix, number = Path(name).stem, Path(name).suffix, 1
        own = f"{stem}{suffix}"
        while own.casefold() in {used.casefold() for used in found.values()}:
            number += 1
            own = f"{stem}_{number}{suffix}"
        found[path] = own
    return found


def _data_of(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the data files that a problem file names."""
    for experiment in content["experiments"]:
        yield experiment["data"]
        for output in experiment["outputs"].values():
            if isinstance(output, Mapping) and "data" in output:
                yield output["data"]


def _content(frames: Mapping[str, pd.DataFrame], source: Path, name: str) -> bytes | Path:
    """Return what a data file contains, or the file that contains it."""
    from fmident.data import csv_of, read_table
    from fmident.data.in_memory import InMemory

    if name not in frames:
        return source
    return csv_of(read_table(Path(name), reader=InMemory(frames)))


def _write(path: Path, content: bytes | Path) -> None:
    """Write a file that there is not, or that has this content already.

    Raises
    ------
    ProblemError
        Another file is there, or it cannot be written.
    """
    try:
        if isinstance(content, Path) and path.resolve() == content:
            return
        given = content.read_bytes() if isinstance(content, Path) else content
        if path.exists():
            if path.is_file() and path.read_bytes() == given:
                return
            raise ProblemError(
                f"'{path}' exists and has another content",
                hint="remove it, or choose another folder",
                code=Code.UNUSABLE_FILE,
            )
        with whole_file(path) as stream:
            stream.write(given)
    except OSError as error:
        raise ProblemError(
            f"'{path}' cannot be written: {error.strerror or error}", code=Code.UNUSABLE_FILE
        ) from error
