"""An executor for some of the experiments of another's problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.evaluation.executors.base import Done, Executor, HandingOn
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    pass


class SubsetExecutor(HandingOn):
    """Hands the simulations of some experiments on, so that stages share one executor.

    Parameters
    ----------
    whole
        Knows all experiments. It stays open when this is closed.
    experiments
        Index of each experiment in the problem of `whole`.
    """

    def __init__(self, whole: Executor, experiments: Sequence[int]) -> None:
        super().__init__(whole)
        self._experiments = tuple(experiments)

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks as tasks of the whole problem."""
        renumbered = [
            dataclasses.replace(task, experiment=self._experiments[task.experiment])
            for task in tasks
        ]
        return self.whole.run(renumbered, done)
