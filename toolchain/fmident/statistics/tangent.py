"""Uncertainty of parameters with constraints.

Near the estimate the parameters can only move along the tangent space of the active
constraints. There the usual least-squares formulas hold (Silvapulle and Sen,
Constrained Statistical Inference, 2005, chapter 4): with columns T that span the
tangent space, the covariance is ``T (T^T J^T J T)^-1 T^T s^2``. T is chosen so that
each column moves one of the parameters by 1, together with the pivots, for which the
constraints can be solved.

An active inequality counts as an equality for standard errors, like a bound. The
intervals consider both sides of it: they are the likelihood-ratio region of the
linearised problem within the constraints, with the quantile of a problem without
inequalities, so that their coverage is at least the nominal one (Self and Liang, J.
American Statistical Association 82, 1987).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy import linalg

from fmident.arrays import F64
from fmident.statistics.linearisation import Linearisation
from fmident.statistics.noise import NoiseFinding
from fmident.statistics.uncertainty import ParameterStatistics, t_quantile

_OPEN = 1e-6
"""Part of a movement along what the data leave open, from which on a parameter is open, too."""

_RANK = 1e-9
_KEPT = 1e-7
_MOST_NEAR = 10
"""Inequalities of which all combinations are tried: the nearest within reach of an interval."""

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Tangent:
    """Directions in which the parameters can move.

    Column j of `basis`, shape (n, n), is the movement for 1 of parameter j; zero for held
    ones and for the `pivots`, which follow from the others near the estimate.
    """

    basis: F64
    pivots: Flags


def tangent_of(rows: F64, sizes: F64, held: Flags) -> Tangent:
    """Return the directions in which parameters that are not held can move along constraints."""
    count = sizes.size
    basis, pivots = np.diag(np.where(held, 0.0, 1.0)), np.zeros(count, dtype=np.bool_)
    indices = np.flatnonzero(~held)
    scaled = rows[:, indices] * sizes[indices]
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


def along(found: ParameterStatistics, tangent: Tangent, values: F64) -> ParameterStatistics:
    """Return statistics of the parameters without pivots as statistics of all of them."""
    linear = replace(found.linearisation, tangent=tangent.basis)
    noise, spread = linear.answer_to_noise(), linear.open_directions
    covariance: F64 = noise @ noise.T
    moves = np.abs(tangent.basis) @ np.abs(found.linearisation.open_directions)
    lost = (np.abs(spread) > _OPEN * np.maximum(moves, 1e-300)).any(axis=1) & (moves > 0.0).any(
        axis=1
    )
    unknown = np.isnan(found.standard_errors) & ~tangent.pivots
    uses = tangent.basis != 0.0
    # A pivot may be determined where the parameters that it follows from are not.
    doubtful = (uses & (unknown & ~lost)[np.newaxis, :]).any(axis=1) | (unknown & ~lost)
    fixed = ~uses.any(axis=1) & ~tangent.pivots  # on a bound; what constraints determine is exact
    for index in np.flatnonzero(lost | doubtful | fixed):
        covariance[index, :] = covariance[:, index] = np.nan
    errors: F64 = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: F64 = covariance / np.outer(errors, errors)
    np.fill_diagonal(correlation, np.where(np.isfinite(errors), 1.0, np.nan))
    intervals = found.intervals.copy()
    freedoms = linear.freedoms(np.eye(values.size))
    for j in np.flatnonzero(tangent.pivots):
        half = t_quantile(0.95, freedoms[j]) * errors[j]
        intervals[j] = (-np.inf, np.inf) if lost[j] else (values[j] - half, values[j] + half)
    doubts = np.maximum(found.doubts, np.max(np.where(uses, found.doubts, 0.0), axis=1))
    return replace(
        found,
        covariance=covariance,
        correlation=correlation,
        standard_errors=errors,
        intervals=intervals,
        linearisation=linear,
        remaining_step=linear.answer(linear.residuals),
        doubts=np.where(tangent.pivots, doubts, found.doubts),
        freedoms=np.where(tangent.pivots, freedoms, found.freedoms),
    )


@dataclass(frozen=True, eq=False)
class Region:
    """The linearised problem within its inequalities.

    A step is ``tangent @ u``; the cost there, in units of the noise, is
    ``gradient @ u + 1/2 |factor @ u|^2`` more than at the estimate. `jacobian`, shape
    (m, q), and `gradient`, shape (q,), are those along the `tangent` of the equalities,
    shape (n, q), the Jacobian over the noise; `rows` are the derivatives of the
    inequalities along it, (k, q), `slacks` their values and `quantile` that of the
    intervals.
    """

    jacobian: F64
    gradient: F64
    tangent: F64
    rows: F64
    slacks: F64
    quantile: float

    def reach(self, movements: F64) -> F64 | None:
        """Return the range of changes of quantities from the estimate, shape (h, 2).

        `movements` are their derivatives with respect to the parameters, shape (h, n). ``None``
        if no inequality is within reach, or the data leave a direction open.
        """
        norms = np.linalg.norm(self.jacobian, axis=0)
        if not norms.size or not bool((norms > 0.0).all()):
            return None
        _, singular, right = np.linalg.svd(self.jacobian / norms, full_matrices=False)
        if singular.size < norms.size or singular[-1] <= 1e-10 * singular[0]:
            return None
        back = (right.T / singular) / norms[:, np.newaxis]  # u = back @ y, |y| the cost
        center = -(back.T @ self.gradient)
        radius = float(np.sqrt(self.quantile**2 + center @ center))
        rows = self.rows @ back
        lengths = np.linalg.norm(rows, axis=1)
        usable = lengths > 0.0
        rows, slacks = rows[usable] / lengths[usable, np.newaxis], self.slacks[usable]
        slacks = slacks / lengths[usable]
        least = rows @ center - radius + slacks
        near = np.flatnonzero(least < 0.0)
        near = near[np.argsort(least[near])][:_MOST_NEAR]
        if not near.size:
            return None
        rows, slacks = rows[near], np.maximum(slacks[near], 0.0)
        ways = movements @ self.tangent @ back
        changes = np.zeros((len(ways), 2))
        for place, reach in _slices(rows, slacks, center, radius):
            for k, way in enumerate(ways):
                left = reach(way)
                size = float(np.linalg.norm(left))
                for end, sign in ((0, -1.0), (1, 1.0)):
                    y = place.point + (sign * place.radius / size * left if size > 0.0 else 0.0)
                    if bool((rows @ y + slacks >= -_KEPT * max(radius, 1.0)).all()):
                        value = float(way @ y)
                        pick = min if end == 0 else max
                        changes[k, end] = pick(changes[k, end], value)
        return changes


@dataclass(frozen=True, eq=False)
class _Slice:
    """Part of the ball of the likelihood ratio on which some inequalities are equalities."""

    point: F64
    radius: float


def _slices(
    rows: F64, slacks: F64, center: F64, radius: float
) -> Iterator[tuple[_Slice, _Projection]]:
    """Yield the slices of all combinations of inequalities with the projection onto each.

    The end of an interval is the extreme of a linear function on a ball cut by planes,
    which is that on the slice of those planes on which it lies.
    """
    for count in range(min(len(rows), center.size) + 1):
        for chosen in combinations(range(len(rows)), count):
            some = rows[list(chosen)]
            inverse: F64 = np.zeros((center.size, 0))
            if count:
                inverse = np.asarray(np.linalg.pinv(some), dtype=np.float64)
            point = center - inverse @ (some @ center + slacks[list(chosen)])
            square = radius**2 - float((point - center) @ (point - center))
            if square >= 0.0:
                yield _Slice(point, float(np.sqrt(square))), _Projection(some, inverse)


@dataclass(frozen=True, eq=False)
class _Projection:
    """Projection of a direction onto the null space of rows."""

    rows: F64
    inverse: F64

    def __call__(self, way: F64) -> F64:
        left: F64 = way - self.inverse @ (self.rows @ way)
        size = float(np.linalg.norm(way))
        return np.where(np.linalg.norm(left) > 1e-9 * size, left, 0.0)


def region_of(
    linear: Linearisation,
    jacobian: F64,
    residuals: F64,
    tangent: F64,
    rows: F64,
    slacks: F64,
) -> Region:
    """Return the region of the intervals of constrained parameters.

    `jacobian` and `residuals` are whitened; the columns of `tangent`, shape (n, q), span
    the movements allowed by the equalities; `rows`, shape (k, n), and `slacks` are the
    derivatives and values of the inequalities.
    """
    scaled = jacobian @ tangent / linear.noise
    gradient = scaled.T @ (residuals / linear.noise)
    quantile = t_quantile(0.95, linear.freedom)
    if linear.coloured is not None:
        scaled, gradient = _of_the_same_covariance(linear.coloured, scaled, gradient, linear.noise)
        quantile = t_quantile(0.95, float(np.nanmin(linear.freedoms(np.eye(len(tangent))))))
    return Region(scaled, gradient, tangent, rows @ tangent, slacks, quantile)


def _of_the_same_covariance(
    noise: NoiseFinding, jacobian: F64, gradient: F64, level: float
) -> tuple[F64, F64]:
    """Return a white-noise problem with the estimate and covariance of coloured noise."""
    inverse = np.asarray(np.linalg.pinv(jacobian), dtype=np.float64)
    answers = noise.answers(inverse / level)
    step = np.linalg.lstsq(jacobian.T @ jacobian, gradient)[0]
    values, vectors = np.linalg.eigh(answers @ answers.T)
    values = np.maximum(values, 1e-14 * values[-1])
    square_root: F64 = (vectors / np.sqrt(values)).T
    return square_root, square_root.T @ (square_root @ step)
