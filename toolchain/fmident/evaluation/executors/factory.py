"""From the problem's settings to the executor that runs its simulations."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fmident.errors import Code, Diagnostic, EstimationError, did_you_mean
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.executors.kind import ExecutorKind, Warn

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def make_executor(
    problem: Problem,
    kinds: Mapping[str, ExecutorKind] | None = None,
    *,
    warn: Warn | None = None,
) -> Executor:
    """Return the executor that ``[evaluation] executor`` of the problem asks for.

    Parameters
    ----------
    problem
        Its FMU, experiments and evaluation settings.
    kinds
        Executors by name, such as ``load_plugins().executors.by_name``; by default those that
        need no plugin.
    warn
        Takes warnings that come up on the way, such as that a cluster has no workers just now;
        Python warnings by default.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read or loaded, or does not fit the experiments.
    fmident.errors.EstimationError
        There is no such executor, or it is not available here.
    """
    kind, warn = _kind(problem, kinds), warn or _warn
    for key in kind.without_effect(problem):
        name = problem.evaluation.executor
        warn(
            Diagnostic(
                "warning",
                f"[evaluation]: '{key}' has no effect with executor = \"{name}\"",
                hint=f"remove it, or use executor = \"processes\", where '{key}' holds",
                rule="setting-without-effect",
            )
        )
    return kind.open(problem, warn)


def runs_in_this_process(problem: Problem, kinds: Mapping[str, ExecutorKind] | None = None) -> bool:
    """Return whether the executor of a problem runs native code in this process, at first.

    Then a crash would take this process along, and the FMU should be tried in a child first.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read.
    fmident.errors.EstimationError
        There is no such executor.
    """
    return not _kind(problem, kinds).isolates(problem)


def _auto_isolates(problem: Problem) -> bool:
    from fmident.fmu.fmu import read_description

    return not read_description(problem.fmu).is_own


def _auto(problem: Problem) -> Executor:
    # The code of the embedded compiler is known to be free of global state and to end. Any other
    # FMU is native code from somewhere else.
    if _auto_isolates(problem):
        return _processes(problem)
    from fmident.evaluation.executors.auto import AutoExecutor

    return AutoExecutor(problem)


def _inline(problem: Problem) -> Executor:
    from fmident.evaluation.executors.inline import InProcessExecutor

    return InProcessExecutor(problem)


def _processes(problem: Problem) -> Executor:
    from fmident.evaluation.executors.processes.executor import ProcessExecutor

    return ProcessExecutor(problem)


BUILT_IN: Mapping[str, ExecutorKind] = {
    "auto": ExecutorKind(
        lambda problem, _options, _warn: _auto(problem),
        "worker processes; this process first, for FMUs of the embedded compiler",
        isolated=_auto_isolates,
        limits_memory=True,
        renews=True,
    ),
    "inline": ExecutorKind(
        lambda problem, _options, _warn: _inline(problem),
        "one simulation after the other in this process",
        renews=True,
    ),
    "processes": ExecutorKind(
        lambda problem, _options, _warn: _processes(problem),
        "worker processes on this machine",
        isolated=True,
        limits_memory=True,
        renews=True,
    ),
}
"""The executors that come with fmident; a built-in plugin registers them."""


def _kind(problem: Problem, kinds: Mapping[str, ExecutorKind] | None) -> ExecutorKind:
    name, known = problem.evaluation.executor, BUILT_IN if kinds is None else kinds
    if name not in known:
        raise EstimationError(
            f"there is no executor '{name}'",
            hint=did_you_mean(name, known, kind="executor"),
            code=Code.UNKNOWN_NAME,
        )
    return known[name]


def _warn(diagnostic: Diagnostic) -> None:
    warnings.warn(str(diagnostic), stacklevel=3)
