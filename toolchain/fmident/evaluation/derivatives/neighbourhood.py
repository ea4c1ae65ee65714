"""Residuals at points next to a base point, one parameter moved at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True)
class Sample:
    """Residuals where one parameter is moved.

    Parameters
    ----------
    offset
        By how much, as it really was in floating-point numbers.
    change
        Residuals there minus those at the base point, shape (m,), finite.
    """

    offset: float
    change: F64

    @property
    def slope(self) -> F64:
        """The one-sided difference quotient, shape (m,)."""
        return self.change / self.offset


class Neighbourhood:
    """Evaluates residuals around a point of the search space, inside the bounds.

    Parameters
    ----------
    evaluate
        Residuals at points of the search space, (k, n) -> (k, m); NaN rows where it failed.
    base
        Residuals at `z`, shape (m,), finite.
    z
        Point, shape (n,).
    lower, upper
        Bounds, shape (n,).
    groups
        Rows that belong together, such as those of one output; none where rows that stand out
        are not those that an event jumps across.
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
        """Return how far the parameter can go down and up."""
        z = float(self.z[column])
        return z - float(self.lower[column]), float(self.upper[column]) - z

    def contains(self, column: int, offset: float) -> bool:
        """Return whether the parameter moved by `offset` is within its bounds."""
        moved = self.z[column] + offset
        return bool(self.lower[column] <= moved <= self.upper[column])

    def inside(self, column: int, step: float) -> float:
        """Return the step with the sign, and if need be the size, that keeps to the bounds."""
        if self.contains(column, step):
            return step
        if self.contains(column, -step):
            return -step
        down, up = self.room(column)
        return up if up >= down else -down

    def only(self, columns: Sequence[int]) -> Neighbourhood:
        """Return the same point with these parameters alone, the others held."""
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
        """Evaluate all probes as one batch.

        Parameters
        ----------
        probes
            Column and offset of each.

        Returns
        -------
        list
            ``None`` where the simulation failed or the offset vanished in rounding.
        """
        if not probes:
            return []
        points = np.tile(self.z, (len(probes), 1))
        for row, (column, offset) in enumerate(probes):
            points[row, column] += offset
        found: list[Sample | None] = []
        for (column, _), point, values in zip(probes, points, self.evaluate(points), strict=True):
            offset = float(point[column] - self.z[column])
            good = offset != 0.0 and bool(np.isfinite(values).all())
            found.append(Sample(offset, values - self.base) if good else None)
        return found
