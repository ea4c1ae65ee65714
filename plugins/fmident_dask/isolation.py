"""Who runs the simulations inside a worker of the cluster.

A process of its own with one instance of the FMU, so that neither a crash nor a leak of native
code touches the worker, and so that a simulation can be stopped. Where there are no such
processes the worker itself simulates.
"""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.evaluation import Executor, InProcessExecutor, ProcessExecutor
from fmident.evaluation.executors.processes.machine import processes_available

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
    return ProcessExecutor(problem) if processes_available() else InProcessExecutor(problem)


def interrupt(executor: Executor) -> None:
    """Stop the simulation that another thread is running, where it can be stopped."""
    if isinstance(executor, ProcessExecutor):
        for pid in executor.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
