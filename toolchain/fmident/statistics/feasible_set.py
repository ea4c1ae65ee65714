"""The feasible set: bounds, constraints, and which of them hold the estimate.

Near the estimate the parameters may change by d where ``C d = 0`` (equalities) and ``G d + b >= 0``
(inequalities; a bound is one, a constraint is linearised). An inequality with ``b = 0`` is active.

An active inequality **holds** the estimate if without it the estimate would pass it by more than
its interval: its multiplier, the rise of the cost per unit of a move inwards, is then larger than
Student's t times its standard deviation. It counts as an equality for rank and standard errors.
One that nothing pushes against changes neither, and only ends intervals
(:mod:`~fmident.statistics.intervals`). What the equalities leave is the **tangent space**.

Source: Silvapulle and Sen, Constrained Statistical Inference, 2005, chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from fmident.arrays import F64, Flags

_RANK = 1e-9
"""Pivot of an equality, over the largest one, below which it follows from others."""

_VISIBLE = 1e-9
"""Part of a column that is left without the others, below which it is rounding."""


@dataclass(frozen=True, eq=False)
class FeasibleSet:
    """Changes d of n parameters with ``equal @ d = 0`` and ``rows @ d + slacks >= 0``.

    The slacks are not negative, and 0 for the inequalities that are active at the estimate.
    `bounds` are the values at which the parameters' intervals end, shape (n, 2), where rounding
    would make others of the slacks.
    """

    equal: F64
    rows: F64
    slacks: F64
    bounds: F64 | None = None

    @classmethod
    def everything(cls, count: int, equal: F64 | None = None) -> FeasibleSet:
        """Return the set of `count` parameters that only equalities limit."""
        nothing = np.empty((0, count))
        return cls(nothing if equal is None else equal, nothing, np.empty(0))

    @property
    def active(self) -> Flags:
        """Whether an inequality holds with equality at the estimate, shape (l,)."""
        flags: Flags = self.slacks == 0.0
        return flags


@dataclass(frozen=True)
class Tangent:
    """Directions in which the parameters can move.

    Column j of `basis`, shape (n, n), is the movement for 1 of parameter j; zero for those that
    cannot move and for the `pivots`, which follow from the others near the estimate.
    """

    basis: F64
    pivots: Flags

    @property
    def moving(self) -> npt.NDArray[np.intp]:
        """Indices of the parameters with a column."""
        return np.flatnonzero(self.basis.any(axis=0))


def tangent_of(rows: F64, sizes: F64) -> Tangent:
    """Return the directions along which ``rows @ d = 0``; `sizes` are those of the parameters."""
    count = sizes.size
    basis, pivots = np.eye(count), np.zeros(count, dtype=np.bool_)
    alone = np.count_nonzero(rows, axis=1) == 1
    fixed = (rows[alone] != 0.0).any(axis=0)
    basis[fixed, fixed] = 0.0
    indices = np.flatnonzero(~fixed)
    scaled = rows[~alone][:, indices] * sizes[indices]
    norms = np.linalg.norm(scaled, axis=1)
    scaled = scaled[norms > 0.0] / norms[norms > 0.0, np.newaxis]
    if not scaled.size:
        return Tangent(basis, pivots)
    _, triangle, order = linalg.qr(scaled, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(triangle))
    rank = int(np.sum(diagonal > _RANK * diagonal[0]))
    chosen, others = indices[order[:rank]], indices[order[rank:]]
    solved = linalg.solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    pivots[chosen] = True
    basis[chosen, chosen] = 0.0
    basis[np.ix_(chosen, others)] = -solved * sizes[chosen, np.newaxis] / sizes[others]
    return Tangent(basis, pivots)


def holding_inequalities(
    limits: FeasibleSet,
    sizes: F64,
    rows: F64,
    residuals: F64,
    deviation: Callable[[F64], float],
    quantile: float,
) -> Flags:
    """Return which active inequalities have a multiplier above zero, shape (l,).

    One after the other, the least significant first, those are left out whose multiplier is less
    than `quantile` standard deviations. `rows` (m, n) and `residuals` (m,) are those without
    inequalities, `deviation` gives the standard deviation that the noise of the rows gives to a sum
    of them with weights (m,), and `sizes` are those of the parameters, shape (n,).
    """
    holds = limits.active.copy()
    if not holds.any():
        return holds
    left, triangle = np.linalg.qr(rows)
    pulled = left.T @ residuals
    while holds.any():
        chosen = np.flatnonzero(holds)
        multipliers = []
        for k in chosen:
            others = holds & (np.arange(holds.size) != k)
            own = _inward(limits, sizes, triangle, holds, others, int(k))
            push = 0.0 if own is None else float(own @ pulled)
            noise = 0.0 if own is None else deviation(left @ own)
            multipliers.append(push / noise if noise > 0.0 else np.inf if push > 0.0 else 0.0)
        least = int(np.argmin(multipliers))
        if multipliers[least] > quantile:
            break
        holds[chosen[least]] = False
    return holds


def _inward(
    limits: FeasibleSet, sizes: F64, triangle: F64, holds: Flags, others: Flags, number: int
) -> F64 | None:
    """Return what a move off an inequality does to the rows that no move along it can undo.

    ``None`` if nothing is left. `others` are the inequalities that hold beside it.
    """
    wider, narrow = (
        tangent_of(np.vstack([limits.equal, limits.rows[flags]]), sizes).basis
        for flags in (others, holds)
    )
    slopes = limits.rows[number] @ wider * sizes
    if not slopes.any():
        return None
    column = triangle @ (wider @ (slopes / (slopes @ slopes) * sizes))
    columns = triangle @ narrow
    lengths = np.linalg.norm(columns, axis=0)
    scaled = columns[:, lengths > 0.0] / lengths[lengths > 0.0]
    own: F64 = column - scaled @ np.linalg.lstsq(scaled, column, rcond=1e-10)[0]
    return own if float(np.linalg.norm(own)) > _VISIBLE * float(np.linalg.norm(column)) else None
