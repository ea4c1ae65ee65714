"""The uncertainty of stages that hold what stages before them have found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.estimation.diagnostics.noise import noise_of
from fmident.estimation.result import (
    EstimationResult,
    ParameterEstimate,
    StageUncertainty,
    combination_of,
)
from fmident.estimation.run import Run
from fmident.estimation.stages.common_samples import CommonSamples, common_samples
from fmident.estimation.stages.held_values import held_derivatives
from fmident.evaluation import Evaluator, Executor
from fmident.evaluation.activity import Listener
from fmident.problem.priors.rows import Priors
from fmident.statistics import (
    HeldValues,
    Linearisation,
    ParameterStatistics,
    SequentialCovariance,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem, Stage


_BLURRED = 0.5
"""Error of what a held value does to the residuals, in standard deviations of the noise along it,
from which the intervals may be visibly wrong."""


def stages_with_intervals(problem: Problem) -> list[bool]:
    """Return of which stages the uncertainty is wanted.

    Of those that have the last word on a parameter, and of those on which the uncertainty of
    these depends.
    """
    stages = problem.stages
    searched = [{q.name for q in stage.problem.free} for stage in stages]
    wanted = [False] * len(stages)
    for k in reversed(range(len(stages))):
        later = set().union(*searched[k + 1 :])
        wanted[k] = wanted[k] or not searched[k] <= later
        if wanted[k] and stages[k].propagate:
            for name in _fixed(stages[k].problem):
                before = [i for i in range(k) if name in searched[i]]
                if before:
                    wanted[before[-1]] = True
    return wanted


@dataclass(frozen=True)
class Carried:
    """How the intervals of one stage came about, beside its own statistics.

    Parameters
    ----------
    uncertainty
        What they count; ``None`` where the stage held nothing that an earlier one has found.
    simulations, jacobians
        What that took.
    reason
        Why what was held could not be counted, or empty.
    interrupted
        Whether Ctrl-C ended it.
    blurred
        Parameters that count, but with derivatives too inexact for it.
    counts_noise
        Whether they count noise that is not white noise of one size.
    """

    uncertainty: StageUncertainty | None
    simulations: int = 0
    jacobians: int = 0
    reason: str = ""
    interrupted: bool = False
    blurred: tuple[str, ...] = ()
    counts_noise: bool = False


class Propagation:
    """Follows a run in stages and carries uncertainty from one to the next.

    Parameters
    ----------
    problem
        With stages.
    """

    def __init__(self, problem: Problem) -> None:
        self.wanted = stages_with_intervals(problem)
        self._stages = problem.stages
        self._chain = SequentialCovariance()
        self._common = common_samples(
            {
                k: stage.problem
                for k, stage in enumerate(problem.stages)
                if self.wanted[k] and stage.problem.cost.gives_intervals
            }
        )
        self._searched: set[str] = set()
        self._starts: dict[str, float] = {}  # the largest from which each was searched
        self._withheld: set[str] = set()
        self._priors: dict[str, int] = {}
        self._fresh = 1 + max(
            (int(c.numbers.max()) for c in self._common.values() if c.numbers is not None),
            default=0,
        )
        self._apart: dict[str, int] = {}  # parameters whose errors are not compared with others'

    def add(
        self,
        number: int,
        stage: Stage,
        problem: Problem,
        run: Run,
        evaluator: Evaluator,
        executor: Executor,
        listener: Listener | None = None,
    ) -> Carried:
        """Take in a stage that was run.

        Parameters
        ----------
        number
            Of the stage, from 0.
        stage, problem
            As in the whole problem, and as it was solved.
        run
            What it found.
        evaluator, executor
            Of the stage.
        listener
            Receives how far simulations are.
        """
        free = [q.name for q in problem.free]
        held = [n for n in _fixed(problem) if n in self._searched and n not in stage.starts]
        self._searched |= set(free)
        for q in (*stage.problem.free, *problem.free):
            self._starts[q.name] = max(self._starts.get(q.name, 0.0), q.initial, key=abs)
        for name in free:
            self._apart.pop(name, None)
        self._withheld -= set(free)
        if run.statistics is not None:
            self._withheld |= set(run.statistics.identifiability.withheld)
        if run.statistics is None or not self.wanted[number]:
            self._chain.forget(free)
            return Carried(None)
        common = self._common.get(number, CommonSamples())
        countable = [n for n in held if self._chain.knows(n)]
        values, took = HeldValues(), (0, 0)
        reason, interrupted = "", False
        bounds_only = not run.statistics.linearisation.kept.size  # nothing has an interval
        if countable and stage.propagate and not bounds_only:
            if run.result.status == "interrupted":
                reason = "the run was interrupted"
            else:
                try:
                    found = held_derivatives(
                        problem,
                        executor,
                        np.array([run.result.values[n] for n in free]),
                        countable,
                        starts=self._starts,
                        sizes=evaluator.step_sizes,
                        weights=run.residual_weights,
                        noise_level=run.statistics.linearisation.noise,
                        listener=listener,
                    )
                    values, took = found.values, (found.simulations, found.jacobians)
                except FmidentError as error:  # what the stage found must not be lost
                    reason = error.message
                except KeyboardInterrupt:
                    reason, interrupted = "the run was interrupted", True
        blurred = self._blurred(values, run.statistics.linearisation.noise)
        if countable and not values.names:
            self._apart.update(dict.fromkeys(free, number))
        numbers, weights = common.numbers, run.residual_weights
        if numbers is not None and weights is not None:
            used = weights[: numbers.size] != 0.0
            numbers = numbers[used]  # the others are left out of the statistics
        linear = self._with_noise(number, problem, run, values)
        if linear.coloured is not None and linear.coloured.sums is not None:
            numbers = None  # sums over samples, not samples
        numbers = self._with_priors(problem, numbers, linear.samples)
        self._chain.add(free, linear, values, numbers)
        counts_noise = linear.coloured is not None
        if not held:
            return Carried(None, counts_noise=counts_noise)
        counted = values.names
        uncertainty = StageUncertainty(
            counted=counted,
            taken_for_known=tuple(n for n in held if n not in counted),
            shared_experiments=common.experiments if counted else (),
            taken_for_independent=common.altered if counted else (),
            conditional_errors=_errors(free, run.statistics, counts_noise=counts_noise),
            simulations=took[0],
        )
        return Carried(uncertainty, *took, reason, interrupted, blurred, counts_noise)

    def _with_noise(
        self, number: int, problem: Problem, run: Run, values: HeldValues
    ) -> Linearisation:
        """Return the linearisation of a stage with its noise alone.

        The errors of what it held are in its residuals, too. Those of values that an earlier stage
        has found are counted apart from the noise; those of initial values that a later stage
        replaces are in no interval, and the noise cannot be told from them.
        """
        assert run.statistics is not None
        linear, weights = run.statistics.linearisation, run.residual_weights
        later = {q.name for s in self._stages[number + 1 :] for q in s.problem.free}
        if later & set(_fixed(problem)) - self._searched:
            return replace(linear, coloured=None)
        if not values.names:
            return linear
        count = linear.samples
        everything = np.column_stack([linear.data_jacobian, values.jacobian[:count]])
        used = None
        if weights is not None:
            used = weights[: weights.size - linear.priors] != 0.0
        noise = noise_of(problem, linear.residuals[:count], everything, used)
        return replace(linear, coloured=noise)

    def _with_priors(
        self, problem: Problem, numbers: npt.NDArray[np.int64] | None, count: int
    ) -> npt.NDArray[np.int64] | None:
        """Return the numbers of residuals with those of priors, the same in every stage."""
        names = Priors.of(problem).names
        if not names:
            return numbers
        own = [-2 - self._priors.setdefault(name, len(self._priors)) for name in names]
        if numbers is None:  # samples that no other stage uses
            numbers = self._fresh + np.arange(count, dtype=np.int64)
            self._fresh += count
        return np.concatenate([numbers, np.array(own, dtype=np.int64)])

    def _blurred(self, values: HeldValues, noise: float) -> tuple[str, ...]:
        """Return what was held whose effect may be another by half a standard error."""
        found = self._chain.covariance(values.names)
        move = values.errors * np.sqrt(np.diag(found))
        return tuple(n for n, m in zip(values.names, move, strict=True) if m > _BLURRED * noise)

    def applied(
        self, estimate: ParameterEstimate, values: Mapping[str, float]
    ) -> ParameterEstimate:
        """Return a parameter with the uncertainty that counts what its stage held.

        Parameters
        ----------
        estimate
            Of a parameter, or of a base parameter; members of those have no uncertainty.
        values
            Of all parameters.
        """
        if estimate.base:
            return estimate
        if estimate.factors and not self._withheld & {*estimate.members}:
            combination = combination_of(estimate, estimate.members)
            slopes = combination.gradient(np.array([values[n] for n in estimate.members]))
            self._chain.combine(estimate.name, dict(zip(estimate.members, slopes, strict=True)))
        if not self._chain.knows(estimate.name) or estimate.name in self._withheld:
            return estimate
        names, value = [estimate.name], np.array([estimate.value])
        low, high = self._chain.intervals(names, value)[0]
        error = float(np.sqrt(self._chain.covariance(names)[0, 0]))
        return replace(estimate, standard_error=error, interval_95=(float(low), float(high)))

    def undetermined(self, names: Sequence[str]) -> list[str]:
        """Return the parameters among `names` that no data determine, be it by what was held."""
        return self._chain.undetermined(names)

    def covariance(self, names: Sequence[str]) -> F64:
        """Return the joint covariance of parameters, shape (n, n); NaN where it is unknown."""
        found = self._chain.covariance(names)
        for i, first in enumerate(names):
            if first in self._withheld:
                found[i, :] = found[:, i] = np.nan
            # What a stage did not count correlates its errors with those of other stages.
            if first in self._apart:
                others = [self._apart.get(n) != self._apart[first] for n in names]
                found[i, others] = np.nan
                found[others, i] = np.nan
        return found


def correlation_of(covariance: F64) -> F64:
    """Return the correlation, shape (n, n); NaN where the covariance is."""
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: F64 = covariance / np.outer(errors, errors)
    np.fill_diagonal(correlation, np.where(np.isfinite(errors), 1.0, np.nan))
    return correlation


def with_effort(result: EstimationResult, carried: Carried) -> EstimationResult:
    """Return the result of a stage, what carrying uncertainty over took counted."""
    message = result.message
    if carried.interrupted:
        message = f"interrupted while the intervals were computed; before: {message}"
    return replace(
        result,
        status="interrupted" if carried.interrupted else result.status,
        ended_by=None if carried.interrupted else result.ended_by,
        message=message,
        simulations=result.simulations + carried.simulations,
        jacobians=result.jacobians + carried.jacobians,
    )


def _fixed(problem: Problem) -> list[str]:
    return [q.name for q in problem.parameters if q.fixed]


def _errors(
    names: Sequence[str], statistics: ParameterStatistics, *, counts_noise: bool
) -> dict[str, float]:
    """Return standard errors by name; without the noise that what was held may have made."""
    errors: npt.NDArray[np.float64] = statistics.standard_errors
    if not counts_noise and statistics.linearisation.coloured is not None:
        errors = np.where(np.isfinite(errors), statistics.linearisation.white_errors(), errors)
    return {name: float(error) for name, error in zip(names, errors, strict=True)}
