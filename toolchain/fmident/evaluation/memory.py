"""What an evaluator remembers: the last few items, and the best point by its cost."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.tasks import Simulated

T = TypeVar("T")


class Recent(Generic[T]):
    """The last few items by key."""

    def __init__(self, capacity: int) -> None:
        self._items: OrderedDict[object, T] = OrderedDict()
        self._capacity = capacity

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
        found: Recent[T] = Recent(self._capacity)
        found._items.update(self._items)
        return found

    def put(self, key: object, item: T) -> None:
        """Keep an item, and forget the oldest if there are too many."""
        self._items[key] = item
        self._items.move_to_end(key)
        while len(self._items) > self._capacity:
            self._items.popitem(last=False)


@dataclass(frozen=True)
class Forgotten:
    """In place of outputs that a journal tells to exist, but does not hold."""


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


def cost_of(residuals: F64) -> float:
    """Return ``1/2 sum r^2``; infinite where the simulation failed."""
    # Not by BLAS: its threads cost more than they save, and its order of summation may vary.
    value = 0.5 * float(np.einsum("i,i->", residuals, residuals))
    return value if np.isfinite(value) else float("inf")


def root_mean_square(values: F64) -> float:
    """Return the root mean square; 0 of nothing."""
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0
