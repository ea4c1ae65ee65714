"""Several searches that share one executor, each with a share of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from fmident.evaluation.executors.base import Done, Executor, ExecutorReport
from fmident.evaluation.tasks import Simulated, SimulationTask

if TYPE_CHECKING:
    from fmident.data.experiment import Experiment

T = TypeVar("T")


class Share(Executor):
    """Hands simulations on to an executor that others use as well.

    Parameters
    ----------
    whole
        Runs them. It stays open when this is closed.
    """

    def __init__(self, whole: Executor) -> None:
        self.whole = whole

    @property
    def simultaneous(self) -> int:  # type: ignore[override]
        """How many simulations run at once."""
        return self.whole.simultaneous

    @property
    def isolated(self) -> bool:  # type: ignore[override]
        """Whether native code that crashes leaves this process alone."""
        return self.whole.isolated

    def run(self, tasks: Sequence[SimulationTask], done: Done | None = None) -> list[Simulated]:
        """Have all tasks run."""
        return self.whole.run(tasks, done)

    def run_other(
        self,
        experiment: Experiment,
        variables: Sequence[str],
        values: Sequence[Mapping[str, float]],
    ) -> list[Simulated]:
        """Have an experiment simulated that need not be one of the problem's."""
        return self.whole.run_other(experiment, variables, values)

    def report(self) -> ExecutorReport:
        """Return what the whole executor has done so far."""
        return self.whole.report()


def run_side_by_side(searches: Sequence[Callable[[Executor], T]], executor: Executor) -> list[T]:
    """Run searches that simulate, and return what they return, in order.

    Parameters
    ----------
    searches
        Called with an executor each.
    executor
        Runs the simulations of all.
    """
    return [search(Share(executor)) for search in searches]


def whole_of(executor: Executor) -> Executor:
    """Return the executor of which this is a share."""
    while isinstance(executor, Share):
        executor = executor.whole
    return executor
