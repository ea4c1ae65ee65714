"""Contract of executors: a batch of simulations in, outcomes out."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from fmident.context_managers import Closes
from fmident.errors import Code, EstimationError
from fmident.evaluation.setups import SetupTable
from fmident.evaluation.tasks import OtherExperiment, Outcomes, Simulated, SimulationTask
from fmident.fmu.sensitivities import differentiable

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.problem.model import Problem


GROWTH_LIMIT = 256 * 1024 * 1024
"""Bytes by which the memory of a worker may grow over that after its first runs before it is
replaced. A leak of 1 kB per run is then renewed every 250 000 runs, one of 10 MB every 25."""


@dataclass(frozen=True)
class ExecutorReport:
    """Activity of an executor so far, for the result's settings.

    `renewals` are workers or instances replaced as planned, `crashes` workers that died in
    a simulation, `timeouts` simulations aborted because of the time limit. `notes` are for
    the user; `doubts` are reasons to doubt the outcomes, such as irreproducible results.
    """

    name: str
    workers: int = 1
    renewals: int = 0
    crashes: int = 0
    timeouts: int = 0
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def settings(self) -> dict[str, object]:
        """Return the entries for the settings of a result."""
        return {
            "executor": self.name,
            "workers": self.workers,
            "renewals": self.renewals,
            "crashes": self.crashes,
            "timeouts": self.timeouts,
        }


class Executor(Closes, ABC):
    """Runs batches of simulations; a context manager that frees its resources.

    Not thread-safe. All executors give the same outputs to the last bit for the same task,
    whatever they ran before and in whatever order.

    Class attributes
    ----------------
    simultaneous
        Number of simultaneous simulations.
    isolated
        Whether this process survives a crash of native code.
    differentiable
        FMU variables allowed as sensitivities of a task; tasks never contain others. Empty
        by default, so that an executor need not support sensitivities.
    other_experiments
        Whether tasks may have an experiment that is not one of the problem's.
    """

    simultaneous: int = 1
    isolated: bool = False
    differentiable: frozenset[str] = frozenset()
    other_experiments: bool = False

    @abstractmethod
    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks, which are independent of each other, in any order.

        Yields
        ------
        tuple
            The index of a task, and its outcome as soon as that is known: it is then not lost if
            this process dies during the batch. The outcome is an array of the outputs, shape
            (instants, outputs), in the order of
            :func:`~fmident.evaluation.setups.output_variables`, or a
            :class:`~fmident.evaluation.SimulationFailure`; wider for a task with sensitivities,
            see :class:`SimulationTask`. A failed simulation never raises; ``KeyboardInterrupt``
            and an FMU that cannot be loaded do. Who closes the iterator early calls the rest off.
        """

    def run_all(self, tasks: Sequence[SimulationTask]) -> list[Simulated]:
        """Run all tasks and return their outcomes in order."""
        outcomes = dict(self.run(tasks))
        return [outcomes[index] for index in range(len(tasks))]

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that may be foreign to the problem.

        Parameters
        ----------
        experiment
            Times, inputs and start values; its measurements are ignored.
        variables
            FMU variables to record, outputs or not.
        values
            FMU variable to value, one mapping per simulation.
        sensitivities
            As in a task.

        Returns
        -------
        list
            In the order of `values`: shape (instants, variables), wider with sensitivities, or
            the failure.

        Raises
        ------
        fmident.errors.EstimationError
            This executor can only run the problem's experiments.
        fmident.errors.FmuError
            The FMU does not have a variable or an input of that name.
        """
        if not self.other_experiments:
            raise EstimationError(
                f"{type(self).__name__} can only run the experiments of the problem",
                hint="its 'run' must take tasks with 'other', and 'other_experiments' say so; the "
                "executors that come with fmident do",
                code=Code.NOT_SUPPORTED,
            )
        other, names = OtherExperiment(experiment, tuple(variables)), tuple(sensitivities)
        return self.run_all([SimulationTask(-1, v, None, names, other=other) for v in values])

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        return ExecutorReport(type(self).__name__, self.simultaneous)

    def close(self) -> None:
        """Free the executor's resources; it cannot run tasks afterwards."""
        return


class DelegatingExecutor(Executor):
    """Delegates to another executor, which stays open; base class of those that add something."""

    def __init__(self, whole: Executor) -> None:
        self.whole = whole

    # Properties, since both may change while an executor runs.

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """Number of simultaneous simulations."""
        return self.whole.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether this process survives a crash of native code."""
        return self.whole.isolated

    @property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables for which tasks may request sensitivities."""
        return self.whole.differentiable

    @property
    def other_experiments(self) -> bool:  # type: ignore[override]
        """Whether tasks may have an experiment that is not one of the problem's."""
        return self.whole.other_experiments

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Delegate all tasks."""
        return self.whole.run(tasks)

    def report(self) -> ExecutorReport:
        """Return the report of the whole executor."""
        return self.whole.report()


class SubsetExecutor(DelegatingExecutor):
    """Delegates the simulations of some experiments, so that stages share one executor.

    `experiments` are the indices in the problem of `whole`, which stays open.
    """

    def __init__(self, whole: Executor, experiments: Sequence[int]) -> None:
        super().__init__(whole)
        self._experiments = tuple(experiments)

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        """Run all tasks as tasks of the whole problem."""
        return self.whole.run([self._renumbered(task) for task in tasks])

    def _renumbered(self, task: SimulationTask) -> SimulationTask:
        if task.other is not None:
            return task
        return dataclasses.replace(task, experiment=self._experiments[task.experiment])


class FmuExecutor(Executor):
    """An executor that runs setups of any experiments of an FMU on this machine."""

    other_experiments = True

    def __init__(self, problem: Problem) -> None:
        self._settings = problem.evaluation
        self._fmu = problem.fmu
        self._table = SetupTable(problem)

    @cached_property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables for which tasks may request sensitivities."""
        return differentiable(self._fmu, self._settings.interface)
