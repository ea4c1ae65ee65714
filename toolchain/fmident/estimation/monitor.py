"""The history of one run, as the estimator reports it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Iteration
from fmident.estimation.population import Generation
from fmident.evaluation import Evaluator, in_callers_thread


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

    def _activity(self, text: str, done: int, expected: int) -> None:
        for observer in self._observers:
            if isinstance(observer, ActivityObserver):
                observer.activity(text, done, expected)

    def note(self, message: str) -> None:
        """Keep something the user should know."""
        if message not in self._notes:
            self._notes.append(message)
