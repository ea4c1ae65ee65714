r"""Common parts of the estimators that descend to a minimum.

The noise level that weighs the priors is held constant during a search.

With the variance of the noise concentrated out, the cost is :math:`S e^{Q/\nu}`, a
product of what the data and what the priors contribute
(:class:`~fmident.problem.Priors`). Its residuals are far from linear where the priors
are far from satisfied: Gauss-Newton then underestimates by a factor of
:math:`e^{Q/\nu}` how steep the walls of a valley are that the data leave open. With the
variance :math:`s^2` held, the sum :math:`S + s^2 Q` has the residuals of known noise,
and where :math:`s^2 = S / \nu`, its gradient is that of the concentrated cost up to a
positive factor. Searches therefore alternate with :math:`s^2 = S / \nu`. Both steps
lower :math:`\nu \ln s^2 + S / s^2 + Q`, whose minimum over :math:`s^2` is the logarithm
of the concentrated cost up to constants: that cost falls in every round, and a fixed
point is its minimum.

Where the noise is known and small, the data also leave a narrow valley. Far from the
minimum, searches enter it at a place where the priors are not satisfied, and along a
bend the steps are as short as the valley is narrow. Such a search begins with noise of
the size of the residuals and continues with less as these become smaller, down to the
given noise: a homotopy (Allgower and Georg, Numerical Continuation Methods, 1990,
chapter 1).
"""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import DirectionalDerivatives, Evaluator
from fmident.problem.model import Problem
from fmident.problem.priors import Priors

_SAME = 1e-12
"""Relative change of the noise that counts as none."""

_CLOSE = 1e-4
"""Relative change of the noise that moves an estimate by far less than its standard error."""

_LARGE = 10.0
"""Residuals, in known standard deviations, from which on a search begins with more noise."""

_SMALLER = 0.5
"""Part of the noise held to which it must fall for another search with more than is known."""


class SearchedRows:
    """The residuals that a search minimises: those of the evaluator, or with the noise held.

    The `noise` weighs the priors; it is ``None`` for the residuals of the evaluator, and
    may only be held if `weighed`.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._priors = Priors.of(problem)
        self.weighed = self._priors.count > 0
        self.noise: float | None = None

    def hold(self, p: F64) -> bool:
        """Hold the noise estimated from the residuals at `p`; return whether it has changed.

        It is at least the noise of the simulation itself: with noise-free data, priors still
        determine what these leave open.
        """
        noise, before = self._shown(p), self.noise
        if not np.isfinite(noise):
            return False
        if self._priors.sigma_known:
            return self._hold_more(noise)
        self.noise = noise
        return before is None or abs(noise - before) > _SAME * before

    def _hold_more(self, shown: float) -> bool:
        """Hold more noise than the known one, as long as it falls from search to search."""
        falls = self.noise is None or shown <= _SMALLER * self.noise
        self.noise = shown if falls and shown > _LARGE else None
        return self.noise is not None

    def outdated(self, p: F64) -> bool:
        """Return whether the residuals at a point imply a noise other than the one held."""
        if self.noise is None or self._priors.sigma_known:
            return False
        return abs(self._shown(p) - self.noise) > _CLOSE * self.noise

    def _shown(self, p: F64) -> float:
        data = self._evaluator.residuals(p)[: -self._priors.count]
        freedom = self._priors.freedom(data.size, p.size)
        deviation = float(np.linalg.norm(data)) / np.sqrt(freedom)
        return float(np.maximum(deviation, self._evaluator.noise(p)))

    def residuals(self, p: F64) -> F64:
        """Return the residuals at a point, shape (m + q,); NaN where the simulation fails."""
        rows = self._evaluator.residuals(p)
        if self.noise is None or not bool(np.isfinite(rows).all()):
            return rows
        data = rows[: -self._priors.count]
        return np.concatenate([data, self.noise * self._priors.deviations(p)])

    def cost(self, p: F64) -> float:
        """Return half the sum of their squares; infinite where the simulation fails."""
        if self.noise is None:
            return self._evaluator.cost(p)
        rows = self.residuals(p)
        value = 0.5 * float(np.einsum("i,i->", rows, rows))
        return value if np.isfinite(value) else float("inf")

    def gradient(self, p: F64) -> F64:
        """Return the gradient of :meth:`cost`, shape (n,)."""
        if self.noise is None:
            return self._evaluator.gradient(p)
        slope: F64 = self.jacobian(p).T @ self.residuals(p)
        return slope

    def jacobian(self, p: F64) -> F64:
        """Return the derivatives with respect to the physical parameters, shape (m, n)."""
        return self._with_slopes(p, self._evaluator.jacobian(p), np.eye(p.size))

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives along directions, (n, k) -> (m, k), and their errors."""
        derivatives = self._evaluator.directional_derivatives(p, directions)
        values = self._with_slopes(p, derivatives.values, directions)
        return DirectionalDerivatives(values, derivatives.errors)

    def _with_slopes(self, p: F64, changes: F64, directions: F64) -> F64:
        if self.noise is None:
            return changes
        slopes = self.noise * (self._priors.slopes(p) @ directions)
        return np.vstack([changes[: -self._priors.count], slopes])


def simulations_of_a_jacobian(problem: Problem) -> tuple[int, int]:
    """Return the number of free parameters of the FMU, and of simulations for differences."""
    variables = sum(q.variable is not None for q in problem.free)
    return variables, variables * (2 if problem.evaluation.difference == "central" else 1)
