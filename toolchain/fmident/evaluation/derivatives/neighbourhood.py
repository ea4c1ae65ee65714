"""Residuals around a base point, with one parameter varied at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True)
class Sample:
    """Change of the residuals, shape (m,), for an actual `offset` of one parameter."""

    offset: float
    change: F64

    @property
    def slope(self) -> F64:
        """The one-sided difference quotient, shape (m,)."""
        return self.change / self.offset


class Neighbourhood:
    """Evaluates residuals around a point `z` of the search space, inside the bounds.

    `evaluate` returns residuals at points, (k, n) -> (k, m), NaN for failures; `base` are
    those at `z`. `groups` are rows that belong together, such as those of one output; empty
    if outlying rows do not indicate events.
    """

    def __init__(
        self,
        evaluate: Callable[[F64], F64],
        base: F64,
        z: F64,
        lower: F64,
        upper: F64,
        groups: Sequence[slice] = (slice(None),),
    ) -> None:
        self.base, self.z, self.groups = base, z, groups
        self.evaluate = evaluate
        self.lower, self.upper = lower, upper

    def room(self, column: int) -> tuple[float, float]:
        """Return the distances of the parameter to its lower and upper bounds."""
        z = float(self.z[column])
        return z - float(self.lower[column]), float(self.upper[column]) - z

    def contains(self, column: int, offset: float) -> bool:
        """Return whether the parameter stays within its bounds if changed by `offset`."""
        value = self.z[column] + offset
        return bool(self.lower[column] <= value <= self.upper[column])

    def inside(self, column: int, step: float) -> float:
        """Return the step with a sign, and if necessary a size, that respects the bounds."""
        if self.contains(column, step):
            return step
        if self.contains(column, -step):
            return -step
        down, up = self.room(column)
        return up if up >= down else -down

    def only(self, columns: Sequence[int]) -> Neighbourhood:
        """Return the neighbourhood in these parameters only, the others fixed."""
        chosen = list(columns)

        def evaluate(points: F64) -> F64:
            whole = np.tile(self.z, (len(points), 1))
            whole[:, chosen] = points
            return self.evaluate(whole)

        return Neighbourhood(
            evaluate,
            self.base,
            self.z[chosen],
            self.lower[chosen],
            self.upper[chosen],
            self.groups,
        )

    def samples(self, probes: Sequence[tuple[int, float]]) -> list[Sample | None]:
        """Evaluate probes (column, offset) as a batch, ``None`` if failed or without offset."""
        if not probes:
            return []
        points = np.tile(self.z, (len(probes), 1))
        for row, (column, offset) in enumerate(probes):
            points[row, column] += offset
        samples: list[Sample | None] = []
        for (column, _), point, values in zip(probes, points, self.evaluate(points), strict=True):
            offset = float(point[column] - self.z[column])
            good = offset != 0.0 and bool(np.isfinite(values).all())
            samples.append(Sample(offset, values - self.base) if good else None)
        return samples
