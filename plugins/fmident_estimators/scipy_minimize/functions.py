"""Cost and constraints in the search space, as SciPy asks for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Monitor
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident.problem.relations.constraints import Constraints
from fmident_estimators.held_noise import SearchedRows

_FAILED = 10.0
"""Cost of a point that cannot be simulated, in relation to the largest seen: steps grow shorter."""


@dataclass(frozen=True, eq=False)
class Linearised:
    """Residuals and constraints at a point of the search space with their derivatives.

    Parameters
    ----------
    z
        Shape (n,).
    residuals, jacobian
        Shapes (m,) and (m, n).
    constraints, slopes
        Shapes (k,) and (k, n), scaled to distances in sizes of the parameters.
    """

    z: F64
    residuals: F64
    jacobian: F64
    constraints: F64
    slopes: F64


class Functions:
    """What SciPy minimises, and subject to what.

    Parameters
    ----------
    problem, evaluator
        Of the run.
    monitor
        Receives the iterations.
    start
        Physical, shape (n,).
    """

    def __init__(
        self, problem: Problem, evaluator: Evaluator, monitor: Monitor, start: F64
    ) -> None:
        self.constraints = Constraints.of(problem)
        self.equalities = self.constraints.equalities
        self.scale = self.constraints.scale(start)
        self.iterations = 0
        self.rows = SearchedRows(problem, evaluator)
        self._problem, self._evaluator, self._monitor = problem, evaluator, monitor
        self._space = evaluator.space
        self._start, self._z0 = start, evaluator.space.from_physical(start)
        if self.rows.weighed:
            self.rows.hold(start)
        self._largest = self._unit = max(self.rows.cost(start), np.finfo(np.float64).tiny)
        self._best: tuple[float, float, F64] | None = None

    @property
    def z0(self) -> F64:
        """The start in the search space, shape (n,)."""
        return self._z0.copy()

    @property
    def lower(self) -> F64:
        """Lower bounds in the search space, shape (n,)."""
        return self._space.lower

    @property
    def upper(self) -> F64:
        """Upper bounds in the search space, shape (n,)."""
        return self._space.upper

    @property
    def best(self) -> F64:
        """The best point reported so far, physical, shape (n,)."""
        return self._start if self._best is None else self._best[2]

    def physical(self, z: F64) -> F64:
        """Return the physical point, inside the bounds and without rounding at the start."""
        p = np.where(z == self._z0, self._start, self._space.to_physical(z))
        inside: F64 = np.clip(p, self._problem.lower, self._problem.upper)
        return inside

    def cost(self, z: F64) -> float:
        """Return the cost in relation to that at the start; large where a simulation fails."""
        found = self.rows.cost(self.physical(z))
        if not np.isfinite(found):
            return _FAILED * self._largest / self._unit
        self._largest = max(self._largest, found)
        return found / self._unit

    def gradient(self, z: F64) -> F64:
        """Return the gradient of :meth:`cost`, shape (n,)."""
        p = self.physical(z)
        return self.rows.gradient(p) * self._space.derivative(p) / self._unit

    def hessian(self, z: F64) -> F64:
        """Return the Hessian of Gauss and Newton, shape (n, n)."""
        p = self.physical(z)
        jacobian = self.rows.jacobian(p) * self._space.derivative(p)
        found: F64 = jacobian.T @ jacobian / self._unit
        return found

    def hold(self, z: F64) -> bool:
        """Hold the noise that a point shows, by which priors are weighed; return if it changed."""
        return self.rows.weighed and self.rows.hold(self.physical(z))

    def residuals(self, z: F64) -> F64:
        """Return the residuals, shape (m,); NaN where the simulation fails."""
        return self.rows.residuals(self.physical(z))

    def values(self, z: F64) -> F64:
        """Return the constraints, shape (k,)."""
        return self.constraints.values(self.physical(z)) * self.scale

    def slopes(self, z: F64) -> F64:
        """Return the derivatives of the constraints, shape (k, n)."""
        p = self.physical(z)
        rows = self.constraints.at(p).jacobian * self._space.derivative(p)
        return rows * self.scale[:, np.newaxis]

    def curvature(self, z: F64, multipliers: F64) -> F64:
        """Return the Hessian of the sum of constraints times multipliers, shape (n, n)."""
        p = self.physical(z)
        found = self.constraints.at(p)
        first = self._space.derivative(p)
        weights = np.asarray(multipliers) * self.scale
        bent = np.tensordot(weights, found.hessians, axes=1) * np.outer(first, first)
        # d2p/dz2 is p itself for a logarithm.
        second = np.where(self._space.log, p, 0.0) * (weights @ found.jacobian)
        total: F64 = bent + np.diag(second)
        return total

    def violation(self, z: F64) -> float:
        """Return by how much the constraints are violated in total, 0 where all are kept."""
        values = self.values(z)
        wrong = np.where(self.equalities, np.abs(values), np.maximum(-values, 0.0))
        return float(np.sum(np.where(np.isfinite(wrong), wrong, np.inf)))

    def linearised(self, z: F64) -> Linearised:
        """Return residuals and constraints at `z` with their derivatives."""
        p = self.physical(z)
        jacobian = self.rows.jacobian(p) * self._space.derivative(p)
        return Linearised(z, self.residuals(z), jacobian, self.values(z), self.slopes(z))

    def report(self, z: F64) -> None:
        """Report the end of an iteration; the first is the start."""
        p = self.physical(z)
        cost, left = self._evaluator.cost(p), self.violation(z)
        kept = 0.0 if left <= 1e-6 else left
        if np.isfinite(cost) and (self._best is None or (kept, cost) < self._best[:2]):
            self._best = (kept, cost, p)
        best = self._best
        if best is None:
            return
        more = {"violation": left} if len(self.constraints) else {}
        self._monitor.iteration(best[2], best[1], **more)
