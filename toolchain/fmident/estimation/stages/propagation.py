"""Uncertainty of stages that hold the estimates of earlier stages.

The noise of a sample that two stages use affects both of their estimates. Samples are
the same if they come from the same column of the same file at the same time and have
the same value: a signal that was filtered differently has another noise.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

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
from fmident.estimation.run import ResultWithStatistics
from fmident.evaluation import Evaluator, Executor
from fmident.evaluation.activity import Listener
from fmident.evaluation.derivatives.differences import StepSizes
from fmident.problem.dependent import Dependence
from fmident.problem.priors import Priors
from fmident.statistics.local_model import LocalModel
from fmident.statistics.sequential import HeldValues, SequentialCovariance

if TYPE_CHECKING:
    from fmident.problem.model import Derivation, Parameter, Problem, Stage


_BLURRED = 0.5
"""Error of what a held value does to the residuals, in standard deviations of the noise along it,
from which the intervals may be visibly wrong."""


_EPS = float(np.finfo(np.float64).eps)


_Estimate = TypeVar("_Estimate", bound=ParameterEstimate)


def stages_with_intervals(problem: Problem) -> list[bool]:
    """Return the stages whose uncertainty is needed by the last stage of any parameter."""
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
    """Origin of the intervals of one stage, in addition to its own statistics.

    `uncertainty` is the effect of held values, ``None`` if none was estimated by an earlier
    stage, and `reason` says why it could not be included. The derivatives of `blurred`
    parameters are too inexact.
    """

    uncertainty: StageUncertainty | None
    jacobians: int = 0
    reason: str = ""
    interrupted: bool = False
    blurred: tuple[str, ...] = ()
    counts_noise: bool = False

    @property
    def simulations(self) -> int:
        """Those for the effect of held values."""
        return 0 if self.uncertainty is None else self.uncertainty.simulations


@dataclass(frozen=True, eq=False)
class HeldEffect:
    """Derivatives with respect to held parameters, and the simulations and Jacobians they took.

    `reason` says why there are none, `interrupted` whether Ctrl-C is that.
    """

    values: HeldValues = field(default_factory=HeldValues)
    simulations: int = 0
    jacobians: int = 0
    reason: str = ""
    interrupted: bool = False


class Propagation:
    """Follows a run in stages and propagates uncertainty from one to the next."""

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
        run: ResultWithStatistics,
        evaluator: Evaluator,
        executor: Executor,
        listener: Listener | None = None,
    ) -> Carried:
        """Add a stage that was run.

        `number` counts from 0; `stage` is that of the whole problem, `problem` the one that was
        solved; `listener` receives the progress of simulations.
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
        effect = HeldEffect()
        bounds_only = not run.statistics.local.moving.size  # nothing has an interval
        if countable and stage.propagate and not bounds_only:
            effect = self._effect_of(countable, problem, run, evaluator, executor, listener)
        values = effect.values
        blurred = self._blurred(values, run.statistics.local.noise)
        if countable and not values.names:
            self._apart.update(dict.fromkeys(free, number))
        linear = self._with_noise(number, problem, run, values)
        numbers = self._numbers(problem, linear, common.numbers, run.residual_weights)
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
            conditional_errors=_errors(free, run.statistics.local, counts_noise=counts_noise),
            simulations=effect.simulations,
        )
        return Carried(
            uncertainty,
            effect.jacobians,
            effect.reason,
            effect.interrupted,
            blurred,
            counts_noise,
        )

    def _effect_of(
        self,
        names: Sequence[str],
        problem: Problem,
        run: ResultWithStatistics,
        evaluator: Evaluator,
        executor: Executor,
        listener: Listener | None,
    ) -> HeldEffect:
        if run.result.status == "interrupted":
            return HeldEffect(reason="the run was interrupted")
        try:
            return held_derivatives(
                problem,
                executor,
                run,
                names,
                starts=self._starts,
                sizes=evaluator.step_sizes,
                listener=listener,
            )
        except FmidentError as error:  # what the stage found must not be lost
            return HeldEffect(reason=error.message)
        except KeyboardInterrupt:
            return HeldEffect(reason="the run was interrupted", interrupted=True)

    def _numbers(
        self,
        problem: Problem,
        linear: LocalModel,
        numbers: npt.NDArray[np.int64] | None,
        weights: F64 | None,
    ) -> npt.NDArray[np.int64] | None:
        """Return the numbers of the samples that count, and of priors; ``None`` if unknown."""
        if numbers is not None and weights is not None:
            used = weights[: numbers.size] != 0.0
            numbers = numbers[used]  # the others are left out of the statistics
        if linear.coloured is not None and linear.coloured.sums is not None:
            numbers = None  # sums over samples, not samples
        return self._with_priors(problem, numbers, linear.samples)

    def _with_noise(
        self, number: int, problem: Problem, run: ResultWithStatistics, values: HeldValues
    ) -> LocalModel:
        """Return the linearisation of a stage with its noise alone.

        The errors of held values are in its residuals, too. Those of earlier estimates are
        included separately from the noise; those of initial values that a later stage replaces
        are in no interval, and cannot be separated from the noise.
        """
        assert run.statistics is not None
        linear, weights = run.statistics.local, run.residual_weights
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
        noise = noise_of(problem, linear.right[:count], everything, used)
        return replace(linear, coloured=noise)

    def _with_priors(
        self, problem: Problem, numbers: npt.NDArray[np.int64] | None, count: int
    ) -> npt.NDArray[np.int64] | None:
        """Return the numbers of residuals including those of priors, the same in every stage."""
        names = Priors.of(problem).names
        if not names:
            return numbers
        own = [-2 - self._priors.setdefault(name, len(self._priors)) for name in names]
        if numbers is None:  # samples that no other stage uses
            numbers = self._fresh + np.arange(count, dtype=np.int64)
            self._fresh += count
        return np.concatenate([numbers, np.array(own, dtype=np.int64)])

    def _blurred(self, values: HeldValues, noise: float) -> tuple[str, ...]:
        """Return held values whose effect is uncertain by half a standard error."""
        covariance = self._chain.covariance(values.names)
        move = values.errors * np.sqrt(np.diag(covariance))
        return tuple(n for n, m in zip(values.names, move, strict=True) if m > _BLURRED * noise)

    def applied(self, estimate: _Estimate, values: Mapping[str, float]) -> _Estimate:
        """Return a parameter with an uncertainty that includes the values its stage held."""
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
        """Return the parameters among `names` left undetermined, also by held values."""
        return self._chain.undetermined(names)

    def covariance(self, names: Sequence[str]) -> F64:
        """Return the joint covariance of parameters, shape (n, n); NaN where it is unknown."""
        joint = self._chain.covariance(names)
        for i, first in enumerate(names):
            if first in self._withheld:
                joint[i, :] = joint[:, i] = np.nan
            # What a stage did not count correlates its errors with those of other stages.
            if first in self._apart:
                others = [self._apart.get(n) != self._apart[first] for n in names]
                joint[i, others] = np.nan
                joint[others, i] = np.nan
        return joint


