"""Read a problem file into a :class:`~fmident.problem.model.Problem`."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident import problem as problems
from fmident.data import csv_of, read_table
from fmident.data.table import InMemory
from fmident.errors import Code, Diagnostic, FmidentError, ProblemError
from fmident.estimation.checks import check_estimators, suited
from fmident.evaluation.journal.keys import differences, identity_of
from fmident.files import whole_file
from fmident.plugins import Host, load_plugins
from fmident.problem import ModelResolver
from fmident.problem.model import Problem
from fmident.problem.reading.file import Plugins, read_problem
from fmident.problem.reading.in_memory import arguments_of, with_absolute_paths
from fmident.toml_file import Source, loads
from fmident.toml_file.overrides import apply_overrides, left_out, relocate

if TYPE_CHECKING:
    import pandas as pd


Report = Callable[[Iterable[Diagnostic]], None]
"""Takes warnings and notes that come up on the way."""


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Report diagnostics, except notes, as Python warnings."""
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            warnings.warn(str(diagnostic), stacklevel=3)


def loaded(host: Host | None, report: Report) -> Host:
    """Return the given plugins, or load the installed ones."""
    if host is not None:
        return host

    host = load_plugins()
    report(host.diagnostics)
    return host


def ask_plugins(problem: Problem, host: Host, report: Report) -> None:
    """Let the plugins check the problem; raises `ProblemError` if one of them rejects it."""
    diagnostics = host.check_problem(problem)
    errors = [d for d in diagnostics if d.severity == "error"]
    report([d for d in diagnostics if d.severity != "error"])
    if errors:
        first = errors[0]
        source = problem.where()
        raise ProblemError(
            "; ".join(d.message for d in errors),
            location=first.location or source,
            hint=first.hint,
        )


def keeping_constraints(host: Host) -> Callable[[], tuple[str, ...]]:
    """Return a function that lists the estimators supporting constraints, importing all."""
    return lambda: tuple(n for n, kind in host.estimators.by_name.items() if kind.keeps_constraints)


PROBLEM = "problem.toml"
"""Name of the problem file in a result folder: the problem as it was run."""


def load_problem(
    path: str | Path,
    *,
    host: Host | None = None,
    overrides: Mapping[str, object] | None = None,
    report: Report = warn,
    text: str | None = None,
) -> Problem:
    """Read a problem file, its data, and the description of its FMU.

    A class named by ``model.class`` is compiled if its FMU is missing or stale.

    Parameters
    ----------
    path
        The TOML file.
    host
        Plugins; loaded when not given.
    overrides
        Dotted keys of the file with new values, such as ``{"evaluation.tolerance": 1e-8}``.
    report
        Takes warnings of plugins and of the compiler; Python warnings by default.
    text
        Text to read instead of the file's content.

    Returns
    -------
    fmident.problem.Problem
        Immutable.

    Raises
    ------
    fmident.errors.FmidentError
        An error in the file, the data or the FMU.
    """
    host = loaded(host, report)
    chosen = dict(overrides or {})
    content = problems.read_problem_file(path) if text is None else text
    text = overridden(content, chosen, str(path), host)
    try:
        plugins = plugins_of(host, report)
        problem = problems.problem_from_file(path, text=text, plugins=plugins)
        problem = _suited(problem, host)
    except FmidentError as error:
        relocate(error, content, text, chosen, str(path))
        raise
    report([*left_out(content, text, chosen), *problem.notes])
    return problem


def file_of(subject: str | Path) -> Path:
    """Return the problem file that is meant by itself, or by a result folder or its JSON file."""
    path = Path(subject)
    if path.suffix == ".json":
        path = path.parent
    return path / PROBLEM if path.is_dir() else path


def problem_of(
    subject: Problem | str | Path,
    host: Host,
    report: Report,
    overrides: Mapping[str, object] | None = None,
) -> Problem:
    """Return a problem: itself, or as its file or the folder of a result of it holds it."""
    if not isinstance(subject, str | Path):
        return subject
    return load_problem(file_of(subject), host=host, overrides=overrides, report=report)


def overridden(text: str, overrides: Mapping[str, object], file: str, host: Host) -> str:
    """Return the text of a problem file with overrides applied.

    If the estimator changes, options that both inherit from the same class are kept, since
    they have the same meaning. See :func:`~fmident.toml_file.overrides.apply_overrides` for
    the first three arguments. Raises `ProblemError` for an unknown key, or one that cannot
    be set in this text.
    """

    def shared(before: str, after: str) -> frozenset[str]:
        kinds = host.estimators.by_name
        if not {before, after} <= set(kinds):
            return frozenset()
        bases = [kinds[name].options_type.__mro__ for name in (before, after)]
        common = next(kind for kind in bases[0] if kind in bases[1])
        return frozenset(getattr(common, "__dataclass_fields__", ()))

    return apply_overrides(text, overrides, file, shared)


def problem_in_memory(
    fmu: str | os.PathLike[str],
    data: object,
    shared: Mapping[str, object],
    own: Mapping[str, Mapping[str, object]],
    tables: Mapping[str, object],
    *,
    host: Host | None = None,
    report: Report | None = None,
) -> Problem:
    """Create a problem from data in memory; it implements :meth:`fmident.Problem.from_frames`.

    The first five arguments are those of
    :func:`~fmident.problem.reading.in_memory.arguments_of`; `host` and `report` are as for
    :func:`load_problem`.
    """
    report = report or warn
    host = loaded(host, report)
    source, frames = arguments_of(fmu, data, shared, own, tables)
    problem = reread(source, frames, host, report)
    report(problem.notes)
    return problem


