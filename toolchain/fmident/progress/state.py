"""State of a run in progress."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fmident.estimation.contract import Iteration
    from fmident.estimation.monitor import RunPlan
    from fmident.profiles import ProfileProgress

_RECENT = 20.0
"""Period over which the rate is measured, s."""

_SOON = 2.0
"""Time before which there is no rate, s."""


class RunState:
    """Collects the events of a run.

    `plan` and `iterations` are those of the current search, and `last` is the last iteration of
    all. `ends` are the costs at which searches have ended. `generation` is the size of the last
    generation and how many of it are near the best. `doing` is the current activity: name,
    simulations done, and usual total; `work` is likewise for other work. All are ``None``
    if unknown.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = self._planned = clock()
        self.plan: RunPlan | None = None
        self.last: Iteration | None = None
        self.iterations: list[Iteration] = []
        self.ends: list[float] = []
        self.generation: tuple[int, int] | None = None
        self.doing: tuple[str, int, int] | None = None
        self.profiles: ProfileProgress | None = None
        self.work: tuple[str, int, int] | None = None
        self._before = 0
        self._since = 0
        self._known: deque[tuple[float, int]] = deque()

    def planned(self, plan: RunPlan) -> None:
        """Begin a search."""
        self._planned = self._clock()
        if self.plan is None:
            self._began = self._planned
        self.plan = plan
        self._before = self.simulations
        self.iterations, self.ends, self.generation = [], [], None

    def iteration(self, state: Iteration) -> None:
        """Record an iteration."""
        self.last, self._since = state, 0
        self.iterations.append(state)

    def activity(self, text: str, done: int, expected: int) -> None:
        """Record the progress of an activity."""
        self.doing = (text, done, expected)
        self._since += done > 0

    def search_ended(self, cost: float) -> None:
        """Record the end of one of several searches."""
        self.ends.append(cost)

    @property
    def first(self) -> Iteration | None:
        """First iteration of the current search."""
        return self.iterations[0] if self.iterations else None

    @property
    def agreeing(self) -> int:
        """Number of searches that have ended in the best minimum so far."""
        from fmident.estimation.monitor import agreeing  # late: builds watch, too, and run nothing

        return agreeing(self.ends)

    @property
    def simulations(self) -> int:
        """Approximate number of simulations so far."""
        return (0 if self.last is None else self.last.simulations) + self._since

    @property
    def of_this_search(self) -> int:
        """Approximate number of simulations of the current search."""
        return self.simulations - self._before

    @property
    def seconds(self) -> float:
        """Time since the first search began, s."""
        return self._clock() - self._began

    @property
    def seconds_of_search(self) -> float:
        """Time since the current search began, s."""
        return self._clock() - self._planned

    def rate(self) -> float | None:
        """Return the recent number of simulations per second; ``None`` before it is known."""
        now, count = self._clock(), self.simulations
        self._known.append((now, count))
        while now - self._known[0][0] > _RECENT:
            self._known.popleft()
        begin, first = self._known[0]
        return None if now - begin < _SOON or count <= first else (count - first) / (now - begin)