def with_effort(result: EstimationResult, carried: Carried) -> EstimationResult:
    """Return the result of a stage including the effort of the propagation."""
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


def _errors(names: Sequence[str], model: LocalModel, *, counts_noise: bool) -> dict[str, float]:
    """Return standard errors by name, without noise that held values may have caused."""
    errors: npt.NDArray[np.float64] = model.standard_errors
    if not counts_noise and model.coloured is not None:
        errors = np.where(np.isfinite(errors), model.white_errors, errors)
    return {name: float(error) for name, error in zip(names, errors, strict=True)}


def held_derivatives(
    problem: Problem,
    executor: Executor,
    run: ResultWithStatistics,
    names: Sequence[str],
    *,
    starts: Mapping[str, float],
    sizes: StepSizes | None,
    listener: Listener | None,
) -> HeldEffect:
    """Return the effect of the held parameters `names` on the residuals.

    It takes one simulation per parameter and experiment, and one more per experiment at the
    solution, with steps from the known noise of `sizes`; more if that has to be measured
    first. `starts` give the size of estimates near zero. Residuals of weight zero are left
    out. Raises `JacobianError` if the simulation fails around the solution.
    """
    assert run.statistics is not None
    noise_level, weights = run.statistics.local.noise, run.residual_weights
    noise, relative = _noise_and_step(sizes)
    released, point = _released(problem, run.result.values, names, starts)
    if relative is not None and problem.evaluation.relative_step is None:
        exact = problem.evaluation.takes_sensitivities
        difference: Derivation | None = None if exact else "forward"
        settings = replace(problem.evaluation, relative_step=relative, difference=difference)
        released = replace(released, evaluation=settings)
    order = [q.name for q in released.free]
    with Evaluator(released, executor) as evaluator:
        evaluator.activities.listener = listener
        text = "carrying over the uncertainty of earlier stages"
        with evaluator.activities.during(text, 1 + len(order)):
            jacobian = evaluator.data_jacobian(point)
        errors = evaluator.column_errors(point)
        steps = evaluator.step_sizes
        simulations, jacobians = evaluator.simulations, evaluator.jacobians
    errors = np.zeros(len(order)) if errors is None else errors
    if steps is not None and not np.isfinite(steps.noise) and noise > steps.rounding > 0.0:
        errors = errors * (noise / steps.rounding)
    if weights is not None:
        weights = weights[: jacobian.shape[0]]
        jacobian = jacobian[weights != 0.0] * weights[weights != 0.0, np.newaxis]
        errors = errors * float(np.sqrt(np.mean(weights[weights != 0.0] ** 2)))
    # What was held is part of parameters that follow from others, which may have priors.
    own = replace(Priors.of(problem), dependence=Dependence.of(released))
    jacobian = np.vstack([jacobian, noise_level * own.slopes(point)])
    columns = [order.index(name) for name in names]
    held = HeldValues(tuple(names), jacobian[:, columns], errors[columns])
    return HeldEffect(held, simulations, jacobians)