def reread(
    source: Source, frames: Mapping[str, pd.DataFrame], host: Host, report: Report
) -> Problem:
    """Read a problem from its text, with absolute paths, and its data in memory."""
    problem = read_problem(
        source,
        Path(),
        frames=frames,
        plugins=plugins_of(host, report),
    )
    return _suited(problem, host)


def _suited(found: Problem, host: Host) -> Problem:
    check_estimators(found, host.estimators.get, keeping_constraints(host))
    if found.stages:  # those of stages follow when the values are known that they hold
        return found
    return suited(found, host.estimators.get(found.estimator.name))


def plugins_of(host: Host, report: Report) -> Plugins:
    """Return what the host's plugins bring that a problem file can name."""
    return Plugins(_resolver(host, report), host.read_data, host.costs.get, host.executors.by_name)


def _resolver(host: Host, report: Report) -> ModelResolver:
    def resolve(class_name: str, table: Mapping[str, Any], base: Path) -> Path:
        from fmident.api.builds import resolve_class

        def tell(text: str) -> None:
            report([Diagnostic("note", text)])

        built = resolve_class(host, class_name, table, base, tell)
        report(built.notes)
        if built.result is not None:
            note = f"{built.fmu} built by {built.result.compiler} in {built.result.seconds:.1f} s"
            report([*built.result.diagnostics, Diagnostic("note", note)])
        return built.fmu

    return resolve


def write_problem(problem: Problem, path: str | os.PathLike[str] | None, *, data: bool) -> str:
    """Return the text of a problem file and write it to `path` if given.

    It implements :meth:`fmident.Problem.to_toml`; with `data`, the data files are written
    beside it. Raises `ProblemError` if the problem was changed after it was read or built
    from its parts, or if a file is in the way.
    """
    if not problem.file.text:
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
            _write(target.parent / name, _content(problem.file.frames, source, name))
        text = _absolute(problem, names)
    _write(target, text.encode())
    if data:
        written = load_problem(target, host=host, report=_silent)
        _refuse_other(problem, written, f"'{target}' cannot say what the problem is")
    return text


def _silent(_found: Iterable[Diagnostic]) -> None:
    """Discard warnings that were already reported when the problem was read."""


def _absolute(problem: Problem, copies: Mapping[Path, str]) -> str:
    """Return the text with absolute paths; data in memory keep their file names."""
    folder = _folder(problem)
    in_memory = {(folder / name).resolve(): name for name in problem.file.frames}
    return with_absolute_paths(problem.file.text, folder, problem.fmu, {**in_memory, **copies})


def _folder(problem: Problem) -> Path:
    return (Path() if problem.source is None else problem.source.parent).resolve()


def _read(problem: Problem, text: str, host: Host) -> Problem:
    if problem.source is None:
        return reread(Source(Path("problem"), text), problem.file.frames, host, _silent)
    return load_problem(problem.source, host=host, report=_silent, text=text)


def _refuse_other(problem: Problem, read: Problem, what: str) -> None:
    """Raise `ProblemError`, naming the difference, if the text means another problem."""
    before, now = ({**identity_of(p), "limits": _limits(p)} for p in (read, problem))
    difference = differences(before, now)
    if difference:
        raise ProblemError(
            f"{what}: {difference}",
            hint="make the change where the problem is read: load_problem(path, overrides=...),"
            " or the arguments of Problem.from_frames",
        )


def _limits(problem: Problem) -> dict[str, Any]:
    """Return the limits, which a run's identity omits because a later run may change them."""
    return {
        "options": {k: repr(v) for k, v in problem.estimator.options.items()},
        "evaluation": repr(problem.evaluation),
        "stages": {s.name: _limits(s.problem) for s in problem.stages},
    }


def _names_of_files(problem: Problem) -> dict[Path, str]:
    """Return the name that each (resolved) data file gets beside the problem file."""
    folder = _folder(problem)
    names: dict[Path, str] = {}
    for name in _data_of(loads(problem.file.text)):
        path = (folder / name).resolve()
        if path in names:
            continue
        stem, suffix, number = Path(name).stem, Path(name).suffix, 1
        own = f"{stem}{suffix}"
        while own.casefold() in {used.casefold() for used in names.values()}:
            number += 1
            own = f"{stem}_{number}{suffix}"
        names[path] = own
    return names


def _data_of(content: Mapping[str, Any]) -> Iterator[str]:
    for experiment in content["experiments"]:
        yield experiment["data"]
        for output in experiment["outputs"].values():
            if isinstance(output, Mapping) and "data" in output:
                yield output["data"]


def _content(frames: Mapping[str, pd.DataFrame], source: Path, name: str) -> bytes | Path:
    if name not in frames:
        return source
    return csv_of(read_table(Path(name), reader=InMemory(frames)))


def _write(path: Path, content: bytes | Path) -> None:
    """Write a file; raises `ProblemError` if another one exists or it cannot be written."""
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
