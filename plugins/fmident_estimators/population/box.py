"""The bounds as a unit cube."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError
from fmident.problem import SearchSpace
from fmident.problem.model import Problem


@dataclass(frozen=True)
class Box:
    """Map between the unit cube and the physical parameters inside their bounds.

    A parameter with log scaling is uniform over its decades.

    Parameters
    ----------
    space
        Search space of the problem.
    lower, upper
        Physical bounds, shape (n,), finite.
    """

    space: SearchSpace
    lower: F64
    upper: F64

    @classmethod
    def of(cls, problem: Problem, method: str) -> Box:
        """Return the box of the problem's free parameters.

        Parameters
        ----------
        problem
            Whose bounds.
        method
            Name of the estimator, for the message.

        Raises
        ------
        fmident.errors.ProblemError
            Parameters have no finite bounds; all of them are named.
        """
        space = SearchSpace.of(problem)
        if open_ones := without_bounds(problem):
            raise ProblemError(
                f"'{method}' searches inside finite bounds, but these have none: "
                + ", ".join(open_ones),
                hint="give each of them bounds = [low, high]; with log scaling, low is above 0",
                code=Code.MISSING_BOUNDS,
            )
        return cls(space, problem.lower, problem.upper)

    def physical(self, unit: F64) -> F64:
        """Return the physical parameters of points of the unit cube, shape (..., n)."""
        low, high = self.space.lower, self.space.upper
        points: F64 = np.clip(
            self.space.to_physical(low + unit * (high - low)), self.lower, self.upper
        )
        return points

    def unit(self, points: F64) -> F64:
        """Return the points of the unit cube of physical parameters, shape (..., n)."""
        low, high = self.space.lower, self.space.upper
        width = np.where(high > low, high - low, 1.0)
        inside: F64 = np.clip((self.space.from_physical(points) - low) / width, 0.0, 1.0)
        return inside


def without_bounds(problem: Problem) -> list[str]:
    """Return the free parameters whose bounds are not finite in the search space, in words."""
    space = SearchSpace.of(problem)
    return [
        f"'{parameter.name}' [{parameter.lower}, {parameter.upper}]"
        + (" with log scaling" if parameter.scaling == "log" else "")
        for parameter, low, high in zip(problem.free, space.lower, space.upper, strict=True)
        if not np.isfinite(low) or not np.isfinite(high)
    ]
