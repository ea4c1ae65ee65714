"""Telling how far a long series of simulations is that is no iteration of an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fmident.evaluation.executors.base import Executor
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
        Told before the first and after each simulation of an activity, if not ``None``.
    """

    def __init__(self, experiments: int) -> None:
        self._experiments = experiments
        self.listener: Listener | None = None
        self._text = ""
        self._done = self._expected = 0

    @contextmanager
    def during(self, text: str, points: int) -> Iterator[None]:
        """Name what is being done.

        Parameters
        ----------
        text
            Such as ``"measuring the noise of the simulation"``.
        points
            At which it simulates, as a rule.
        """
        self._text, self._done, self._expected = text, 0, points * self._experiments
        if self.listener is not None:
            self.listener(text, 0, self._expected)
        try:
            yield
        finally:
            self._text = ""

    def run(self, executor: Executor, tasks: Sequence[SimulationTask]) -> list[Simulated]:
        """Run tasks; during an activity the listener hears of each that is done."""
        listener, text = self.listener, self._text
        if listener is None or not text:
            return executor.run(tasks)

        def tell(_index: int, _outcome: Simulated) -> None:
            self._done += 1
            listener(text, self._done, self._expected)

        return executor.run(tasks, tell)
