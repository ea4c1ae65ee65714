"""Cache of simulations.

An executor with a journal has one, and an evaluator has its own, so that the counts of a
result depend neither on other searches nor on earlier runs.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.tasks import Simulated

T = TypeVar("T")


class Recent(Generic[T]):
    """The most recent items by key, up to the total `capacity`, by number or `size`."""

    def __init__(self, capacity: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._items: OrderedDict[object, T] = OrderedDict()
        self._capacity = capacity
        self._size = size
        self._held = 0

    def hold(self, count: int) -> None:
        """Increase the capacity to at least `count` items."""
        self._capacity = max(self._capacity, count)

    def get(self, key: object) -> T | None:
        """Return the item, or ``None``."""
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def copy(self) -> Recent[T]:
        """Return an independent copy."""
        clone: Recent[T] = Recent(self._capacity, self._size)
        clone._items.update(self._items)
        clone._held = self._held
        return clone

    def put(self, key: object, item: T) -> None:
        """Store an item; drop the oldest if there are too many."""
        before = self._items.pop(key, None)
        self._held += self._size(item) - (0 if before is None else self._size(before))
        self._items[key] = item
        while self._held > self._capacity:
            self._held -= self._size(self._items.popitem(last=False)[1])


@dataclass(frozen=True)
class Forgotten:
    """Placeholder for outputs that a journal has recorded but not stored."""


@dataclass(frozen=True)
class Evaluated:
    """An evaluated point; without residuals if a journal has only its cost."""

    cost: float
    residuals: F64 | None


@dataclass(frozen=True)
class Best:
    """The best point so far and its simulations, possibly incomplete like :class:`Evaluated`."""

    parameters: F64
    cost: float
    residuals: F64 | None
    outputs: Mapping[object, Simulated | Forgotten]


@dataclass(frozen=True)
class Earlier:
    """Cache of an evaluator when a branch of it was made, preceded by its own initial cache."""

    best: Best | None
    outputs: Recent[Simulated | Forgotten]
    evaluated: Recent[Evaluated]
    before: Earlier | None

    def output(self, key: object) -> Simulated | Forgotten | None:
        """Return a simulated outcome by the key of its task."""
        outcome = self.outputs.get(key)
        if outcome is None and self.best is not None:
            outcome = self.best.outputs.get(key)
        return self.before.output(key) if outcome is None and self.before is not None else outcome

    def point(self, p: F64) -> Evaluated | None:
        """Return the known evaluation of a point, shape (n,)."""
        if self.best is not None and np.array_equal(p, self.best.parameters):
            return Evaluated(self.best.cost, self.best.residuals)
        evaluation = self.evaluated.get(p.tobytes())
        return (
            self.before.point(p) if evaluation is None and self.before is not None else evaluation
        )
