"""The history of one run, as the estimator reports it."""

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
    """Who receives iterations, such as the progress line and the plugins."""

    def iteration(self, state: Iteration) -> None:
        """Take note of an iteration.

        Raises
        ------
        StopEstimation
            To end the run with the best parameters so far.
        """


@runtime_checkable
class ActivityObserver(Protocol):
    """An observer that also wants to know what goes on outside of iterations."""

    def activity(self, text: str, done: int, expected: int) -> None:
        """Take note of how far a series of simulations is."""


@dataclass(frozen=True, eq=False)
class RunPlan:
    """What is known of a search before it begins.

    Parameters
    ----------
    estimator
        Its name.
    parameters
        Names of the free parameters, in the order of :attr:`Iteration.parameters`.
    initial
        Their values, shape (n,).
    simulations
        How many it takes, about, if that is known.
    stage
        Name of the stage; empty without stages.
    number, stages
        Its place, counted from 1, and how many there are.
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
    """An observer that shows a run, and so wants to know more than its iterations."""

    def planned(self, plan: RunPlan) -> None:
        """Take note of a search that begins."""

    def search_ended(self, cost: float) -> None:
        """Take note that one of several searches has ended."""

    def generation(self, size: int, near: int) -> None:
        """Take note of a generation: its size, and how many are near the best so far."""


class RunMonitor:
    """Numbers iterations, keeps the history and informs the observers.

    Parameters
    ----------
    evaluator
        Whose counters go into the history.
    observers
        Called in this order.
    """

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
        """What the estimator noted."""
        return tuple(self._notes)

    @property
    def seconds(self) -> float:
        """Wall time since the start, s."""
        return time.perf_counter() - self._began

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration, also from a search that runs side by side with others.

        Raises
        ------
        StopEstimation
            When an observer asks for the end.
        ValueError
            `parameters` do not have the shape of the problem's free parameters.
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
        """Say what is known of the search that begins."""
        for watcher in self._watchers:
            watcher.planned(plan)

    def search_ended(self, parameters: F64, cost: float) -> None:
        """Tell those who watch that one of several searches has ended."""

        def tell() -> None:
            for watcher in self._watchers:
                watcher.search_ended(float(cost))

        in_callers_thread(tell)

    def _activity(self, text: str, done: int, expected: int) -> None:
        for observer in self._observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)

    def note(self, message: str) -> None:
        """Keep something the user should know."""
        if message not in self._notes:
            self._notes.append(message)


def near_to(best: F64, points: F64, space: SearchSpace) -> npt.NDArray[np.bool_]:
    """Return which points, (k, n), differ little from the best one in every parameter, (k,)."""
    reach = _NEAR * (space.upper - space.lower)
    away = np.abs(space.from_physical(points) - space.from_physical(best))
    found: npt.NDArray[np.bool_] = np.all(away <= reach, axis=-1)
    return found