def _noise_and_step(sizes: StepSizes | None) -> tuple[float, float | None]:
    """Return the noise per residual and the relative step that suits it, ``None`` if unknown.

    As for the stage's own parameters (More and Wild 2012, theorem 3.2), with the size of
    the outputs over the square of that of the parameter for the curvature, which is not
    measured.
    """
    if sizes is None or not np.isfinite(sizes.noise) or sizes.rounding <= 0.0:
        return 0.0, None
    noise = max(sizes.noise, sizes.rounding)
    return noise, float(min(0.1, 8.0**0.25 * np.sqrt(noise * _EPS / sizes.rounding)))


def _released(
    problem: Problem, values: Mapping[str, float], names: Sequence[str], starts: Mapping[str, float]
) -> tuple[Problem, F64]:
    """Return the problem with the held parameters free and the others fixed, and their values."""
    free = {q.name for q in problem.free}

    def released(q: Parameter) -> Parameter:
        if q.name in names:
            # In logarithms the size of a parameter does not matter.
            start = q.initial if q.scaling == "log" else starts.get(q.name, q.initial)
            # Another stage may have searched it within other bounds.
            lower, upper = min(q.lower, q.initial, start), max(q.upper, q.initial, start)
            return replace(q, fixed=False, initial=start, lower=lower, upper=upper)
        return replace(q, fixed=True, initial=values[q.name] if q.name in free else q.initial)

    point = np.array([q.initial for q in problem.parameters if q.name in names])
    parameters = tuple(released(q) for q in problem.parameters)
    return replace(problem, parameters=parameters, stages=()), point


@dataclass(frozen=True, eq=False)
class CommonSamples:
    """Numbers of the samples of one stage.

    `numbers` has one per residual, equal for equal samples of all stages; ``None`` if no
    other stage uses any of them, or residuals belong to no sample. `experiments` are those
    whose samples an earlier stage also uses, `altered` those used in another form.
    """

    numbers: npt.NDArray[np.int64] | None = None
    experiments: tuple[str, ...] = ()
    altered: tuple[str, ...] = ()


def common_samples(problems: Mapping[int, Problem]) -> dict[int, CommonSamples]:
    """Return the samples that stages have in common, by stage number."""
    # Stages with a problem file of their own may name the same file by another path.
    # Built in Python, data have no file: the experiment's name stands for it.
    signals = [
        (k, e.name, (os.path.realpath(e.source) if e.source else e.name, m.column), e, m)
        for k, problem in problems.items()
        for e in problem.experiments
        for m in e.measurements
    ]
    if not signals:
        return {k: CommonSamples() for k in problems}
    columns = {key: n for n, key in enumerate(dict.fromkeys(key for _, _, key, *_ in signals))}
    sizes = [m.rows.size for *_, m in signals]
    stage = np.repeat([k for k, *_ in signals], sizes)
    experiment = np.repeat([name for _, name, *_ in signals], sizes)
    column = np.repeat([columns[key] for _, _, key, *_ in signals], sizes)
    times = np.concatenate([e.times[m.rows] for *_, e, m in signals])
    values = np.concatenate([m.compared[m.rows] for *_, m in signals])
    instants = _numbered(column, times)
    numbers = _numbered(instants, values)
    by_stage: dict[int, CommonSamples] = {}
    for k, problem in problems.items():
        own, before, exact = stage == k, stage < k, problem.cost.by_sample
        used = exact and bool(np.isin(numbers[own], numbers[~own]).any())
        equal = own & np.isin(numbers, numbers[before])
        # At the same instants of a signal an earlier stage has other values.
        other = before & np.isin(instants, instants[own]) & ~np.isin(numbers, numbers[own])
        altered = own & np.isin(instants, instants[other])
        by_stage[k] = CommonSamples(
            numbers[own] if used else None,
            tuple(dict.fromkeys(experiment[equal].tolist())) if exact else (),
            tuple(dict.fromkeys(experiment[altered if exact else altered | equal].tolist())),
        )
    return by_stage


def _numbered(groups: npt.NDArray[np.integer], values: F64) -> npt.NDArray[np.int64]:
    pairs = np.column_stack([groups, values])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
