"""Running one estimator on one problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, FmidentError, ProblemError
from fmident.estimation import fits
from fmident.estimation.checks import (
    build_options,
    check_influence,
    check_initial_simulation,
    no_errors_note,
    refuse_unsuited,
)
from fmident.estimation.comparisons import OutputFit
from fmident.estimation.contract import Ending, Estimate, Estimator, Status, StopEstimation
from fmident.estimation.diagnostics import (
    Diagnostic,
    Fit,
    beginning_at,
    combinations,
    constraints,
    curvature,
    minima,
    noise,
    parameters,
    signals,
)
from fmident.estimation.diagnostics.minima import best_of_both, values_of
from fmident.estimation.diagnostics.noise import (
    Prewhitened,
    asks_for_noise,
    in_turn,
    noise_notes,
    refuse_noise,
)
from fmident.estimation.diagnostics.uncertainty import (
    VerifiedStatistics,
    away_from_minimum,
    few_degrees_of_freedom,
    few_samples,
    inexact_derivatives,
    poorly_determined,
    uncertainty,
)
from fmident.estimation.monitor import Observer, RunMonitor, RunPlan
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, EventMatching, JacobianError, Simulated
from fmident.findings import Finding, finding, in_order, reading_notes
from fmident.plugin_code import PLUGIN_BUG, plugin_failed
from fmident.problem.priors import Priors
from fmident.problem.residuals import check_cost
from fmident.statistics.distributions import correlation_of
from fmident.statistics.identifiability import DeterminedCombination
from fmident.statistics.residuals import ResidualScores
from fmident.words import counted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_ROUNDS = 3
"""Further searches from a point of lower cost, where one has ended on a plateau."""


_CUT_SHORT = ("interrupted", "stopped")

_PLATEAU = "; but no parameter has a visible influence there: the search ended on a plateau"


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
class Run:
    """A run with the statistics and weights that a later stage needs for its uncertainty."""

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
) -> Run:
    """Run an estimator like :func:`run_estimation`, and also return its statistics."""
    raw = problem.estimator.options if options is None else options
    chosen = build_options(estimator, raw, problem.where())
    asked, first_evaluator = problem, evaluator
    _refuse(problem, estimator)
    monitor = RunMonitor(evaluator, observers)
    monitor.plan(_plan(problem, estimator, chosen))
    check_initial_simulation(problem, evaluator)
    initial_outputs = evaluator.simulate(problem.initial)
    cost_initial = evaluator.cost(problem.initial)
    in_rounds = asks_for_noise(problem)
    first_search = _Search(estimator, chosen, monitor, minimise=in_rounds)
    search = replace(first_search, again=True)
    estimate = first_search(problem, evaluator)
    estimate, minimum_notes = best_of_both(
        problem, evaluator, estimate, search if estimator.descends else None
    )
    alternation = None
    if in_rounds and estimate.status == "converged":
        alternation = in_turn(problem, evaluator, estimate, search)
        problem = replace(problem, cost=alternation.problem.cost)
        evaluator, estimate = alternation.evaluator, alternation.estimate
        search = replace(search, minimise=False)
        if estimate.status == "converged" and type(estimator).minimise is not Estimator.minimise:
            estimate = search(alternation.problem, evaluator)
        cost_initial = evaluator.cost(problem.initial)

    def summary_of(estimate: Estimate) -> _Summary:
        return _summarise(
            problem, evaluator, estimator, estimate, initial_outputs, intervals=intervals
        )

    summary = summary_of(estimate)
    for _ in range(_ROUNDS if estimator.descends and not in_rounds else 0):
        lower, cost = summary.outcome.lower, summary.fit.cost
        if lower is None:
            break
        candidate = search(beginning_at(problem, lower), evaluator)
        if candidate.status not in _CUT_SHORT and not evaluator.cost(candidate.parameters) < cost:
            break
        monitor.note(
            f"A search ended on a plateau, with a cost of {cost:.4g}. It went on from"
            f" {values_of(problem, lower)}, where the cost is lower."
        )
        estimate, summary = candidate, summary_of(candidate)

    def result_of(summary: _Summary) -> EstimationResult:
        findings = [
            *reading_notes(problem.notes),
            *(finding("search", text) for text in monitor.notes),
            *minimum_notes,
            *noise_notes(alternation, in_rounds, drawn=summary.fit.estimate.draws is not None),
            *summary.findings,
            *(finding("derivatives", text) for text in evaluator.notes),
        ]
        identity = fmu or FmuIdentity(path=problem.fmu)
        return _result(summary, search, cost_initial, findings, identity)

    result = result_of(summary)
    for _ in range(_ROUNDS):
        result, lower = profiles(asked, first_evaluator, result)
        if lower is None or in_rounds or not estimator.descends:
            break
        candidate = search(beginning_at(problem, lower), evaluator)
        if candidate.status not in _CUT_SHORT and not (
            evaluator.cost(candidate.parameters) < summary.fit.cost
        ):
            break
        monitor.note(
            f"A profile led to a lower cost than {summary.fit.cost:.6g}, and the search went on"
            f" from {values_of(problem, lower)}."
        )
        estimate, summary = candidate, summary_of(candidate)
        result = result_of(summary)
    return Run(result, summary.fit.uncertainty, estimate.residual_weights)


def _refuse(problem: Problem, estimator: Estimator[Any]) -> None:
    """Reject what the estimator cannot do; raises `FmidentError`."""
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
    """Return the plan of the search for watchers."""
    # How long a descent takes nobody knows; a population has its generations.
    known = None if estimator.descends else estimator.expected_simulations(options, problem)
    names = tuple(q.name for q in problem.free)
    return RunPlan(estimator.name, names, problem.initial, known)


@dataclass(frozen=True, eq=False)
class _Search:
    """One search with an estimator; turns every way it can end into an estimate or an error.

    `again` marks a search after another one, `minimise` a search that minimises the cost alone.
    """

    estimator: Estimator[Any]
    options: Any
    monitor: RunMonitor
    minimise: bool = False
    again: bool = False

    def __call__(self, problem: Problem, evaluator: Evaluator) -> Estimate:
        """Search from the initial values of a problem."""
        estimator = self.estimator
        try:
            if not (self.again or estimator.accepts_inert_parameters):
                check_influence(problem, evaluator, descends=estimator.descends)
            method = estimator.minimise if self.minimise else estimator.estimate
            result: object = method(problem, evaluator, self.options, self.monitor)
            for mistake in _mistakes(problem, evaluator, result):
                raise EstimationError(
                    f"the estimator '{estimator.name}' {mistake}",
                    hint=PLUGIN_BUG,
                    code=Code.PLUGIN_FAILED,
                )
            assert isinstance(result, Estimate)
            p = np.asarray(result.parameters, dtype=np.float64)
            # Files of a result have keys that are texts; a long run is not lost over another one.
            details = {str(key): value for key, value in result.details.items()}
            inside = np.clip(p, problem.lower, problem.upper)
            return dataclasses.replace(result, parameters=inside, details=details)
        except KeyboardInterrupt:
            status: Status = "interrupted"
            message = f"interrupted after {self._iterations}"
        except StopEstimation as request:
            reason = f" ({request})" if str(request) else ""
            status, message = "stopped", f"stopped on request after {self._iterations}{reason}"
        except JacobianError as error:
            status, message = "failed", error.message
            hint = f" (hint: {error.hint})" if error.hint else ""
            best = self._best(problem, evaluator)
            return Estimate(best, status, f"{message}; the best parameters so far{hint}")
        except FmidentError:
            raise
        # A plugin that calls sys.exit must not end the host without a word.
        except (Exception, SystemExit) as error:
            where = type(estimator).__module__
            raise plugin_failed(
                f"the estimator '{estimator.name}'", where, error, kind=EstimationError
            ) from error
        message = f"{message}; the best parameters so far"
        return Estimate(self._best(problem, evaluator), status, message)

    def _best(self, problem: Problem, evaluator: Evaluator) -> F64:
        """Return the best point, preferably the reported one, since the costs may differ."""
        if self.monitor.history:
            return np.clip(self.monitor.history[-1].parameters, problem.lower, problem.upper)
        best = evaluator.best
        return problem.initial if best is None else best[0]

    @property
    def _iterations(self) -> str:
        return counted(max(len(self.monitor.history) - 1, 0), "iteration")


def _mistakes(problem: Problem, evaluator: Evaluator, estimate: object) -> Iterator[str]:
    """Yield what is wrong with the result of an estimator; only the first is of use."""
    if not isinstance(estimate, Estimate):
        yield f"returned {type(estimate).__name__}, not an Estimate"
        return
    for what, value, known in (
        ("returned the status", estimate.status, get_args(Status)),
        ("was ended by", estimate.ended_by, (None, *get_args(Ending))),
    ):
        if value not in known:
            texts = ", ".join(repr(k) for k in known if k is not None)
            yield f"{what} {value!r}, but only {texts} exist"
    if not isinstance(estimate.message, str):
        yield f"returned a message of type {type(estimate.message).__name__}, not a text"
    if not isinstance(estimate.details, Mapping):
        yield f"returned details of type {type(estimate.details).__name__}, not a mapping"
    try:
        p = np.asarray(estimate.parameters, dtype=np.float64)
    except (TypeError, ValueError):
        yield f"returned parameters that are not numbers: {estimate.parameters!r}"
        return
    if p.shape != problem.initial.shape or not bool(np.isfinite(p).all()):
        yield (
            f"returned parameters {p} of shape {p.shape}, but "
            f"{problem.initial.size} finite numbers are expected"
        )
    yield from _mistakes_in_arrays(problem, evaluator, estimate, p)
    slack = 1e-9 * np.maximum(np.abs(p), np.finfo(np.float64).tiny)
    for j in np.flatnonzero((p < problem.lower - slack) | (p > problem.upper + slack)):
        yield (
            f"returned {problem.free[j].name} = {p[j]}, "
            f"outside of its bounds [{problem.lower[j]}, {problem.upper[j]}]"
        )


def _mistakes_in_arrays(
    problem: Problem, evaluator: Evaluator, estimate: Estimate, p: F64
) -> Iterator[str]:
    """Yield what is wrong with weights, scores, draws and combinations of an estimate."""
    weights, scores = estimate.residual_weights, estimate.residual_scores
    if weights is not None or scores is not None:
        count = evaluator.residuals(np.clip(p, problem.lower, problem.upper)).size
        if weights is not None and (
            np.shape(weights) != (count,) or not bool(np.isfinite(weights).all())
        ):
            yield (
                f"returned residual weights of shape {np.shape(weights)}, but {count} finite"
                " numbers are expected"
            )
        count = evaluator.data_residuals(np.clip(p, problem.lower, problem.upper)).size
        if scores is not None and not scores.values.shape == scores.slopes.shape == (count,):
            yield (
                f"returned residual scores of shapes {scores.values.shape} and"
                f" {scores.slopes.shape}, but {count} numbers are expected"
            )
    if (draws := estimate.draws) is not None:
        values, chains = draws.values, draws.densities.shape
        if values.ndim != 3 or values.shape[2] != p.size or chains != values.shape[:2]:
            yield (
                f"returned draws of shape {values.shape} with densities of shape {chains},"
                f" not (chains, draws, {p.size}) and (chains, draws)"
            )
        inside = (draws.flat >= problem.lower) & (draws.flat <= problem.upper)
        if not values.size or not bool(inside.all()):
            yield "returned no draws, or draws outside of the bounds"
    for c in estimate.base:
        if not isinstance(c, DeterminedCombination) or c.sums.shape != (len(c.powers), p.size):
            yield f"returned a combination of parameters that is not one of {p.size}: {c!r}"


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


@dataclass(frozen=True, eq=False)
class _Summary:
    """What follows from the final parameters.

    The `outputs` are those in the time domain, those of the `fit` may be whitened.
    """

    fit: Fit
    outcome: _Outcome
    outputs: tuple[OutputFit, ...]
    findings: Sequence[Finding]


def _summarise(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    estimate: Estimate,
    initial_outputs: Sequence[Simulated],
    *,
    intervals: bool,
) -> _Summary:
    """Return everything that follows from the final parameters.

    After an interrupt nothing long is started: uncertainty is only given if the Jacobian at
    the final point is already known. A cost whose residuals are not independent and of
    equal variance gives none. `initial_outputs` are those of the FMU at the initial parameters,
    one item per experiment.
    """
    p, cost = estimate.parameters, evaluator.cost(estimate.parameters)
    outcome = _Outcome.of(estimate, evaluator, cost)
    held = constraints.parameters_at_bound(problem, p)
    if estimate.base:  # what else is on a bound is there by choice
        alone = [c.leading for c in estimate.base if len(c.members) == 1]
        held &= np.isin(np.arange(p.size), alone)
    fit = Fit(problem, evaluator, estimate, cost, held, searches=estimator.descends)
    if intervals and not problem.cost.gives_intervals:
        outcome.notes.append(finding("no-intervals", no_errors_note(problem)))
    elif intervals:
        fit = replace(fit, uncertainty=_uncertainty(fit, outcome))
    known = fit.uncertainty
    active = constraints.active_constraints(problem, p) if known is None else known.active
    if active is not None and active.violated.any():
        outcome.limit("stuck", "; but constraints are not kept")
    outputs = fits.output_fits(problem, initial_outputs, evaluator.simulate(p), p, _scale(fit))
    fit = replace(fit, active=active, fits=outputs)
    if known is not None:
        residuals = evaluator.data_residuals(p)
        whitened = noise.whitened_fits(problem, outputs, residuals)
        fit = replace(
            fit, residuals=residuals, fits=whitened, priors=parameters.prior_knowledge(fit)
        )
        check = fits.check_residuals(fit)
        if outcome.status != "interrupted" and estimate.residual_weights is None:
            try:
                check = signals.with_signals(fit, check)
            except KeyboardInterrupt:  # all has been found, but what would follow is not wanted
                outcome.interrupt("the residuals were examined")
            if active is None:
                check = constraints.with_hiding_bounds(fit, check)
        fit = replace(fit, check=check)
        stuck = outcome.status == "limit" and outcome.ended_by == "stuck"
        if _is_least_squares(estimate) and (stuck or outcome.status == "converged"):
            try:
                fit = replace(fit, curvatures=curvature.curvatures(fit))
            except KeyboardInterrupt:
                outcome.interrupt("the curvature of the model was measured")
    elif not problem.cost.gives_intervals:
        fit = replace(fit, check=fits.check_fits(problem, outputs))
    findings = [*outcome.notes]
    for diagnostic in (*ALWAYS, *(WITH_INTERVALS if known is not None else ())):
        findings += diagnostic(fit)
    # A population may have been asked to end before; where priors count, it ends in valleys.
    minimises = estimator.descends or (estimator.any_cost and Priors.of(problem).count > 0)
    away = any(f.code == "away-from-minimum" for f in findings)
    if away and minimises and estimate.residual_weights is None:
        outcome.limit("stuck", "; but the cost is lower more than half a standard error away")
    return _Summary(fit, outcome, outputs, findings)


def _is_least_squares(estimate: Estimate) -> bool:
    """Return whether the intervals are those of plain least squares."""
    weighted = estimate.residual_weights is not None or estimate.residual_scores is not None
    return estimate.draws is None and not (weighted or estimate.base)


def _result(
    summary: _Summary,
    search: _Search,
    cost_initial: float,
    findings: Sequence[Finding],
    fmu: FmuIdentity,
) -> EstimationResult:
    fit, outcome, monitor = summary.fit, summary.outcome, search.monitor
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
        fits=summary.outputs,
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


@dataclass
class _Outcome:
    """How the run ended, and notes on it."""

    status: Status
    message: str
    ended_by: Ending
    notes: list[Finding]
    lower: F64 | None = None

    @classmethod
    def of(cls, estimate: Estimate, evaluator: Evaluator, cost: float) -> _Outcome:
        """Return how the estimator ended."""
        status, message = estimate.status, estimate.message
        if status == "converged" and not np.isfinite(cost):
            # An estimator that solves equations of its own need not have simulated its answer.
            status = "failed"
            message += f"; but the simulation with these parameters fails: {evaluator.last_failure}"
        return cls(status, message, estimate.ended_by or "limit", [])

    def interrupt(self, when: str = "the intervals were computed") -> None:
        """Record that Ctrl-C has ended a step after the search."""
        self.status = "interrupted"
        self.message = f"interrupted while {when}; before: {self.message}"

    def limit(self, ended_by: Ending, text: str) -> None:
        """Withdraw the statement that the search has converged."""
        if self.status == "converged":
            self.status, self.ended_by = "limit", ended_by
            self.message += text


def _uncertainty(fit: Fit, outcome: _Outcome) -> VerifiedStatistics | None:
    """Return the uncertainty, checked for jumps of the cost; update `outcome` accordingly."""
    evaluator, estimate, p = fit.evaluator, fit.estimate, fit.p
    before = outcome.status == "interrupted"
    statistics: VerifiedStatistics | None = None
    if np.isfinite(fit.cost) and (not before or evaluator.knows_jacobian(p)):
        try:
            statistics = uncertainty(
                fit.problem,
                evaluator,
                p,
                estimate,
                verify=not before,
                counts_noise=estimate.draws is None or isinstance(fit.problem.cost, Prewhitened),
            )
            if before:
                text = (
                    "The intervals were not verified, and jumps of the cost were not looked for,"
                    " since the run was interrupted."
                )
                outcome.notes.append(finding("intervals-unverified", text))
                return statistics
            return _judged(replace(fit, uncertainty=statistics), outcome)
        except JacobianError as error:
            text = f"There are no intervals: {error.message}."
            outcome.notes.append(finding("no-intervals", text))
        except KeyboardInterrupt:  # a jump next to the estimate may contradict the intervals
            outcome.interrupt()
    if outcome.status == "interrupted":
        text = "There are no intervals, since the run was interrupted."
        outcome.notes.append(finding("no-intervals", text))
    return None


def _judged(fit: Fit, outcome: _Outcome) -> VerifiedStatistics:
    """Return the statistics, corrected by simulations around the estimate."""
    problem, evaluator, estimate, p = fit.problem, fit.evaluator, fit.estimate, fit.p
    statistics = fit.statistics
    exact = EventMatching(problem).exact(evaluator.residuals(p), None)
    unseen = statistics.local.analysis.without_influence
    silent = unseen.size > 0 and bool(unseen.all()) and not exact
    holds = statistics.active is not None and bool(statistics.active.holding.any())
    if not holds:  # what follows steps across constraints, where costs are lower anyway
        known = statistics.identifiability
        named = combinations.tested_combinations(
            problem, evaluator, p, fit.held, known, estimate.base
        )
        statistics = replace(statistics, identifiability=named)
    if holds or estimate.residual_weights is not None:
        if silent:
            outcome.limit("plateau", _PLATEAU)
        return statistics
    fit = replace(fit, uncertainty=statistics)
    scores = estimate.residual_scores
    weights = None if scores is None else _weights(scores, fit)
    jumps = minima.look_around(fit, weights)
    outcome.notes += minima.jump_notes(fit, jumps)
    if jumps.lower is not None:
        outcome.limit("jump", "; but the cost is lower on the other side of a jump nearby")
    fit = replace(fit, uncertainty=minima.withhold(fit, jumps))
    farther = minima.look_farther(fit, compares_costs=weights is None)
    outcome.notes += minima.farther_notes(fit, farther)
    if farther.lower is not None:
        plateau = outcome.status == "limit" and outcome.ended_by == "plateau"
        if (outcome.status == "converged" or plateau) and estimate.draws is None:
            outcome.lower = farther.lower[0]
        outcome.limit(
            "plateau",
            "; but the cost is lower farther away, where parameters act that have no influence"
            " here",
        )
    if silent and not farther.near:  # derivatives see nothing where events make outputs jump
        outcome.limit("plateau", _PLATEAU)
    return minima.acting_farther(fit, farther)


def _weights(scores: ResidualScores, fit: Fit) -> F64:
    """Return the weights of the residuals of data and priors, shape (m + q,)."""
    data = scores.weights(fit.evaluator.data_residuals(fit.p))
    return np.append(data, np.ones(Priors.of(fit.problem).count))


def _scale(fit: Fit) -> float:
    """Return the standard deviation of the whitened residuals; NaN if unknown."""
    problem, statistics = fit.problem, fit.uncertainty
    if statistics is None:
        return float("nan")
    if isinstance(problem.cost, Prewhitened):
        return problem.cost.model.deviation
    if fit.estimate.residual_weights is not None and not problem.sigma_known:
        return float(np.sqrt(2.0 * fit.cost / max(statistics.local.degrees_of_freedom, 1)))
    return float(np.sqrt(statistics.local.residual_variance))


def failed_simulations(fit: Fit) -> Iterator[Finding]:
    """Note simulations that failed during the search."""
    evaluator = fit.evaluator
    if evaluator.failures:
        runs = counted(evaluator.failures, "simulation")
        text = f"{runs} of {evaluator.simulations} failed; last: {evaluator.last_failure}."
        yield finding("simulations-failed", text)


ALWAYS: Sequence[Diagnostic] = (
    constraints.bound_notes,
    constraints.constraint_notes,
    failed_simulations,
    parameters.draw_notes,
)
"""Diagnostics of every estimate."""

WITH_INTERVALS: Sequence[Diagnostic] = (
    few_samples,
    few_degrees_of_freedom,
    poorly_determined,
    away_from_minimum,
    curvature.curvature_notes,
    inexact_derivatives,
    parameters.prior_notes,
    noise.repetition_notes,
    fits.given_noise,
    fits.unequal_noise,
    fits.kinds_of_noise,
    noise.disturbance_notes,
    fits.correlated_residuals,
    signals.delay_notes,
    signals.input_notes,
)
"""Diagnostics of an estimate with statistics, in the order of a report."""
