"""Progress of a series of simulations: a named activity, a Jacobian, a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fmident.evaluation.executors.base import Done, Executor
from fmident.evaluation.tasks import Simulated, SimulationTask

Listener = Callable[[str, int, int], None]
"""Called with what is being done, simulations done, and how many it takes as a rule."""


BATCH = "simulations"
"""What is being done when simulations run that belong to no named activity, as a generation's."""

DERIVATIVES = "derivatives"

WITHIN_ITERATIONS = (BATCH, DERIVATIVES)
"""What every iteration of a search does."""


class Activities:
    """Runs simulations and reports to a listener how many of an activity or batch are done.

    `listener` is called before the first and after each simulation of an activity.
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
        """Name the current activity, such as ``"measuring the noise of the simulation"``.

        A nested activity replaces it until it ends. Without `simulations`, their number is
        estimated from the number of `points`.
        """
        expected = points * self._experiments if simulations is None else simulations
        around = self._text, self._done, self._expected
        self._text, self._done, self._expected = text, 0, expected
        if self.listener is not None:
            self.listener(text, 0, self._expected)
        try:
            yield
        finally:
            self._text, self._done, self._expected = around

    def ran(self, count: int) -> int:
        """Report `count` simulations not run by :meth:`run` to the listener; return `count`."""
        if self.listener is not None:
            for _ in range(count):
                self._done += 1
                self.listener(self._text or BATCH, self._done, self._expected)
        return count

    def run(
        self, executor: Executor, tasks: Sequence[SimulationTask], done: Done | None = None
    ) -> list[Simulated]:
        """Run tasks and report each completed one to the listener."""
        if self.listener is None:
            return executor.run(tasks, done)
        if not self._text:
            with self.during(BATCH, simulations=len(tasks)):
                return self.run(executor, tasks, done)
        listener, text = self.listener, self._text

        def tell(index: int, outcome: Simulated) -> None:
            if done is not None:
                done(index, outcome)
            self._done += 1
            listener(text, self._done, self._expected)

        return executor.run(tasks, tell)
