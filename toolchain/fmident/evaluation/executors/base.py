"""What an executor is: it takes a batch of simulations and returns the outcomes in order."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fmident._closing import Closes
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
    """What an executor has done so far, for the result's settings.

    Parameters
    ----------
    name
        Such as ``"inline"`` or ``"processes"``.
    workers
        Simulations at once.
    renewals
        Workers or instances replaced in good order: their share of runs done, or their memory
        grown.
    crashes
        Workers that died in a simulation, whatever killed them.
    timeouts
        Simulations given up because they took too long.
    notes
        What the user should know, in sentences.
    doubts
        What makes the outcomes doubtful, in sentences: that the FMU does not repeat itself.
    """

    name: str
    workers: int = 1
    renewals: int = 0
    crashes: int = 0
    timeouts: int = 0
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    def settings(self) -> dict[str, object]:
        """Return what belongs into the settings of a result."""
        return {
            "executor": self.name,
            "workers": self.workers,
            "renewals": self.renewals,
            "crashes": self.crashes,
            "timeouts": self.timeouts,
        }


class Executor(Closes, ABC):
    """Runs batches of simulations; a context manager that frees what it holds.

    Not thread-safe. All executors give the same outputs to the last bit for the same task,
    whatever they ran before and in whatever order.

    Class attributes
    ----------------
    simultaneous
        How many simulations it runs at once.
    isolated
        Whether native code that crashes leaves this process alone.
    differentiable
        FMU variables that the sensitivities of a task may name. One that names others is never
        handed in; none by default, so that an executor need not know of sensitivities.
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
            Called with each outcome once, as soon as it is known, in any order: what an executor
            reports early is not lost when this process dies in the middle of the batch.

        Returns
        -------
        list
            In the order of `tasks`: outputs of shape (instants, outputs), the outputs of
            the experiment in the order of :func:`~fmident.evaluation.setups.output_variables`,
            or a :class:`SimulationFailure`; wider where a task asks for sensitivities, see
            :class:`SimulationTask`. A failure never raises; ``KeyboardInterrupt`` does,
            and so does an FMU that cannot be loaded at all.
        """

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Simulate an experiment that need not be one of the problem's.

        Parameters
        ----------
        experiment
            Times, inputs and start values; its measurements are not looked at.
        variables
            FMU variables to record, outputs or not.
        values
            FMU variable to value, one mapping per simulation.
        sensitivities
            As of a task; handed in only if there are any, so an executor that is not
            :attr:`differentiable` can do without this argument.

        Returns
        -------
        list
            In the order of `values`: shape (instants, variables), wider with sensitivities, or the
            failure.

        Raises
        ------
        fmident.errors.EstimationError
            This executor can only run the problem's experiments.
        fmident.errors.FmuError
            A variable or an input that the FMU does not have.
        """
        raise EstimationError(
            f"{type(self).__name__} can only run the experiments of the problem",
            hint="it needs a method 'run_other'; the executors that come with fmident have it",
            code=Code.NOT_SUPPORTED,
        )

    def report(self) -> ExecutorReport:
        """Return what the executor has done so far."""
        return ExecutorReport(type(self).__name__, self.simultaneous)

    def close(self) -> None:
        """Free what the executor holds. It cannot run tasks after that."""
        return


class HandingOn(Executor):
    """Hands everything on to another executor; the base of those that add something.

    Parameters
    ----------
    whole
        Runs the simulations. It stays open when this is closed.
    """

    def __init__(self, whole: Executor) -> None:
        self.whole = whole

    # Properties, since both may change while an executor runs.

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """How many simulations run at once."""
        return self.whole.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether native code that crashes leaves this process alone."""
        return self.whole.isolated

    @property
    def differentiable(self) -> frozenset[str]:  # type: ignore[override]
        """FMU variables that the sensitivities of a task may name."""
        return self.whole.differentiable

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Have all tasks run."""
        return self.whole.run(tasks, done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
        sensitivities: Sequence[str] = (),
    ) -> list[Simulated]:
        """Have an experiment simulated that need not be one of the problem's."""
        return run_other(self.whole, experiment, variables, values, sensitivities)

    def report(self) -> ExecutorReport:
        """Return what the whole executor has done so far."""
        return self.whole.report()


def run_other(
    executor: Executor,
    experiment: Experiment,
    variables: Sequence[str],
    values: Sequence[Mapping[str, float]],
    sensitivities: Sequence[str],
) -> list[Simulated]:
    """Have an executor simulate another experiment; it may not know of sensitivities."""
    if not sensitivities:
        return executor.run_other(experiment, variables, values)
    return executor.run_other(experiment, variables, values, sensitivities)


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
