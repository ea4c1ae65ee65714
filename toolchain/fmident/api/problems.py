"""From a problem file to a :class:`~fmident.problem.model.Problem`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.api.wiring import Report, keeping_constraints, loaded, warn
from fmident.errors import Diagnostic, FmidentError
from fmident.toml_file.overrides import apply_overrides, left_out, relocate

if TYPE_CHECKING:
    import pandas as pd

    from fmident.plugins import Host
    from fmident.problem import ModelResolver
    from fmident.problem.model import Problem
    from fmident.toml_file import Source


def load_problem(
    path: str | Path,
    *,
    host: Host | None = None,
    overrides: Mapping[str, object] | None = None,
    report: Report = warn,
    text: str | None = None,
) -> Problem:
    """Read a problem file, its data, and the description of its FMU.

    A class named by ``model.class`` is compiled when its FMU is missing or stale.

    Parameters
    ----------
    path
        The TOML file.
    host
        Plugins; loaded when not given.
    overrides
        Dotted key of the file to value, such as ``{"estimator.solver": "scipy"}``.
    report
        Takes warnings of plugins and of the compiler; Python warnings by default.
    text
        What to read in place of the file's content.

    Returns
    -------
    fmident.problem.Problem
        Immutable.

    Raises
    ------
    fmident.errors.FmidentError
        Anything that is wrong in the file, the data or the FMU.
    """
    from fmident import problem as problems

    host = loaded(host, report)
    chosen = dict(overrides or {})
    content = problems.read_problem_file(path) if text is None else text
    text = overridden(content, chosen, str(path), host)
    try:
        found = problems.load_problem(
            path,
            text=text,
            resolve_model=resolver(host, report),
            reader=host.read_data,
            resolve_cost=host.costs.get,
            executors=host.executors.by_name,
        )
        found = _suited(found, host)
    except FmidentError as error:
        relocate(error, content, text, chosen, str(path))
        raise
    report([*left_out(content, text, chosen), *found.notes])
    return found


def overridden(text: str, overrides: Mapping[str, object], file: str, host: Host) -> str:
    """Return the text of a problem file with some keys changed.

    Another estimator keeps the options that both have from one class: they mean the same.

    Parameters
    ----------
    text, overrides, file
        See :func:`~fmident.toml_file.overrides.apply_overrides`.
    host
        Has the estimators.

    Raises
    ------
    fmident.errors.ProblemError
        A key that is none, or that this text cannot take.
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
    """Make a problem of data in memory: what :meth:`fmident.Problem.from_frames` does.

    Parameters
    ----------
    fmu, data, shared, own, tables
        As of :func:`~fmident.problem.reading.in_memory.arguments_of`.
    host
        Plugins; loaded when not given.
    report
        Takes warnings of plugins and of the compiler; Python warnings by default.
    """
    from fmident.problem.reading.in_memory import arguments_of

    report = report or warn
    host = loaded(host, report)
    source, frames = arguments_of(fmu, data, shared, own, tables)
    found = reread(source, frames, host, report)
    report(found.notes)
    return found


def reread(
    source: Source, frames: Mapping[str, pd.DataFrame], host: Host, report: Report
) -> Problem:
    """Read a problem of data in memory.

    Parameters
    ----------
    source
        Its text, with absolute paths.
    frames
        Its data.
    host, report
        As for :func:`load_problem`.
    """
    from fmident.problem.reading.file import read_problem

    found = read_problem(
        source,
        Path(),
        frames=frames,
        resolve_model=resolver(host, report),
        reader=host.read_data,
        resolve_cost=host.costs.get,
        executors=host.executors.by_name,
    )
    return _suited(found, host)


def _suited(found: Problem, host: Host) -> Problem:
    """Return the problem as its estimator needs it."""
    from fmident.estimation.choices import check_estimators, suited

    check_estimators(found, host.estimators.get, keeping_constraints(host))
    if found.stages:  # those of stages follow when the values are known that they hold
        return found
    return suited(found, host.estimators.get(found.estimator.name))


def resolver(host: Host, report: Report) -> ModelResolver:
    """Return what finds or builds the FMU of a class."""

    def resolve(class_name: str, table: Mapping[str, Any], base: Path) -> Path:
        from fmident.api.builds import resolve_class

        def tell(text: str) -> None:
            report([Diagnostic("note", text)])

        built = resolve_class(host, class_name, table, base, tell)
        if built.result is not None:
            note = f"{built.fmu} built by {built.result.compiler} in {built.result.seconds:.1f} s"
            report([*built.result.diagnostics, Diagnostic("note", note)])
        return built.fmu

    return resolve
