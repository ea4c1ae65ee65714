r"""Independent ensembles of walkers that run in parallel.

**Coordinates** are chosen in which the posterior is nearly a standard normal distribution. The
Laplace approximation whitens the search space by the Jacobian at the minimum of the cost. Where the
valley of the cost bends, a straight approximation soon misses it by many standard deviations: along
the k-th principal direction, from the least to the best determined one, the floor moves by a
polynomial of the previous directions. The shear

.. math:: u_k = v_k + g_k(u_1, \dots, u_{k-1})

has the determinant 1 and an inverse for any polynomials (a Knothe-Rosenblatt map with
unit slopes; Marzouk, Moselhy, Parno and Spantini, Sampling via measure transport, in
Handbook of Uncertainty Quantification, 2016). They are fitted to Gauss-Newton steps,
:math:`u - Q^T (r(u) - r(0))`, from points at increasing distances around the minimum.
This is an approximation: draws are accepted or rejected by the density itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Annotated, Any

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import Evaluator, JacobianError
from fmident.options import INSIDE_UNIT, NOT_NEGATIVE, Options, Range
from fmident.problem import Priors, Problem
from fmident_estimators.packages import imported

_FREEDOM = 5.0
"""Degrees of freedom of the proposals, whose tails must not be thinner than the density."""

_TRIES = 200
"""Points that are tried for the start of each walker."""

_SCALES = (0.2, 0.5, 1.0, 1.5, 2.0, 2.0)
"""Standard deviations of the points around the least cost, round by round."""

_LEAST_POINTS = 40
_RIDGE = 1e-6


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


class Target:
    r"""Logarithm of the posterior density, up to a constant, for `samples` residuals.

    Flat priors are flat in the search space: in the parameter, with log scaling in its
    logarithm. A parameter with a prior has that density, whatever its scaling. Unknown
    noise has Jeffreys' prior :math:`1/\sigma` and is integrated out, which leaves
    :math:`S^{-m/2}` with the sum of squares S of the m residuals (Box and Tiao, Bayesian
    Inference in Statistical Analysis, 1973, section 2.4).
    """

    def __init__(self, problem: Problem, evaluator: Evaluator, samples: int) -> None:
        self._samples, self.space = samples, evaluator.space
        self._priors = Priors.of(problem)
        self.lower, self.upper = self.space.lower, self.space.upper
        self._log = self.space.log
        kinds = [None if q.prior is None else q.prior.distribution for q in problem.free]
        known = np.array([k is not None for k in kinds], dtype=np.float64)
        lognormal = np.array([k == "lognormal" for k in kinds], dtype=np.float64)
        # Of a density of the parameter: its change to the search space, and that of the logarithm.
        self._powers = known * self._log - lognormal

    def densities(self, evaluator: Evaluator, z: F64) -> F64:
        """Return the logarithms at points, (k, n) -> (k,), simulated only within the bounds."""
        logarithms = np.full(len(z), -np.inf)
        inside = np.flatnonzero(((z >= self.lower) & (z <= self.upper)).all(axis=1))
        if inside.size:
            points = self.space.bounded(z[inside])
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


class Ensembles:
    """Several ensembles that continue from their current state, in coordinates `valley`."""

    def __init__(self, target: Target, valley: Valley, options: PosteriorOptions) -> None:
        self._target, self._valley, self._options = target, valley, options
        count = valley.center.size
        walkers = max(options.walkers or max(2 * count + 4, 10), 2 * count + 2)
        self.walkers = walkers + walkers % 2
        self._members = [
            _Ensemble(target, valley, self.walkers, options, number)
            for number in range(options.ensembles)
        ]

    @property
    def draws(self) -> int:
        """Draws of each walker so far."""
        return min(member.draws for member in self._members)

    @property
    def accepted(self) -> float:
        """Fraction of accepted proposals."""
        return float(np.mean([member.accepted for member in self._members]))

    def run(self, evaluator: Evaluator, draws: int) -> None:
        """Make `draws` draws with every walker."""

        def search(member: _Ensemble) -> Callable[[Evaluator], None]:
            return lambda own: member.run(own, draws)

        for end in evaluator.side_by_side([search(m) for m in self._members]):
            if isinstance(end, JacobianError):
                raise end

    def chains(self, skipped: int) -> tuple[F64, F64]:
        """Return the draws of all walkers without the first ones of each, and their densities.

        The draws are in the search space, shape (walkers of all ensembles, draws, n).
        """
        last = self.draws
        histories = [member.kept(skipped, last) for member in self._members]
        v = np.concatenate([points for points, _ in histories])
        z = self._valley.points(v.reshape(-1, v.shape[2])).reshape(v.shape)
        return z, np.concatenate([densities for _, densities in histories])


class _Ensemble:
    def __init__(
        self,
        target: Target,
        valley: Valley,
        walkers: int,
        options: PosteriorOptions,
        number: int,
    ) -> None:
        emcee = imported("emcee", "posterior", "posterior")
        self._target, self._valley = target, valley
        self._evaluator: Evaluator | None = None
        self._generator = np.random.default_rng([options.seed, number])
        self._shape = walkers, valley.center.size
        moves = [
            (emcee.moves.MHMove(_independent), options.independent),
            (emcee.moves.DEMove(), 0.8 * (1.0 - options.independent)),
            (emcee.moves.DESnookerMove(), 0.2 * (1.0 - options.independent)),
        ]
        self._sampler: Any = emcee.EnsembleSampler(
            *self._shape, self._densities, moves=moves, vectorize=True
        )
        # Not NumPy's global generator, whose state belongs to the user.
        seed = int(self._generator.integers(2**32))
        self._sampler.random_state = np.random.RandomState(seed).get_state()

    @property
    def draws(self) -> int:
        return int(self._sampler.iteration)

    @property
    def accepted(self) -> float:
        return float(np.mean(self._sampler.acceptance_fraction)) if self.draws else 0.0

    def run(self, evaluator: Evaluator, draws: int) -> None:
        self._evaluator = evaluator
        # Without a state it continues from its current one.
        state = None if self.draws else self._start()
        self._sampler.run_mcmc(state, draws, skip_initial_state_check=True)

    def kept(self, skipped: int, last: int) -> tuple[F64, F64]:
        """Return draws and densities, shapes (walkers, draws, n) and (walkers, draws)."""
        points = self._sampler.get_chain()[skipped:last].transpose(1, 0, 2)
        return points, self._sampler.get_log_prob()[skipped:last].T

    def _densities(self, v: F64) -> F64:
        assert self._evaluator is not None
        return self._target.densities(self._evaluator, self._valley.points(np.atleast_2d(v)))

    def _start(self) -> F64:
        """Return a start for each walker, more widely spread than the density."""
        starts: list[F64] = []
        for trial in range(_TRIES):
            spread = 1.5 * 0.9**trial
            v = spread * self._generator.standard_normal(self._shape)
            works = np.isfinite(self._densities(v))
            starts += list(v[works])
            if len(starts) >= self._shape[0]:
                return np.array(starts[: self._shape[0]])
        raise JacobianError(
            "no walker can start: all simulations around the least cost fail",
            hint="narrow the bounds to where the model can be simulated",
        )


def _independent(v: F64, generator: Any) -> tuple[F64, F64]:
    """Return proposals that do not depend on the state of the walkers, and their weights.

    Multivariate Student's t; the weight is the logarithm of the ratio of its densities
    (Tierney, Annals of Statistics 22, 1994, section 2.3.3).
    """
    scales = np.sqrt(generator.chisquare(_FREEDOM, size=len(v)) / _FREEDOM)
    new = generator.standard_normal(v.shape) / scales[:, np.newaxis]
    return new, _log_t(v) - _log_t(new)


def _log_t(v: F64) -> F64:
    log_density: F64 = -0.5 * (_FREEDOM + v.shape[1]) * np.log1p(np.sum(v**2, axis=1) / _FREEDOM)
    return log_density


class Valley:
    """The map from nearly normal coordinates v to the search space.

    `center` is the minimum of the cost in the search space, shape (n,); `information`,
    shape (m, n), the Jacobian there over the noise, with rows of priors, whose square is
    the inverse of the covariance. `widths` are the standard deviations for directions that
    the data leave open; infinite for none, which raises ``numpy.linalg.LinAlgError``.
    """

    def __init__(self, center: F64, information: F64, widths: F64) -> None:
        self.center = center
        bounded = np.diag(np.where(np.isfinite(widths), 1.0 / widths, 0.0))
        rows = np.vstack([information, bounded])
        sizes = np.linalg.norm(rows, axis=0)
        if not bool((sizes > 0.0).all()):
            raise np.linalg.LinAlgError("a column is zero")
        _, singular, right = np.linalg.svd(np.linalg.qr(rows / sizes, mode="r"))
        if singular[-1] <= 1e-10 * singular[0]:
            raise np.linalg.LinAlgError("the rank is deficient")
        spread = (right.T / singular) / sizes[:, np.newaxis]
        values, vectors = np.linalg.eigh(spread @ spread.T)
        order = np.argsort(values)[::-1]
        self._axes: F64 = vectors[:, order] * np.sqrt(values[order])
        self._project: F64 = information @ self._axes
        count = center.size
        self._terms = [list(combinations_with_replacement(range(k), 2)) for k in range(count)]
        self._weights = [np.zeros(len(t)) for t in self._terms]

    def points(self, v: F64) -> F64:
        """Return points of the search space, (k, n) -> (k, n)."""
        return self.center + self._bent(v) @ self._axes.T

    def straighten(
        self, target: Target, evaluator: Evaluator, noise: float, generator: np.random.Generator
    ) -> None:
        """Fit the bends of the valley to residuals around the minimum of the cost."""
        base = evaluator.residuals(target.space.bounded(self.center[np.newaxis])[0])
        size = max(2 * max(len(t) for t in self._terms), _LEAST_POINTS)
        places, floors, trusts = [], [], []
        for scale in _SCALES:
            v = scale * generator.standard_normal((size, self.center.size))
            u = self._bent(v)
            z = self.center + u @ self._axes.T
            inside = ((z >= target.lower) & (z <= target.upper)).all(axis=1)
            if not inside.any():
                break
            rows = evaluator.residuals_many(target.space.bounded(z[inside])) - base
            works = np.isfinite(rows).all(axis=1)
            steps = rows[works] / noise @ self._project
            places.append(u[inside][works])
            floors.append(places[-1] - steps)
            # Far up the walls, a step does not lead to the floor.
            off = np.abs(steps - v[inside][works]).max(axis=1, initial=0.0)
            trusts.append(1.0 / (1.0 + off))
            self._fit(np.vstack(places), np.vstack(floors), np.concatenate(trusts))

    def _fit(self, places: F64, floors: F64, trusts: F64) -> None:
        for k, terms in enumerate(self._terms):
            if not terms or len(places) < len(terms):
                continue
            rows = _products(places, terms) * trusts[:, np.newaxis]
            sizes = np.linalg.norm(rows, axis=0)
            sizes[sizes == 0.0] = 1.0
            system = np.vstack([rows / sizes, _RIDGE * np.eye(len(terms))])
            right = np.concatenate([floors[:, k] * trusts, np.zeros(len(terms))])
            self._weights[k] = np.linalg.lstsq(system, right, rcond=None)[0] / sizes

    def _bent(self, v: F64) -> F64:
        u = v.copy()
        for k, terms in enumerate(self._terms):
            if terms and self._weights[k].any():
                u[:, k] += _products(u, terms) @ self._weights[k]
        return u


def _products(values: F64, terms: Sequence[tuple[int, ...]]) -> F64:
    """Return the products of columns, shape (k, terms)."""
    pairs = np.array(terms)
    products: F64 = values[:, pairs[:, 0]] * values[:, pairs[:, 1]]
    return products
