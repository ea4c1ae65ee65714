"""Who runs the simulations inside a worker of the cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Executor
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.fmu import Fmu
    from fmident.problem.model import Problem


def open_executor(problem: Problem, fmu: Path) -> Executor:
    """Return an executor that closes its FMU with itself."""
    from fmident.evaluation.executors.inline import InProcessExecutor
    from fmident.fmu import open_fmu

    opened = open_fmu(fmu)
    try:
        return _Opened(InProcessExecutor(replace(problem, fmu=fmu), opened), opened)
    except BaseException:
        opened.close()
        raise


class _Opened(Executor):
    def __init__(self, executor: Executor, fmu: Fmu) -> None:
        self._executor = executor
        self._fmu = fmu

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        return self._executor.run(tasks, done)

    def report(self) -> ExecutorReport:
        return self._executor.report()

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        return self._executor.run_other(experiment, variables, values)

    def close(self) -> None:
        self._executor.close()
        self._fmu.close()
