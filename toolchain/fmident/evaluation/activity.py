"""Progress of a series of simulations: a named activity, a Jacobian, a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from fmident.evaluation.tasks import Outcomes

Listener = Callable[[str, int, int], None]
"""Called with what is being done, simulations done, and how many it takes as a rule."""


BATCH = "simulations"
"""The activity of simulations outside of a named one, such as those of a generation."""

DERIVATIVES = "derivatives"

WITHIN_ITERATIONS = (BATCH, DERIVATIVES)
"""Activities that are part of every iteration of a search."""


class Activities:
    """Reports to a listener how many simulations of an activity or batch are done.

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
        """Report so many simulations that :meth:`count` has not seen; return their number."""
        if self.listener is not None:
            for _ in range(count):
                self._done += 1
                self.listener(self._text or BATCH, self._done, self._expected)
        return count

    def count(self, outcomes: Outcomes, tasks: int) -> Outcomes:
        """Return the outcomes of a number of tasks, and report each one to the listener."""
        return outcomes if self.listener is None else self._count(self.listener, outcomes, tasks)

    def _count(self, listener: Listener, outcomes: Outcomes, tasks: int) -> Outcomes:
        batch = nullcontext() if self._text else self.during(BATCH, simulations=tasks)
        with batch:
            text = self._text
            for outcome in outcomes:
                yield outcome
                self._done += 1
                listener(text, self._done, self._expected)
