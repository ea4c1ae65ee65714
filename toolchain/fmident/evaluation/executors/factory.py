"""From the problem's settings to the executor that runs its simulations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fmident.evaluation.executors.auto import AutoExecutor
from fmident.evaluation.executors.base import Executor
from fmident.evaluation.executors.inline import InProcessExecutor
from fmident.evaluation.executors.processes.executor import ProcessExecutor, processes_available
from fmident.fmu.fmu import read_description

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.problem.model import Problem

_OWN = "(embedded compiler)"
"""How the embedded compiler signs what it makes."""


def make_executor(
    problem: Problem, *, warn: Callable[[Diagnostic], None] | None = None
) -> Executor:
    """Return the executor that ``[evaluation] executor`` of the problem asks for.

    ``"auto"`` runs an FMU of the embedded compiler in this process first: its code is known
    to be free of global state and to end. Any other FMU is native code from somewhere else and
    runs in worker processes from the start.

    Parameters
    ----------
    problem
        Its FMU, experiments and evaluation settings.
    warn
        Takes warnings that come up on the way, such as that a cluster has no workers just now;
        Python warnings by default.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read or loaded, or does not fit the experiments.
    fmident.errors.EstimationError
        The executor is not available here.
    """
    kind = problem.evaluation.executor
    if kind == "dask":
        from fmident.evaluation.executors.dask import DaskExecutor

        return DaskExecutor(problem, warn=warn)
    if not runs_in_this_process(problem):
        return ProcessExecutor(problem)
    if kind == "inline" or not processes_available():
        return InProcessExecutor(problem)
    return AutoExecutor(problem)


def runs_in_this_process(problem: Problem) -> bool:
    """Return whether the executor of a problem runs native code in this process, at first.

    Then a crash would take this process along, and the FMU should be tried in a child first.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be read.
    """
    kind = problem.evaluation.executor
    if kind == "auto":
        return not processes_available() or is_own(read_description(problem.fmu).generation_tool)
    return kind == "inline"


def is_own(generation_tool: str) -> bool:
    """Return whether an FMU says that the embedded compiler has made it."""
    return generation_tool.startswith("fmident ") and generation_tool.endswith(_OWN)
