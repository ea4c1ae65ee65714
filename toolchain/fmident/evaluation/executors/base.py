"""Contract of executors: a batch of simulations in, outcomes in order out."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fmident.context_managers import Closes
from fmident.errors import Code, EstimationError
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

    pass


Done: TypeAlias = Callable[[int, Simulated], None]
"""Called with the index of a task in its batch, and its outcome, as soon as that is known."""


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
    """

    simultaneous: int = 1
    isolated: bool = False
    differentiable: frozenset[str] = frozenset()

    @abstractmethod
    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Run all tasks.

        Parameters
        ----------
        tasks
            Independent of each other; they may run in any order.
        done
            Called once with each outcome, as soon as it is known, in any order: outcomes
            reported early are not lost if this process dies during the batch.

        Returns
        -------
        list
            In the order of `tasks`: outputs of the experiment, shape (instants, outputs), in
            the order of :func:`~fmident.evaluation.setups.output_variables`, or a
            :class:`SimulationFailure`; wider for a task with sensitivities, see
            :class:`SimulationTask`. A failed simulation never raises; ``KeyboardInterrupt`` and
            an FMU that cannot be loaded do.
        """

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
            As in a task; passed only if there are any, so an executor that is not
            :attr:`differentiable` can omit this argument.

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
        raise EstimationError(
            f"{type(self).__name__} can only run the experiments of the problem",
            hint="it needs a method 'run_other'; the executors that come with fmident have it",
            code=Code.NOT_SUPPORTED,
        )

    def report(self) -> ExecutorReport:
        """Return a report of the executor's activity so far."""
        return ExecutorReport(type(self).__name__, self.simultaneous)

    def close(self) -> None:
        """Free the executor's resources; it cannot run tasks afterwards."""
        return


class HandingOn(Executor):
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

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Delegate all tasks."""
        return self.whole.run(tasks, done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Delegate the simulation of an experiment that may be foreign to the problem."""
        return run_other(self.whole, experiment, variables, values, sensitivities)

    def report(self) -> ExecutorReport:
        """Return the report of the whole executor."""
        return self.whole.report()


def run_other(
    executor: Executor,
    experiment: Experiment,
    variables: Sequence[str],
    values: Sequence[Mapping[str, float]],
    sensitivities: Sequence[str],
) -> list[Simulated]:
    """Let an executor, which may not support sensitivities, simulate another experiment."""
    if not sensitivities:
        return executor.run_other(experiment, variables, values)
    return executor.run_other(experiment, variables, values, sensitivities)


class SubsetExecutor(HandingOn):
    """Delegates the simulations of some experiments, so that stages share one executor.

    `experiments` are the indices in the problem of `whole`, which stays open.
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
