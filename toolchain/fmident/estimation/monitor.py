"""The history of one run, as the estimator reports it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fmident._types import F64
from fmident.estimation.contract import Iteration
from fmident.evaluation import Evaluator


class Observer(Protocol):
    """Who is told of iterations, such as the progress line and the plugins."""

    def iteration(self, state: Iteration) -> None:
        """Take note of an iteration.

        Raises
        ------
        StopEstimation
            To end the run with the best parameters so far.
        """


class RunMonitor:
    """Numbers iterations, keeps the history and tells the observers.

    Parameters
    ----------
    evaluator
        Whose counters go into the history.
    observers
        Told in this order.
    """

    def __init__(self, evaluator: Evaluator, observers: Sequence[Observer] = ()) -> None:
        self._evaluator = evaluator
        self._observers = tuple(observers)
        self._began = time.perf_counter()
        self._history: list[Iteration] = []
        self._notes: list[str] = []

    @property
    def history(self) -> tuple[Iteration, ...]:
        """All iterations so far."""
        return tuple(self._history)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the estimator noted."""
        return tuple(self._notes)

    @property
    def seconds(self) -> float:
        """Wall time since the start, s."""
        return time.perf_counter() - self._began

    def iteration(self, parameters: F64, cost: float, **details: float) -> None:
        """Report the end of an iteration.

        Raises
        ------
        StopEstimation
            When an observer asks for the end.
        """
        point = np.array(parameters, dtype=np.float64)
        point.flags.writeable = False
        state = Iteration(
            len(self._history),
            point,
            float(cost),
            self._evaluator.simulations,
            self._evaluator.jacobians,
            self.seconds,
            {key: float(value) for key, value in details.items()},
        )
        self._history.append(state)
        for observer in self._observers:
            observer.iteration(state)

    def note(self, message: str) -> None:
        """Keep something the user should know."""
        if message not in self._notes:
            self._notes.append(message)
