"""What is remembered of simulations, and the one place that recognises equal ones.

:class:`Batch` sorts the simulations of a batch into known, equal and new ones. An executor with a
journal asks it what to run; an evaluator asks it what to count, by what it remembers itself, so
that the counts of a result do not depend on other searches, nor on runs before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.executors.base import Done
from fmident.evaluation.tasks import Simulated

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class Batch(Generic[K]):
    """The simulations of a batch: known ones are not run, equal ones once.

    Parameters
    ----------
    keys
        Of each simulation; equal where the outcomes are.
    find
        Returns the outcome by the key, or ``None``; called once for each key.
    done
        Called with the index and the outcome of each simulation, known ones first.

    Attributes
    ----------
    new
        Index of the first simulation of each key that is not known.
    repeated
        How many simulations are equal to an earlier one of the batch.
    """

    def __init__(
        self, keys: Sequence[K], find: Callable[[K], Simulated | None], done: Done | None = None
    ) -> None:
        self._keys = keys
        self._done = done
        self._places: dict[K, list[int]] = {}
        for index, key in enumerate(keys):
            self._places.setdefault(key, []).append(index)
        self._found: dict[K, Simulated] = {}
        for key in self._places:
            outcome = find(key)
            if outcome is not None:
                self.take(self._places[key][0], outcome)
        self.new = [places[0] for key, places in self._places.items() if key not in self._found]
        self.repeated = len(keys) - len(self._places)

    def lacks(self, index: int) -> bool:
        """Return whether the outcome of a simulation is not known yet."""
        return self._keys[index] not in self._found

    def take(self, index: int, outcome: Simulated) -> None:
        """Learn the outcome of a simulation, and of all that are equal."""
        key = self._keys[index]
        self._found[key] = outcome
        if self._done is not None:
            for place in self._places[key]:
                self._done(place, outcome)

    def outcomes(self) -> list[Simulated]:
        """Return the outcomes in the order of the keys, when all are known."""
        return [self._found[key] for key in self._keys]


class Recent(Generic[T]):
    """The last items by key.

    Parameters
    ----------
    capacity
        The oldest are forgotten when the sizes of all exceed it.
    size
        Of an item; 1 by default, so that `capacity` is their number.
    """

    def __init__(self, capacity: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._items: OrderedDict[object, T] = OrderedDict()
        self._capacity = capacity
        self._size = size
        self._held = 0

    def hold(self, count: int) -> None:
        """Have room for at least `count` items from now on."""
        self._capacity = max(self._capacity, count)

    def get(self, key: object) -> T | None:
        """Return the item, or ``None``."""
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def copy(self) -> Recent[T]:
        """Return a memory of its own with the same items."""
        found: Recent[T] = Recent(self._capacity, self._size)
        found._items.update(self._items)
        found._held = self._held
        return found

    def put(self, key: object, item: T) -> None:
        """Keep an item, and forget the oldest if there are too many."""
        before = self._items.pop(key, None)
        self._held += self._size(item) - (0 if before is None else self._size(before))
        self._items[key] = item
        while self._held > self._capacity:
            self._held -= self._size(self._items.popitem(last=False)[1])


@dataclass(frozen=True)
class Forgotten:
    """In place of outputs of which a journal knows, but which it does not hold."""


@dataclass(frozen=True)
class Evaluated:
    """A point that was evaluated; without residuals if only the cost is known, from a journal."""

    cost: float
    residuals: F64 | None


@dataclass(frozen=True)
class Best:
    """The best point so far and what was simulated there.

    What is known from a journal only may lack residuals and outputs, as in :class:`Evaluated`.
    """

    parameters: F64
    cost: float
    residuals: F64 | None
    outputs: Mapping[object, Simulated | Forgotten]


@dataclass(frozen=True)
class Earlier:
    """What an evaluator remembered when a branch of it began.

    Parameters
    ----------
    best, outputs, evaluated
        Of the evaluator.
    before
        What it remembered itself of the evaluator of which it is a branch.
    """

    best: Best | None
    outputs: Recent[Simulated | Forgotten]
    evaluated: Recent[Evaluated]
    before: Earlier | None

    def output(self, key: object) -> Simulated | Forgotten | None:
        """Return what was simulated, by the key of the task."""
        found = self.outputs.get(key)
        if found is None and self.best is not None:
            found = self.best.outputs.get(key)
        return self.before.output(key) if found is None and self.before is not None else found

    def point(self, p: F64) -> Evaluated | None:
        """Return what is known of a point, shape (n,)."""
        if self.best is not None and np.array_equal(p, self.best.parameters):
            return Evaluated(self.best.cost, self.best.residuals)
        found = self.evaluated.get(p.tobytes())
        return self.before.point(p) if found is None and self.before is not None else found


def root_mean_square(values: F64) -> float:
    """Return the root mean square; 0 of nothing."""
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
