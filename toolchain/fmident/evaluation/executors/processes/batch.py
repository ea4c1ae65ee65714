"""One batch on its way through the workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from fmident.errors import FmuError
from fmident.evaluation.executors.base import Done
from fmident.evaluation.setups import Prepared
from fmident.evaluation.tasks import Simulated


class Batch:
    """Tasks, and what is known of their outcomes.

    Parameters
    ----------
    work
        Setup and values of each task.
    done
        Called with each outcome.

    Attributes
    ----------
    waiting
        Indices of the tasks that no worker has got, in order.
    for_fresh_worker
        Indices of tasks that wait for a worker that has run nothing yet, in order.
    retried
        Indices of tasks that a worker died of nothing with.
    refusal
        Why a task does not fit the FMU, if one does not.
    """

    def __init__(
        self, work: Sequence[tuple[Prepared, Mapping[str, Any]]], done: Done | None
    ) -> None:
        self.work = work
        self.waiting = deque(range(len(work)))
        self.for_fresh_worker: deque[int] = deque()
        self.retried: set[int] = set()
        self._moved_to_fresh: set[int] = set()
        self.refusal: FmuError | None = None
        self._found: dict[int, Simulated | None] = {}
        self._done = done

    @property
    def unfinished(self) -> int:
        """How many tasks have no outcome yet."""
        return len(self.work) - len(self._found)

    @property
    def outcomes(self) -> list[Simulated]:
        """The outcomes in the order of the tasks."""
        found = [self._found[k] for k in range(len(self.work))]
        return [outcome for outcome in found if outcome is not None]

    def finish(self, index: int, outcome: Simulated) -> None:
        """Note an outcome."""
        self._found[index] = outcome
        if self._done is not None:
            self._done(index, outcome)

    def first(self, *, fresh: bool) -> int | None:
        """Return the next task for a worker, which may have run nothing yet; it still waits."""
        queue = self.for_fresh_worker if fresh and self.for_fresh_worker else self.waiting
        return queue[0] if queue else None

    def withdraw(self, index: int) -> bool:
        """Take a task that waits out of its queue; return whether it was there."""
        for queue in (self.waiting, self.for_fresh_worker):
            if index in queue:
                queue.remove(index)
                return True
        return False

    def put_back(self, index: int) -> None:
        """Have a task wait again, before the others."""
        (self.for_fresh_worker if index in self._moved_to_fresh else self.waiting).appendleft(index)

    def move_to_fresh_worker(self, index: int) -> bool:
        """Have a task wait for a fresh worker; return whether it had not had one before."""
        if index in self._moved_to_fresh:
            return False
        self._moved_to_fresh.add(index)
        self.for_fresh_worker.append(index)
        return True

    def refuse(self, index: int, error: FmuError) -> None:
        """Note a task that does not fit the FMU: the caller's mistake, not a failed run."""
        self.refusal = self.refusal or error
        self._found[index] = None
        self.withdraw(index)
