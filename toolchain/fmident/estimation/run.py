"""Running one estimator on one problem: its searches, what follows from them, the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError
from fmident.estimation.assessment import Assessment, assess
from fmident.estimation.checks import build_options, check_initial_simulation, refuse_unsuited
from fmident.estimation.contract import Estimate, Estimator
from fmident.estimation.diagnostics import (
    combinations,
    constraints,
    noise,
    parameters,
    values_of,
)
from fmident.estimation.diagnostics.minima import better_minimum
from fmident.estimation.diagnostics.noise import (
    Prewhitened,
    alternation_with_noise,
    asks_for_noise,
    refuse_noise,
)
from fmident.estimation.diagnostics.notes import noise_notes, second_minimum_notes
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
from fmident.estimation.monitor import Observer, RunMonitor, RunPlan
from fmident.estimation.result import EstimationResult
from fmident.estimation.search import Search
from fmident.evaluation import Evaluator
from fmident.findings import Finding, finding, in_order, reading_notes
from fmident.problem.residuals import check_cost
from fmident.statistics.distributions import correlation_of

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_ROUNDS = 3
"""Further searches from points of lower cost: beyond a plateau, and again along profiles."""


_FROM_PLATEAU = (
    "A search ended on a plateau, with a cost of {cost:.4g}. It went on from {start}, where the"
    " cost is lower."
)
_FROM_PROFILE = (
    "A profile led to a lower cost than {cost:.6g}, and the search went on from {start}."
)


@dataclass(frozen=True)
class FmuIdentity:
    """Name, GUID, generation tool and file of the FMU for the result."""

    name: str = ""
    guid: str = ""
    tool: str = ""
    path: Path | None = None


Profiling = Callable[["Problem", Evaluator, EstimationResult], tuple[EstimationResult, F64 | None]]
"""Returns a result with intervals of profiles, and the parameters of a lower cost on them."""


def without_profiles(
    problem: Problem, evaluator: Evaluator, result: EstimationResult
) -> tuple[EstimationResult, None]:
    """Return the result as it is."""
    return result, None


@dataclass(frozen=True, eq=False)
class ResultWithStatistics:
    """A result with the statistics and weights that a later stage needs for its uncertainty."""

    result: EstimationResult
    statistics: VerifiedStatistics | None
    residual_weights: F64 | None


def run_estimation(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    options: Mapping[str, Any] | None = None,
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    *,
    intervals: bool = True,
    profiles: Profiling = without_profiles,
) -> EstimationResult:
    """Run an estimator and add uncertainty, fits and notes to its result.

    Ctrl-C and a request to stop end the run with the best parameters so far; so does a
    Jacobian that cannot be computed. The default `options` are
    ``problem.estimator.options``; without `intervals`, the uncertainty of the parameters is
    not computed. `profiles` gives the intervals where the model is too curved for linear ones; by
    default these stay.

    Raises
    ------
    fmident.errors.ProblemError
        Wrong options, no free parameter, or one without influence on the outputs.
    fmident.errors.EstimationError
        The initial simulation fails, or the estimator is broken.
    """
    return run_with_statistics(
        problem, evaluator, estimator, options, observers, fmu, intervals=intervals,
        profiles=profiles,
    ).result  # fmt: skip


def run_with_statistics(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    options: Mapping[str, Any] | None = None,
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    *,
    intervals: bool = True,
    profiles: Profiling = without_profiles,
) -> ResultWithStatistics:
    """Run an estimator like :func:`run_estimation`, and also return its statistics."""
    raw = problem.estimator.options if options is None else options
    chosen = build_options(estimator, raw, problem.where())
    _refuse(problem, estimator)
    monitor = RunMonitor(evaluator, observers)
    monitor.plan(_plan(problem, estimator, chosen))
    check_initial_simulation(problem, evaluator)
    initial_outputs = evaluator.simulate(problem.initial)
    cost_initial = evaluator.cost(problem.initial)
    in_rounds = asks_for_noise(problem)
    search = Search(estimator, chosen, monitor, minimise=in_rounds)
    estimate = search(problem, evaluator)
    search = replace(search, again=True)
    minimum = _minimum(problem, evaluator, estimate, search)
    if minimum.evaluator is not evaluator:
        cost_initial = minimum.evaluator.cost(problem.initial)

    def assessed(estimate: Estimate) -> Assessment:
        return assess(
            minimum.problem,
            minimum.evaluator,
            estimator,
            estimate,
            initial_outputs,
            intervals=intervals,
        )

    def result_of(assessment: Assessment) -> EstimationResult:
        findings = [
            *reading_notes(problem.notes),
            *(finding("search", text) for text in monitor.notes),
            *minimum.findings,
            *assessment.findings,
            *(finding("derivatives", text) for text in minimum.evaluator.notes),
        ]
        identity = fmu or FmuIdentity(path=problem.fmu)
        return _result(assessment, search, cost_initial, findings, identity)

    def below(assessment: Assessment, start: F64 | None, reason: str) -> Assessment | None:
        """Search again from a point of lower cost, shape (n,), if there is one."""
        if start is None or in_rounds or not estimator.descends:
            return None
        cost = assessment.fit.cost
        estimate = search.below(minimum.problem, minimum.evaluator, start, cost)
        if estimate is None:
            return None
        monitor.note(reason.format(cost=cost, start=values_of(minimum.problem, start)))
        return assessed(estimate)

    assessment = assessed(minimum.estimate)
    for _ in range(_ROUNDS):
        lower = below(assessment, assessment.outcome.lower, _FROM_PLATEAU)
        if lower is None:
            break
        assessment = lower
    result = result_of(assessment)
    for _ in range(_ROUNDS):
        result, point = profiles(problem, evaluator, result)
        lower = below(assessment, point, _FROM_PROFILE)
        if lower is None:
            break
        assessment, result = lower, result_of(lower)
    fit = assessment.fit
    return ResultWithStatistics(result, fit.uncertainty, fit.estimate.residual_weights)


@dataclass(frozen=True, eq=False)
class _Minimum:
    """An estimate at the lowest known minimum, with the problem and evaluator of its cost.

    Where the noise is modelled, that is the cost of the innovations.
    """

    problem: Problem
    evaluator: Evaluator
    estimate: Estimate
    findings: Sequence[Finding]


def _minimum(
    problem: Problem, evaluator: Evaluator, estimate: Estimate, search: Search
) -> _Minimum:
    """Return the better one of two minima; with a model of the noise, its minimum."""
    estimator, in_rounds = search.estimator, search.minimise
    estimate, other = better_minimum(
        problem, evaluator, estimate, search if estimator.descends else None
    )
    alternation = None
    if in_rounds and estimate.status == "converged":
        alternation = alternation_with_noise(problem, evaluator, estimate, search)
        problem = replace(problem, cost=alternation.problem.cost)
        evaluator, estimate = alternation.evaluator, alternation.estimate
        if estimate.status == "converged" and type(estimator).minimise is not Estimator.minimise:
            estimate = replace(search, minimise=False)(alternation.problem, evaluator)
    drawn = estimate.draws is not None
    findings = second_minimum_notes(problem, other)
    findings += noise_notes(alternation, in_rounds, drawn)
    return _Minimum(problem, evaluator, estimate, findings)


def _refuse(problem: Problem, estimator: Estimator[Any]) -> None:
    location = problem.where()
    if not problem.free:
        raise EstimationError(
            "there is no free parameter to estimate",
            location=location,
            hint="remove 'fixed' from at least one, or use 'fmident simulate'",
        )
    check_cost(problem, location)
    refuse_unsuited(problem, estimator, location)
    if problem.constraints and not estimator.keeps_constraints:
        raise ProblemError(
            f"the estimator '{estimator.name}' does not keep the constraint"
            f" {problem.constraints[0]}",
            location=location,
            hint="choose one that does, such as scipy-minimize, or hand the problem to"
            " fmident.estimation.suited first, which replaces linear constraints",
            code=Code.NOT_SUPPORTED,
        )
    refuse_noise(problem, estimator, location)


def _plan(problem: Problem, estimator: Estimator[Any], options: object) -> RunPlan:
    # How long a descent takes nobody knows; a population has its generations.
    known = None if estimator.descends else estimator.expected_simulations(options, problem)
    names = tuple(q.name for q in problem.free)
    return RunPlan(estimator.name, names, problem.initial, known)


def _result(
    assessment: Assessment,
    search: Search,
    cost_initial: float,
    findings: Sequence[Finding],
    fmu: FmuIdentity,
) -> EstimationResult:
    fit, outcome, monitor = assessment.fit, assessment.outcome, search.monitor
    problem, evaluator, p, known = fit.problem, fit.evaluator, fit.p, fit.uncertainty
    draws = fit.estimate.draws
    base = () if draws is not None else parameters.base_parameters(problem, p, known)
    estimates = parameters.parameter_estimates(fit, base)
    covariance = np.full((p.size, p.size), np.nan) if known is None else known.local.covariance
    if draws is not None:
        estimates, covariance = parameters.drawn(fit, estimates, draws)
    return EstimationResult(
        status=outcome.status,
        message=outcome.message,
        ended_by=outcome.ended_by if outcome.status == "limit" else None,
        estimator=search.estimator.name,
        estimates=estimates,
        covariance=covariance,
        correlation=correlation_of(covariance),
        identifiability=combinations.with_fixing(problem, p, known),
        cost_initial=cost_initial,
        cost_final=fit.cost,
        simulations=evaluator.simulations,
        jacobians=evaluator.jacobians,
        seconds=monitor.seconds,
        history=tuple(monitor.history),
        fits=assessment.outputs,
        findings=in_order(findings),
        fmu_name=fmu.name,
        fmu_guid=fmu.guid,
        fmu_tool=fmu.tool,
        fmu_path=fmu.path,
        settings={
            "options": dataclasses.asdict(search.options),
            **_steps(evaluator, problem, p),
            **fit.estimate.details,
        },
        series=fit.estimate.series,
        residuals=fit.check,
        derivatives=None if known is None else known.derivatives,
        cost=problem.cost.name,
        cost_options=problem.cost.options(),
        constraints=constraints.constraint_checks(fit),
        noise=noise.counted_noise(fit),
        whitened=fit.fits if known and isinstance(problem.cost, Prewhitened) else (),
        sensitivities=parameters.output_sensitivities(fit),
        priors=fit.priors,
        draws=parameters.drawn_posterior(fit),
        base_parameters=base,
        derivative_origins=evaluator.derivative_origins,
        generations=tuple(monitor.generations),
    )


def _steps(evaluator: Evaluator, problem: Problem, p: F64) -> dict[str, object]:
    """Return the finite-difference steps by parameter, in its unit, for the settings."""
    sizes = evaluator.step_sizes
    if sizes is None:
        return {}
    steps = sizes.steps * evaluator.space.derivative(p)
    return {
        "difference": problem.evaluation.scheme,
        "simulation_noise": sizes.noise,
        "difference_steps": {
            q.name: {"step": float(h), "reason": reason}
            for q, h, reason in zip(problem.free, steps, sizes.reasons, strict=True)
            if np.isfinite(h)  # the others are not differenced
        },
    }
