"""History of one run, as reported by the estimator."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import Iteration
from fmident.estimation.population import Generation
from fmident.evaluation import Evaluator, in_callers_thread
from fmident.problem.search_space import SearchSpace

_NEAR = 0.01
"""Part of the distance between the bounds up to which a vector counts as near to another."""


class Observer(Protocol):
    """A receiver of iterations, such as the progress line and the plugins."""

    def iteration(self, state: Iteration) -> None:
        """Receive an iteration; may raise :class:`StopEstimation` to end the run."""


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


class RunMonitor:
    """Numbers iterations, keeps the history and informs the observers, in their order."""

    def __init__(self, evaluator: Evaluator, observers: Sequence[Observer] = ()) -> None:
        self._evaluator = evaluator
        self._observers = tuple(observers)
        self._watchers = [o for o in self._observers if isinstance(o, Watcher)]
        if any(isinstance(o, ActivityObserver) for o in self._observers):
            evaluator.activities.listener = self._activity
        self._began = time.perf_counter()
        self._history: list[Iteration] = []
        self._notes: list[str] = []
        self._generations: list[Generation] = []

    @property
    def history(self) -> tuple[Iteration, ...]:
        """All iterations so far."""
        return tuple(self._history)

    @property
    def generations(self) -> tuple[Generation, ...]:
        """All vectors that a population method evaluated, by generation."""
        return tuple(self._generations)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the estimator."""
        return tuple(self._notes)

    @property
    def seconds(self) -> float:
        """Wall time since the start, s."""
        return time.perf_counter() - self._began

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration, also from one of several parallel searches.

        Raises :class:`StopEstimation` if an observer requests it.
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
            len(self._history),
            point,
            float(cost),
            self._evaluator.simulations,
            self._evaluator.jacobians,
            self.seconds,
            numbers,
        )
        self._history.append(state)
        for observer in self._observers:
            observer.iteration(state)

    def generation(self, points: F64, costs: F64) -> None:
        """Keep the vectors of one generation and their costs."""
        self._generations.append(Generation.of(points, costs))
        best = self._evaluator.best
        if self._watchers and best is not None:
            size, near = len(costs), int(near_to(best[0], points, self._evaluator.space).sum())
            for watcher in self._watchers:
                watcher.generation(size, near)

    def plan(self, plan: RunPlan) -> None:
        """Announce a search."""
        for watcher in self._watchers:
            watcher.planned(plan)

    def search_ended(self, parameters: F64, cost: float) -> None:
        """Inform watchers that one of several searches has ended."""

        def tell() -> None:
            for watcher in self._watchers:
                watcher.search_ended(float(cost))

        in_callers_thread(tell)

    def _activity(self, text: str, done: int, expected: int) -> None:
        for observer in self._observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)

    def note(self, message: str) -> None:
        """Keep a note for the user."""
        if message not in self._notes:
            self._notes.append(message)


def near_to(best: F64, points: F64, space: SearchSpace) -> npt.NDArray[np.bool_]:
    """Return which points, (k, n), are close to the best one in every parameter, (k,)."""
    reach = _NEAR * (space.upper - space.lower)
    away = np.abs(space.from_physical(points) - space.from_physical(best))
    near: npt.NDArray[np.bool_] = np.all(away <= reach, axis=-1)
    return near
