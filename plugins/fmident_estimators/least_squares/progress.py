"""Progress and results of local searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Ending, Monitor, Status


@dataclass(frozen=True)
class LocalResult:
    """Result of one local search.

    `start` and `parameters` are physical, shape (n,); `cost` includes the robust loss;
    `iterations` counts accepted steps; `ended_by` is that of
    :class:`~fmident.estimation.Estimate`.
    """

    start: F64
    parameters: F64
    cost: float
    status: Status
    message: str
    iterations: int
    ended_by: Ending | None = None

    def as_mapping(self) -> Mapping[str, object]:
        """Return the fields for the result's settings."""
        return {
            "start": self.start.tolist(),
            "parameters": self.parameters.tolist(),
            "cost": self.cost,
            "status": self.status,
            "iterations": self.iterations,
        }


@dataclass
class Progress:
    """Best point over all starts, reported to the monitor."""

    monitor: Monitor
    starts: int = 1
    best: F64 = field(default_factory=lambda: np.empty(0))
    cost: float = float("inf")

    def report(self, parameters: F64, cost: float, start: int = 1, **details: float) -> None:
        """Report an accepted point of the search from a start, counted from 1."""
        if cost < self.cost or self.best.size == 0:
            self.best, self.cost = parameters.copy(), cost
        extra: dict[str, float] = {}
        if self.starts > 1:
            extra = {"start": start, "starts": self.starts, "local_cost": cost}
        self.monitor.iteration(self.best, self.cost, **extra, **details)

    def ended(self, parameters: F64, cost: float) -> None:
        """Report the final point of one of several searches."""
        if self.starts > 1:
            self.monitor.search_ended(parameters, cost)


class Arrived(Exception):  # noqa: N818 - ends a solver
    """No step remains from this point, by derivatives that may or may not be exact enough."""

    def __init__(self, z: F64, exact: bool) -> None:
        self.z = z.copy()
        self.exact = exact
        super().__init__()


class NoDescent(Arrived):
    """Steps from this point do not lower the cost, or by less than its uncertainty."""


class Stalled(Exception):  # noqa: N818 - ends a solver so that it starts again
    """The method makes no more progress from this point; another one continues."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()


class IterationLimit(Exception):  # noqa: N818 - ends a solver that has no such limit
    """The limit of accepted steps is reached."""

    def __init__(self, z: F64) -> None:
        self.z = z.copy()
        super().__init__()
