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
from fmident.evaluation import Evaluator
from fmident.problem.model import Problem
from fmident.problem.priors import Priors

_SAME = 1e-12
"""Relative change of the noise that counts as none."""

_CLOSE = 1e-4
"""Relative change of the noise that moves an estimate by far less than its standard error."""

_LARGE = 10.0
"""A search begins with more noise than the known one when residuals are above this many known
standard deviations."""

_SMALLER = 0.5
"""Part of the noise held to which it must fall for another search with more than is known."""


class HeldNoise:
    """The noise that weighs the priors during a search.

    `deviation` is its standard deviation; ``None`` leaves the rows as the evaluator returns
    them. It is only held if the problem has priors, that is if `weighs`.
    """

    def __init__(self, problem: Problem, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._priors = Priors.of(problem)
        self.weighs = self._priors.count > 0
        self.deviation: float | None = None

    def hold(self, p: F64) -> bool:
        """Hold the noise estimated from the residuals at `p`; return whether it has changed.

        It is at least the noise of the simulation itself: with noise-free data, priors still
        determine what these leave open. Known noise is held larger as long as it falls from
        search to search.
        """
        estimate, before = self._estimated(p), self.deviation
        if not np.isfinite(estimate):
            return False
        if self._priors.sigma_known:
            falls = before is None or estimate <= _SMALLER * before
            self.deviation = estimate if falls and estimate > _LARGE else None
            return self.deviation is not None
        self.deviation = estimate
        return before is None or abs(estimate - before) > _SAME * before

    def outdated(self, p: F64) -> bool:
        """Return whether the residuals at a point imply a noise other than the one held."""
        if self.deviation is None or self._priors.sigma_known:
            return False
        return abs(self._estimated(p) - self.deviation) > _CLOSE * self.deviation

    def _estimated(self, p: F64) -> float:
        data = self._evaluator.residuals(p)[: -self._priors.count]
        freedom = self._priors.freedom(data.size, p.size)
        deviation = float(np.linalg.norm(data)) / np.sqrt(freedom)
        return float(np.maximum(deviation, self._evaluator.noise(p)))

    def residuals(self, p: F64, rows: F64) -> F64:
        """Return the evaluator's residuals at `p`, shape (m + q,), with the priors weighed."""
        if self.deviation is None or not bool(np.isfinite(rows).all()):
            return rows
        data = rows[: -self._priors.count]
        return np.concatenate([data, self.deviation * self._priors.deviations(p)])

    def derivatives(self, p: F64, changes: F64, directions: F64 | None = None) -> F64:
        """Return the evaluator's derivatives at `p`, shape (m + q, k), with the priors weighed.

        They are along `directions`, shape (n, k); a Jacobian if absent.
        """
        if self.deviation is None:
            return changes
        slopes = self._priors.slopes(p) @ (np.eye(p.size) if directions is None else directions)
        return np.vstack([changes[: -self._priors.count], self.deviation * slopes])


def simulations_of_a_jacobian(problem: Problem) -> tuple[int, int]:
    """Return the number of free parameters of the FMU, and of simulations for differences."""
    variables = sum(q.variable is not None for q in problem.free)
    return variables, variables * (2 if problem.evaluation.difference == "central" else 1)
