"""Who runs simulations.

An executor takes a batch and returns the outcomes in the same order. That is all the
:class:`~fmident.evaluation.Evaluator` knows, so that a batch may as well go to worker
processes, to other machines, or to a plain Python function in a test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from fmident.errors import EstimationError, SimulationError
from fmident.evaluation.setups import simulation_setup, simulation_setups
from fmident.evaluation.tasks import Simulated, SimulationFailure, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment
    from fmident.fmu import Fmu, SimulationSetup, Simulator
    from fmident.problem.model import Problem


class Executor(ABC):
    """Runs batches of simulations; a context manager that frees what it holds.

    Class attributes
    ----------------
    simultaneous
        How many simulations it runs at once.
    """

    simultaneous: int = 1

    @abstractmethod
    def run(self, tasks: Sequence[SimulationTask]) -> list[Simulated]:
        """Run all tasks.

        Parameters
        ----------
        tasks
            Independent of each other.

        Returns
        -------
        list
            In the order of `tasks`: outputs of shape (instants, outputs), the outputs of
            the experiment in the order of :func:`~fmident.evaluation.setups.output_variables`,
            or a :class:`SimulationFailure`. A failure never raises; ``KeyboardInterrupt`` does.
        """

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
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

        Returns
        -------
        list
            In the order of `values`: shape (instants, variables), or the failure.

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
        )

    def close(self) -> None:
        """Free what the executor holds. It cannot run tasks after that."""
        return

    def __enter__(self) -> Executor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class InProcessExecutor(Executor):
    """Runs one simulation after the other on one instance of the FMU in this process.

    Parameters
    ----------
    problem
        Its experiments and evaluation settings.
    fmu
        An open FMU; the executor does not close it.
    """

    def __init__(self, problem: Problem, fmu: Fmu) -> None:
        self._problem = problem
        self._names = tuple(e.name for e in problem.experiments)
        self._setups: tuple[SimulationSetup, ...] = simulation_setups(problem)
        self._simulator: Simulator = fmu.simulator()

    def run(self, tasks: Sequence[SimulationTask]) -> list[Simulated]:
        """Run all tasks in order."""
        return [
            self._run_one(self._setups[task.experiment], task.values, self._names[task.experiment])
            for task in tasks
        ]

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        """Simulate an experiment that need not be one of the problem's."""
        setup = simulation_setup(self._problem, experiment, variables)
        return [self._run_one(setup, chosen, experiment.name) for chosen in values]

    def close(self) -> None:
        """Free the FMU's instance."""
        self._simulator.close()

    def _run_one(
        self, setup: SimulationSetup, values: Mapping[str, float], experiment: str
    ) -> Simulated:
        try:
            outputs = self._simulator.simulate(setup, values)
        except SimulationError as error:
            return SimulationFailure.of(error, values, experiment)
        return refuse_not_finite(outputs, values, experiment)


def refuse_not_finite(
    outputs: Simulated, values: Mapping[str, float], experiment: str
) -> Simulated:
    """Return a failure in place of outputs that hold NaN or infinity."""
    if isinstance(outputs, SimulationFailure) or bool(np.isfinite(outputs).all()):
        return outputs
    row, column = (int(k) for k in np.argwhere(~np.isfinite(outputs))[0])
    return SimulationFailure(
        f"output {column} is {outputs[row, column]} from sample {row} on",
        None,
        dict(values),
        (),
        experiment,
    )
