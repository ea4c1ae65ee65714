"""History of one run, as reported by the estimator."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import Generation, Iteration
from fmident.evaluation import Evaluator, in_callers_thread
from fmident.problem.model import SearchSpace

_NEAR = 0.01
"""Part of the distance between the bounds up to which a vector counts as near to another."""


SAME_COST = 1e-3
"""Relative difference of costs up to which two searches count as one minimum: the noise of a
simulation lets searches end a little apart."""


class Observer(Protocol):
    """A receiver of iterations, such as the progress line and the plugins."""

    def iteration(self, state: Iteration) -> None:
        """Receive an iteration.

        May raise :class:`~fmident.estimation.StopEstimation` to end the run.
        """


@runtime_checkable
class ActivityObserver(Protocol):
    """An observer that also receives activity outside of iterations."""

    def activity(self, text: str, done: int, expected: int) -> None:
        """Receive the progress of a series of simulations."""


@dataclass(frozen=True, eq=False)
class RunPlan:
    """Facts about a search before it begins.

    `parameters` are the names of the free parameters, in the order of
    :attr:`Iteration.parameters`, with the values `initial`; `simulations` is an approximate
    number, if known; `number` counts the stages from 1. The stage's name is empty without
    stages.
    """

    estimator: str
    parameters: tuple[str, ...]
    initial: F64
    simulations: int | None = None
    stage: str = ""
    number: int = 1
    stages: int = 1


@runtime_checkable
class Watcher(Protocol):
    """An observer that displays a run and needs more than its iterations."""

    def planned(self, plan: RunPlan) -> None:
        """Receive the plan of a search that begins."""

    def search_ended(self, cost: float) -> None:
        """Receive the end of one of several searches."""

    def generation(self, size: int, near: int) -> None:
        """Receive a generation: its size, and the number of vectors near the best so far."""


class Audience:
    """Passes reports on to observers, in their order, as far as they take them."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self.observers = tuple(observers)
        self.watchers = [o for o in self.observers if isinstance(o, Watcher)]

    def iteration(self, state: Iteration) -> None:
        """Pass an iteration on."""
        for observer in self.observers:
            observer.iteration(state)

    def activity(self, text: str, done: int, expected: int) -> None:
        """Pass the progress of a series of simulations on."""
        for observer in self.observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)

    def planned(self, plan: RunPlan) -> None:
        """Pass the plan of a search on."""
        for watcher in self.watchers:
            watcher.planned(plan)

    def search_ended(self, cost: float) -> None:
        """Pass the end of one of several searches on."""
        for watcher in self.watchers:
            watcher.search_ended(cost)

    def generation(self, size: int, near: int) -> None:
        """Pass a generation on."""
        for watcher in self.watchers:
            watcher.generation(size, near)


class RunMonitor:
    """Numbers iterations, keeps the history and informs the observers, in their order."""

    def __init__(self, evaluator: Evaluator, observers: Sequence[Observer] = ()) -> None:
        self._evaluator = evaluator
        self._audience = Audience(observers)
        if any(isinstance(o, ActivityObserver) for o in observers):
            evaluator.activities.listener = self._audience.activity
        self._began = time.perf_counter()
        self.history: list[Iteration] = []
        self.notes: list[str] = []
        self.generations: list[Generation] = []

    @property
    def seconds(self) -> float:
        """Wall time since the start, s."""
        return time.perf_counter() - self._began

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration, also from one of several parallel searches.

        Raises :class:`~fmident.estimation.StopEstimation` if an observer requests it.
        """
        # Observers need not know of threads.
        in_callers_thread(lambda: self._iteration(parameters, cost, details))

    def _iteration(self, parameters: F64, cost: float, details: Mapping[str, float]) -> None:
        point = np.array(parameters, dtype=np.float64)
        count = len(self._evaluator.problem.free)
        if point.shape != (count,):
            raise ValueError(
                f"parameters of an iteration have shape {point.shape}, but there are {count}"
            )
        point.flags.writeable = False
        numbers = {key: float(value) for key, value in details.items()}
        restored = self._evaluator.served.restored
        if restored:
            numbers["restored"] = float(restored)
        state = Iteration(
            len(self.history),
            point,
            float(cost),
            self._evaluator.simulations,
            self._evaluator.jacobians,
            self.seconds,
            numbers,
        )
        self.history.append(state)
        self._audience.iteration(state)

    def generation(self, points: F64, costs: F64) -> None:
        """Keep the vectors of one generation and their costs."""
        self.generations.append(Generation.of(points, costs))
        best = self._evaluator.best
        if self._audience.watchers and best is not None:
            near = near_to(best[0], points, self._evaluator.space)
            self._audience.generation(len(costs), int(near.sum()))

    def plan(self, plan: RunPlan) -> None:
        """Announce a search."""
        self._audience.planned(plan)

    def search_ended(self, parameters: F64, cost: float) -> None:
        """Inform watchers that one of several searches has ended."""
        in_callers_thread(lambda: self._audience.search_ended(float(cost)))

    def note(self, message: str) -> None:
        """Keep a note for the user."""
        if message not in self.notes:
            self.notes.append(message)


def near_to(best: F64, points: F64, space: SearchSpace) -> npt.NDArray[np.bool_]:
    """Return which points, (k, n), are close to the best one in every parameter, (k,)."""
    reach = _NEAR * (space.upper - space.lower)
    away = np.abs(space.from_physical(points) - space.from_physical(best))
    near: npt.NDArray[np.bool_] = np.all(away <= reach, axis=-1)
    return near


def agreeing(costs: Sequence[float], best: float | None = None) -> int:
    """Return how many searches ended at the lowest minimum, whose cost is `best` if given."""
    least = min(costs, default=float("inf")) if best is None else best
    return sum(cost <= least * (1.0 + SAME_COST) + 1e-300 for cost in costs)
