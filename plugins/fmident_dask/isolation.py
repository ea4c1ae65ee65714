"""Who runs the simulations inside a worker of the cluster.

A process of its own with one instance of the FMU, so that neither a crash nor a leak of native
code touches the worker, and so that a simulation can be stopped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.evaluation import Executor, ProcessExecutor
from fmident.operating_system import end_process

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def open_executor(problem: Problem, fmu: Path) -> Executor:
    """Return an executor for one simulation at once.

    Parameters
    ----------
    problem
        Its experiments and evaluation settings.
    fmu
        The FMU on this machine.

    Raises
    ------
    fmident.errors.FmuError
        The FMU cannot be used here.
    """
    problem = replace(problem, fmu=fmu)
    return ProcessExecutor(problem)


def interrupt(executor: Executor) -> None:
    """Stop the simulation that another thread is running, where it can be stopped."""
    if isinstance(executor, ProcessExecutor):
        for pid in executor.pids:
            end_process(pid)
