"""The affine constraints of a problem as rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.problem.relations.constraint import Constraint
from fmident.problem.relations.constraints import Constraints

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_INFEASIBLE = 2
"""SciPy's status of a linear programme that has no solution."""


class AffineSystem:
    """The affine constraints of a problem as rows of numbers.

    Attributes
    ----------
    rows
        For each constraint its derivatives and, last, its value at zero, shape (n + 1,), so that
        it is ``row[:-1] @ p + row[-1]``; ``None`` where it is not affine.
    """

    def __init__(self, problem: Problem) -> None:
        found = Constraints.of(problem)
        at, affine = found.at(problem.initial), found.affine
        self._constraints = problem.constraints
        self._lower, self._upper = problem.lower, problem.upper
        self.rows: tuple[F64 | None, ...] = tuple(
            np.append(g, v - g @ problem.initial) if known and np.isfinite([v, *g]).all() else None
            for known, g, v in zip(affine, at.jacobian, at.values, strict=True)
        )

    @classmethod
    def of(cls, problem: Problem) -> AffineSystem:
        """Return that of a problem."""
        return cls(problem)

    def row(self, constraint: Constraint) -> F64 | None:
        """Return the row of one of the constraints."""
        return self.rows[[c is constraint for c in self._constraints].index(True)]

    def feasible(self, chosen: Sequence[Constraint]) -> bool:
        """Return whether a point inside the bounds keeps the chosen affine constraints."""
        from scipy.optimize import linprog  # here, since it is slow to import and seldom needed

        rows = {c: self.row(c) for c in chosen}
        scaled = [(c, r / np.linalg.norm(r[:-1])) for c, r in rows.items() if r is not None]
        equal = [r for c, r in scaled if c.equality]
        least = [r for c, r in scaled if not c.equality]
        ended = linprog(
            np.zeros(self._lower.size),
            A_ub=-np.array(least)[:, :-1] if least else None,
            b_ub=np.array(least)[:, -1] if least else None,
            A_eq=np.array(equal)[:, :-1] if equal else None,
            b_eq=-np.array(equal)[:, -1] if equal else None,
            bounds=list(zip(self._lower, self._upper, strict=True)),
        )
        return int(ended.status) != _INFEASIBLE
