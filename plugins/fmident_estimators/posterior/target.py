r"""The posterior density in the search space.

Flat priors are flat in the search space: in the parameter, with log scaling in its logarithm. A
parameter with a prior has that density, whatever its scaling. Unknown noise has Jeffreys' prior
:math:`1/\sigma` and is integrated out, which leaves :math:`S^{-m/2}` with the sum of squares S
of the m residuals (Box and Tiao, Bayesian Inference in Statistical Analysis, 1973, section 2.4).
"""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.evaluation.contract import Evaluator
from fmident.problem import Priors, Problem


class Target:
    """Logarithm of the posterior density, up to a constant.

    Parameters
    ----------
    problem
        With bounds and priors.
    samples
        Number of residuals of the data.

    Attributes
    ----------
    lower, upper
        Bounds in the search space, shape (n,).
    """

    def __init__(self, problem: Problem, evaluator: Evaluator, samples: int) -> None:
        self._problem, self._samples = problem, samples
        self._space = evaluator.space
        self._priors = Priors.of(problem)
        self.lower, self.upper = self._space.lower, self._space.upper
        self._log = self._space.log
        kinds = [None if q.prior is None else q.prior.distribution for q in problem.free]
        known = np.array([k is not None for k in kinds], dtype=np.float64)
        lognormal = np.array([k == "lognormal" for k in kinds], dtype=np.float64)
        # Of a density of the parameter: its change to the search space, and that of the logarithm.
        self._powers = known * self._log - lognormal

    def physical(self, z: F64) -> F64:
        """Return physical points, inside the bounds, shape (k, n)."""
        inside: F64 = np.clip(self._space.to_physical(z), self._problem.lower, self._problem.upper)
        return inside

    def densities(self, evaluator: Evaluator, z: F64) -> F64:
        """Return the logarithms at points of the search space, (k, n) -> (k,), as one batch.

        Parameters
        ----------
        evaluator
            Who simulates.
        z
            Those outside of the bounds are not simulated.
        """
        found = np.full(len(z), -np.inf)
        inside = np.flatnonzero(((z >= self.lower) & (z <= self.upper)).all(axis=1))
        if inside.size:
            points = self.physical(z[inside])
            costs = evaluator.costs(points)
            found[inside] = [self._density(p, c) for p, c in zip(points, costs, strict=True)]
        return found

    def _density(self, p: F64, cost: float) -> float:
        if not np.isfinite(cost):
            return -np.inf
        density = self._priors.log_density(p, cost, self._samples)
        acting = self._powers != 0.0
        if acting.any():
            density += float(self._powers[acting] @ np.log(p[acting]))
        return density
