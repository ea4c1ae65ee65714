"""An executor that does what several processes at once do to a batch, without any process."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.evaluation import PythonExecutor, SimulationTask
from fmident.evaluation.executors.base import Done
from fmident.evaluation.tasks import Simulated

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment


class ShuffledExecutor(PythonExecutor):
    """Runs tasks in an order of its own, and hands on copies, as worker processes do.

    Tasks and outcomes go through pickle, and the outcomes are reported in the order in which they
    were finished, which is not that of the batch.
    """

    simultaneous = 4

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks."""
        order = [int(k) for k in np.random.default_rng(len(tasks)).permutation(len(tasks))]
        found: dict[int, Simulated] = {}
        for index in order:
            task: SimulationTask = pickle.loads(pickle.dumps(tasks[index]))
            (outcome,) = super().run([task])
            found[index] = pickle.loads(pickle.dumps(outcome))
            if done is not None:
                done(index, found[index])
        return [found[index] for index in range(len(tasks))]

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Evaluate an experiment that need not be one of the problem's, last things first."""
        sent = pickle.loads(pickle.dumps((experiment, tuple(variables), list(values))))
        found = super().run_other(sent[0], sent[1], sent[2][::-1], tuple(sensitivities))
        received: list[Simulated] = pickle.loads(pickle.dumps(found[::-1]))
        return received
