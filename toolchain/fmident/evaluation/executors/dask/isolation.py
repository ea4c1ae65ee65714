"""Who runs the simulations inside a worker of the cluster.

A process of its own with one instance of the FMU, so that neither a crash nor a leak of native
code touches the worker, and so that a simulation can be stopped. Where there are no such
processes the worker itself simulates.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor, ExecutorReport
from fmident.evaluation.executors.processes.executor import ProcessExecutor, processes_available
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
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
    return ProcessExecutor(problem, fmu) if processes_available() else _InWorker(problem, fmu)


def interrupt(executor: Executor) -> None:
    """Stop the simulation that another thread is running, where it can be stopped."""
    if isinstance(executor, ProcessExecutor):
        for pid in executor.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class _InWorker(Executor):
    """Simulates in the worker; closes the FMU with itself."""

    def __init__(self, problem: Problem, path: Path) -> None:
        from fmident.evaluation.executors.inline import InProcessExecutor
        from fmident.fmu import open_fmu

        self._fmu = open_fmu(path)
        try:
            self._executor = InProcessExecutor(problem, self._fmu)
        except BaseException:
            self._fmu.close()
            raise

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        return self._executor.run(tasks, done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        return self._executor.run_other(experiment, variables, values)

    def report(self) -> ExecutorReport:
        return self._executor.report()

    def close(self) -> None:
        self._executor.close()
        self._fmu.close()
