"""Replicates of a problem whose noise is modelled: each has a noise model of its own.

The residuals are innovations then, of the noise model at the estimate. A replicate is fitted with
that model first; what this leaves tells the noise model of the replicate, by which it is fitted
again, as the estimate itself was (Davison and Hinkley, Bootstrap Methods and their Application,
1997, section 8.2, on resampling with a model of the noise).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.arrays import F64
from fmident.estimation.noise.alternate import NoiseAsked
from fmident.estimation.noise.prewhitened import Prewhitened
from fmident.resampling.refits import Origin, Refit, refit
from fmident.statistics.noise import fit_noise, spanned, with_amplitudes

if TYPE_CHECKING:
    from fmident.evaluation import Evaluator
    from fmident.evaluation.tasks import SimulationFailure
    from fmident.problem.model import Problem
    from fmident.problem.priors.rows import Priors
    from fmident.problem.search_space import SearchSpace
    from fmident.statistics.noise import NoiseModel


@dataclass(frozen=True, eq=False)
class ModelledNoise:
    """The noise of a problem with whitened residuals, and how replicates find theirs.

    Parameters
    ----------
    asked
        What the problem asks for.
    model
        Of the noise at the estimate.
    """

    asked: NoiseAsked
    model: NoiseModel

    @classmethod
    def of(cls, problem: Problem) -> ModelledNoise | None:
        """Return that of a problem; ``None`` where the noise is not modelled."""
        if not isinstance(problem.cost, Prewhitened):
            return None
        return cls(NoiseAsked.of(problem), problem.cost.model)

    def refit(self, evaluator: Evaluator, origin: Origin, shift: F64, priors: Priors) -> Refit:
        """Return the estimate of a replicate, with its own noise model.

        Parameters
        ----------
        evaluator, origin, shift, priors
            As of :func:`~fmident.resampling.refits.refit`, all in innovations.

        Returns
        -------
        Refit
            Its residuals are plain ones, not innovations.
        """
        first = refit(evaluator, origin, shift, priors)
        if first.failure:
            return first
        orders = [f.order for f in self.model.fits]
        left = self.model.colour(first.simulated + shift)
        jacobian = self.model.colour(origin.jacobian)
        waves = with_amplitudes(self.model.waves, left, spanned(jacobian))
        own = fit_noise(self.asked.outputs, left, jacobian, orders, waves=waves)
        change = _Change(self.model, own)
        begin = dataclasses.replace(
            origin, residuals=change(origin.residuals), jacobian=change(origin.jacobian)
        )
        found = refit(_Rewhitened(evaluator, change), begin, change(shift), priors)
        return dataclasses.replace(
            found, simulated=own.colour(found.simulated), steps=first.steps + found.steps
        )


@dataclass(frozen=True, eq=False)
class _Change:
    """From the innovations of one noise model to those of another."""

    before: NoiseModel
    after: NoiseModel

    def __call__(self, values: F64) -> F64:
        return self.after.whiten(self.before.colour(values))


@dataclass(frozen=True, eq=False)
class _Rewhitened:
    """An evaluator whose residuals are the innovations of another noise model."""

    evaluator: Evaluator
    change: _Change

    @property
    def problem(self) -> Problem:
        return self.evaluator.problem

    @property
    def space(self) -> SearchSpace:
        return self.evaluator.space

    @property
    def last_failure(self) -> SimulationFailure | None:
        return self.evaluator.last_failure

    def data_residuals(self, p: F64) -> F64:
        return self.change(self.evaluator.data_residuals(p))

    def data_jacobian(self, p: F64) -> F64:
        return self.change(self.evaluator.data_jacobian(p))
