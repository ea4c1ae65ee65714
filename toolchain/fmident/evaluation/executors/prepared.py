"""Base of executors on this machine: tasks become setups in a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor
from fmident.evaluation.setups import Prepared, SetupTable
from fmident.evaluation.tasks import Simulated, SimulationTask
from fmident.fmu.sensitivities import differentiable

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem

Work = Sequence[tuple[Prepared, Mapping[str, float]]]
"""What to simulate, each with the values of FMU variables."""


class PreparedExecutor(Executor):
    """An executor that runs setups of any experiments."""

    def __init__(self, problem: Problem) -> None:
        self._settings = problem.evaluation
        self._fmu = problem.fmu
        self._table = SetupTable(problem)

    @cached_property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables for which tasks may request sensitivities."""
        return differentiable(self._fmu, self._settings.interface)

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks, in parts of as many as the executor runs at once."""
        return self._run([(self._table.of(task), task.values) for task in tasks], done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not belong to the problem."""
        prepared = self._table.other(experiment, variables, sensitivities)
        return self._run([(prepared, chosen) for chosen in values], None)

    @abstractmethod
    def _run(self, work: Work, done: Done | None) -> list[Simulated]:
        """Return the outcomes in the order of `work`; `done` receives each."""
