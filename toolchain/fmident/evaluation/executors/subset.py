"""An executor for some of the experiments of another's problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor, ExecutorReport
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


class SubsetExecutor(Executor):
    """Hands the simulations of some experiments on, so that stages share one executor.

    Parameters
    ----------
    whole
        Knows all experiments. It stays open when this is closed.
    experiments
        Index of each experiment in the problem of `whole`.
    """

    def __init__(self, whole: Executor, experiments: Sequence[int]) -> None:
        self.whole = whole
        self._experiments = tuple(experiments)

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """How many simulations run at once."""
        return self.whole.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether native code that crashes leaves this process alone."""
        return self.whole.isolated

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks as tasks of the whole problem."""
        renumbered = [
            dataclasses.replace(task, experiment=self._experiments[task.experiment])
            for task in tasks
        ]
        return self.whole.run(renumbered, done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        """Simulate an experiment that need not be one of the problem's."""
        return self.whole.run_other(experiment, variables, values)

    def report(self) -> ExecutorReport:
        """Return what the whole executor has done so far."""
        return self.whole.report()
