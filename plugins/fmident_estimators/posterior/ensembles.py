"""Independent ensembles of walkers that run in parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import JacobianError
from fmident.evaluation.contract import Evaluator
from fmident_estimators.packages import imported
from fmident_estimators.posterior.target import PosteriorOptions, Target
from fmident_estimators.posterior.valley import Valley

_FREEDOM = 5.0
"""Degrees of freedom of the proposals, whose tails must not be thinner than the density."""

_TRIES = 200
"""Points that are tried for the start of each walker."""


@dataclass(frozen=True, eq=False)
class Chains:
    """Draws in the search space, shape (walkers of all ensembles, draws, n)."""

    points: F64
    densities: F64


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

    def chains(self, skipped: int) -> Chains:
        """Return the draws of all walkers without the first ones of each."""
        last = self.draws
        histories = [member.kept(skipped, last) for member in self._members]
        v = np.concatenate([points for points, _ in histories])
        z = self._valley.points(v.reshape(-1, v.shape[2])).reshape(v.shape)
        return Chains(z, np.concatenate([densities for _, densities in histories]))


class _Ensemble:
    """One ensemble of ``emcee``."""

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
        # Without a state it goes on from where it is.
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
