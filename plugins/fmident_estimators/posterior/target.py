r"""The posterior density in the search space.

Flat priors are flat in the search space: in the parameter, with log scaling in its
logarithm. A parameter with a prior has that density, whatever its scaling. Unknown
noise has Jeffreys' prior :math:`1/\sigma` and is integrated out, which leaves
:math:`S^{-m/2}` with the sum of squares S of the m residuals (Box and Tiao, Bayesian
Inference in Statistical Analysis, 1973, section 2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import Evaluator
from fmident.options import INSIDE_UNIT, NOT_NEGATIVE, Options, Range
from fmident.problem import Priors, Problem


class Target:
    """Logarithm of the posterior density, up to a constant, for `samples` residuals."""

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
        """Return physical points within the bounds, shape (k, n)."""
        inside: F64 = np.clip(self._space.to_physical(z), self._problem.lower, self._problem.upper)
        return inside

    def densities(self, evaluator: Evaluator, z: F64) -> F64:
        """Return the logarithms at points, (k, n) -> (k,), simulated only within the bounds."""
        logarithms = np.full(len(z), -np.inf)
        inside = np.flatnonzero(((z >= self.lower) & (z <= self.upper)).all(axis=1))
        if inside.size:
            points = self.physical(z[inside])
            costs = evaluator.costs(points)
            logarithms[inside] = [self._density(p, c) for p, c in zip(points, costs, strict=True)]
        return logarithms

    def _density(self, p: F64, cost: float) -> float:
        if not np.isfinite(cost):
            return -np.inf
        density = self._priors.log_density(p, cost, self._samples)
        acting = self._powers != 0.0
        if acting.any():
            density += float(self._powers[acting] @ np.log(p[acting]))
        return density


@dataclass(frozen=True)
class PosteriorOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    effective
        Effective draws at which a parameter has converged, in bulk and tails.
    r_hat
        Rank-normalised split R-hat below which a parameter has converged.
    max_draws
        Maximum number of draws, warm-up included; each costs one simulation of each
        experiment.
    ensembles
        Independent ensembles, which run in parallel and are compared.
    walkers
        Even number of walkers per ensemble; the larger of 10 and ``2 n + 4`` for n
        parameters if absent.
    warm_up
        Minimum number of discarded draws per walker; a quarter of all if that is more.
    independent
        Fraction of draws proposed from the straightened Laplace approximation; the others
        are differential evolution of the walkers.
    straighten
        Whether the approximation follows the bends of the valley of the cost.
    starts
        Searches for the minimum of the cost before drawing, as in ``least-squares``.
    seed
        Seed of the random numbers.
    """

    effective: Annotated[int, Range(least=100)] = 4000
    r_hat: Annotated[float, Range(above=1.0, most=1.2)] = 1.01
    max_draws: Annotated[int, Range(least=1000)] = 200_000
    ensembles: Annotated[int, Range(least=2)] = 4
    walkers: Annotated[int | None, Range(least=4)] = None
    warm_up: Annotated[int, Range(least=10)] = 30
    independent: Annotated[float, INSIDE_UNIT] = 0.75
    straighten: bool = True
    starts: Annotated[int, Range(least=1)] = 1
    seed: Annotated[int, NOT_NEGATIVE] = 0
