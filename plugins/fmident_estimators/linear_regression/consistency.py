"""Physically consistent bodies: least squares in the cone of positive semidefinite pseudo-inertias.

A distribution of mass has the inertia tensor ``J`` about the origin of its frame, the first
moment ``h`` and the mass ``m`` if and only if its pseudo-inertia

    P = [[trace(J)/2 * I - J, h], [h', m]]

is positive semidefinite (S. Traversaro, S. Brossette, A. Escande, F. Nori, "Identification of
fully physical consistent inertial parameters using optimization on manifolds", IROS 2016;
P. M. Wensing, S. Kim, J.-J. E. Slotine, "Linear matrix inequalities for physically consistent
inertial parameter identification", IEEE Robotics and Automation Letters 3, 2018). P is linear in
the ten parameters, so that the problem is convex; a barrier ``-log det P`` keeps its iterations
inside (S. Boyd, L. Vandenberghe, Convex Optimization, 2004, section 11.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg

from fmident.arrays import F64
from fmident.errors import EstimationError, ProblemError
from fmident.problem.model import Problem
from fmident.words import listed

TEN = ("Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "mx", "my", "mz", "m")
"""Names of a body's parameters: elements of its inertia tensor, first moments and mass."""

_START = 1e-3
"""Least eigenvalue of a pseudo-inertia where the search begins, relative to the largest."""

_SHRINK = 0.1
_GAP = 1e-9
"""Largest gap between the cost and its minimum, relative to what the constraint adds to it."""

_NO_GAP = 1e-15
"""The same relative to the weighted sum of squares, where the constraint adds nothing."""

_NEWTON_STEPS = 60
_DECREMENT = 1e-3
"""Squared Newton decrement, relative to the weight of the barrier, at which it is centred."""

_ROUNDING = 1e-14
"""A decrement of less than this part of the value is hidden by rounding."""

_ARMIJO, _HALVE = 1e-4, 0.5


def _units() -> F64:
    """Return the pseudo-inertias of each of the ten parameters alone, shape (10, 4, 4)."""
    units = np.zeros((10, 4, 4))
    pairs = [(i, j) for i in range(3) for j in range(i, 3)]
    for k, (i, j) in enumerate(pairs):
        tensor = np.zeros((3, 3))
        tensor[i, j] = tensor[j, i] = 1.0
        units[k, :3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    for i in range(3):
        units[6 + i, i, 3] = units[6 + i, 3, i] = 1.0
    units[9, 3, 3] = 1.0
    return units


UNITS = _units()


@dataclass(frozen=True)
class Body:
    """Pseudo-inertia ``constant + sum of p[free[k]]*basis[k]`` of a body.

    `name` ends its parameters' names; `free` are indices of free parameters, `basis` has the
    shape (len(free), 4, 4).
    """

    name: str
    free: tuple[int, ...]
    basis: F64
    constant: F64

    def pseudo_inertia(self, p: F64) -> F64:
        """Return the pseudo-inertia, shape (4, 4)."""
        matrix: F64 = self.constant + np.tensordot(p[list(self.free)], self.basis, axes=1)
        return matrix

    def least_eigenvalue(self, p: F64) -> float:
        """Return the least eigenvalue of the pseudo-inertia scaled to a unit diagonal."""
        matrix = self.pseudo_inertia(p)
        scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(np.float64).tiny))
        return float(np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0])

    def inside(self, p: F64) -> F64:
        """Return `p` with the nearest parameters of a body that is clearly consistent."""
        if self.least_eigenvalue(p) > 0.0:
            return p
        values, vectors = np.linalg.eigh(self.pseudo_inertia(p))
        least = _START * max(float(np.abs(values).max()), _START)
        matrix = (vectors * np.maximum(values, least)) @ vectors.T
        moved = p.copy()
        flat = self.basis.reshape(len(self.free), 16).T
        moved[list(self.free)] = np.linalg.lstsq(flat, (matrix - self.constant).ravel())[0]
        if self.least_eigenvalue(moved) <= 0.0:
            raise ProblemError(
                f"[estimator]: 'consistent' needs a start at which the body '{self.name}' is"
                " consistent, but some of its ten parameters are fixed or dependent",
                hint="let all ten be free, or give initial values of a body that exists",
            )
        return moved


def bodies_of(problem: Problem) -> tuple[Body, ...]:
    """Return the bodies whose ten parameters the problem names, such as ``Ixx[2]`` to ``m[2]``.

    Raises `ProblemError` if there are none, or if one lacks some of the ten.
    """
    known = {q.name: q.initial for q in problem.parameters}
    place = {q.name: j for j, q in enumerate(problem.free)}
    ends = dict.fromkeys(n.removeprefix("Ixx") for n in known if n.startswith("Ixx"))
    if not ends:
        raise ProblemError(
            "[estimator]: 'consistent' finds no body among the parameters",
            hint=f"name the ten parameters of each {listed(TEN)} and what tells it from the"
            " others, such as 'Ixx[1]'; 'variable' says what a name stands for",
        )
    bodies = []
    for end in ends:
        names = [name + end for name in TEN]
        missing = [name for name in names if name not in known]
        if missing:
            raise ProblemError(
                f"[estimator]: 'consistent' needs all ten parameters of a body; {listed(missing)}"
                f" {'is' if len(missing) == 1 else 'are'} missing",
                hint="add them, with 'fixed = true' where the value is known",
            )
        free = [k for k, name in enumerate(names) if name in place]
        fixed = np.array([0.0 if name in place else known[name] for name in names])
        bodies.append(
            Body(
                end.strip("[]._ ") or end,
                tuple(place[names[k]] for k in free),
                UNITS[free],
                np.tensordot(fixed, UNITS, axes=1),
            )
        )
    return tuple(bodies)


