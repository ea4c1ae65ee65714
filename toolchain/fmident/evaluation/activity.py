"""Telling how far a long series of simulations is that is not an iteration of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fmident.evaluation.executors.base import Done, Executor
from fmident.evaluation.tasks import Simulated, SimulationTask

Listener = Callable[[str, int, int], None]
"""Called with what is being done, simulations done, and how many it takes as a rule."""


class Activities:
    """Runs simulations; during a named activity a listener hears how many are done.

    Parameters
    ----------
    experiments
        Simulations per point.

    Attributes
    ----------
    listener
        Called before the first and after each simulation of an activity, if not ``None``.
    """

    def __init__(self, experiments: int) -> None:
        self._experiments = experiments
        self.listener: Listener | None = None
        self._text = ""
        self._done = self._expected = 0

    @contextmanager
    def during(
        self, text: str, points: int = 0, *, simulations: int | None = None
    ) -> Iterator[None]:
        """Name what is being done.

        Parameters
        ----------
        text
            Such as ``"measuring the noise of the simulation"``.
        points
            At which it simulates, as a rule.
        simulations
            How many it takes, if that is known.
        """
        expected = points * self._experiments if simulations is None else simulations
        self._text, self._done, self._expected = text, 0, expected
        if self.listener is not None:
            self.listener(text, 0, self._expected)
        try:
            yield
        finally:
            self._text = ""

    def run(
        self, executor: Executor, tasks: Sequence[SimulationTask], done: Done | None = None
    ) -> list[Simulated]:
        """Run tasks; during an activity the listener hears of each that is done."""
        listener, text = self.listener, self._text
        if listener is None or not text:
            return executor.run(tasks, done)

        def tell(index: int, outcome: Simulated) -> None:
            if done is not None:
                done(index, outcome)
            self._done += 1
            listener(text, self._done, self._expected)

        return executor.run(tasks, tell)