@dataclass(frozen=True)
class _Barrier:
    """``-sum log det P - sum log(distance to a bound)`` and its derivatives."""

    bodies: Sequence[Body]
    lower: F64
    upper: F64

    @property
    def order(self) -> float:
        """How many factors the barrier has: the gap is this many times its weight."""
        return 4.0 * len(self.bodies) + float(np.isfinite([self.lower, self.upper]).sum())

    def value(self, p: F64) -> float:
        """Return the barrier, infinite outside."""
        distances = np.concatenate([p - self.lower, self.upper - p])
        if distances.min() <= 0.0:
            return np.inf
        total = -float(np.log(distances[np.isfinite(distances)]).sum())
        for body in self.bodies:
            try:
                factor = np.linalg.cholesky(body.pseudo_inertia(p))
            except np.linalg.LinAlgError:
                return np.inf
            total -= 2.0 * float(np.log(np.diag(factor)).sum())
        return total

    def rows(self, p: F64) -> F64:
        """Return G, for which the Hessian is G'G and the gradient -G'd, d as `diagonal`."""
        rows = [np.diag(1.0 / (p - self.lower)), np.diag(-1.0 / (self.upper - p))]
        for body in self.bodies:
            inverse = np.linalg.inv(np.linalg.cholesky(body.pseudo_inertia(p)))
            part = np.zeros((16, p.size))
            part[:, list(body.free)] = (inverse @ body.basis @ inverse.T).reshape(-1, 16).T
            rows.append(part)
        return np.vstack(rows)

    @property
    def diagonal(self) -> F64:
        """Return ones for bounds and unit matrices for bodies, as rows of G."""
        ones = np.ones(2 * self.lower.size)
        return np.concatenate([ones, np.tile(np.eye(4).ravel(), len(self.bodies))])


def all_consistent(bodies: Sequence[Body], p: F64) -> bool:
    """Return whether the pseudo-inertia of each body is positive semidefinite."""
    return all(body.least_eigenvalue(p) >= 0.0 for body in bodies)


def consistent_parameters(
    matrix: F64,
    target: F64,
    bodies: Sequence[Body],
    start: F64,
    lower: F64,
    upper: F64,
    free_optimum: Callable[[F64], F64],
) -> F64:
    """Return the p with least ``||target - matrix @ p||^2`` whose bodies are consistent, (n,).

    Within the bounds; parameters whose bounds are equal stay at `start`. `matrix` must have
    full column rank: rows that hold what the data leave open belong to it. `free_optimum`
    returns the parameters nearest to given ones that are optimal without bodies and bounds;
    where some of them are consistent, the ones last met are returned.
    """
    moving = lower < upper
    p = start
    for body in bodies:
        p = body.inside(p)
    # Bounds that consistency implies, such as those of masses, are not counted twice
    implied = np.zeros(p.size, dtype=bool)
    for body in bodies:
        implied[list(body.free)] = True
    lower = np.where(implied & (lower == 0.0), -np.inf, lower)
    margin = _START * np.minimum(np.maximum(np.abs(p), 1.0), upper - lower)
    p = np.where(moving, np.clip(p, lower + margin, upper - margin), p)
    barrier = _Barrier(bodies, np.where(moving, lower, -np.inf), np.where(moving, upper, np.inf))
    if not np.isfinite(barrier.value(p)):
        raise ProblemError(
            "[estimator]: 'consistent' finds no consistent bodies within the bounds to start from",
            hint="give initial values of bodies that exist, or wider bounds",
        )
    squares = float(target @ target)
    weight = squares / barrier.order
    optimal: F64 | None = None
    added = squares
    while weight * barrier.order > max(_GAP * added, _NO_GAP * squares):
        weight *= _SHRINK
        p = _centred(matrix, target, weight, barrier, p, moving)
        added = float(np.sum((target - matrix @ p) ** 2))
        near = free_optimum(p)
        if np.isfinite(barrier.value(near)):
            optimal = near
        elif optimal is not None:
            break
    return p if optimal is None else optimal


def _centred(
    matrix: F64,
    target: F64,
    weight: float,
    barrier: _Barrier,
    p: F64,
    moving: npt.NDArray[np.bool_],
) -> F64:
    """Return the minimum of cost and weighted barrier, by Newton steps with a line search."""

    def value(q: F64) -> float:
        rest = target - matrix @ q
        return 0.5 * float(rest @ rest) + weight * barrier.value(q)

    root = np.sqrt(weight)
    for _ in range(_NEWTON_STEPS):
        # The Newton step as a least-squares problem, which squares no condition number.
        rows = barrier.rows(p)
        system = np.vstack([matrix, root * rows])[:, moving]
        right = np.concatenate([target - matrix @ p, root * barrier.diagonal])
        lengths = np.linalg.norm(system, axis=0)
        step = np.zeros_like(p)
        q, r = np.linalg.qr(system / lengths)
        step[moving] = linalg.solve_triangular(r, q.T @ right) / lengths
        decrement = float(np.sum((q.T @ right) ** 2))
        before, size = value(p), 1.0
        if decrement <= max(_DECREMENT * weight, _ROUNDING * abs(before)):
            return p
        while not value(p + size * step) <= before - _ARMIJO * size * decrement:
            size *= _HALVE
            if size < np.finfo(np.float64).eps:
                return p  # rounding hides any further descent
        p = p + size * step
    raise EstimationError(
        "the consistent parameters were not found: Newton's method did not settle",
        hint="scale the problem with 'sigma', or leave parameters without influence fixed",
    )
