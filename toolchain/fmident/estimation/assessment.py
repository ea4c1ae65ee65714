"""What follows from the parameters with which a search has ended: intervals, fits, findings.

:data:`ALWAYS` and :data:`WITH_INTERVALS` are the diagnostics, in the order of a report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident.estimation.checks import no_errors_note
from fmident.estimation.comparisons import OutputFit
from fmident.estimation.contract import Ending, Estimate, Estimator, Status
from fmident.estimation.diagnostics import (
    Diagnostic,
    Fit,
    combinations,
    constraints,
    curvature,
    distant_influence,
    input_courses,
    jumps,
    noise,
    notes,
)
from fmident.estimation.diagnostics.noise import Prewhitened
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics, uncertainty
from fmident.estimation.fits import check_fits, check_residuals, output_fits
from fmident.evaluation import Evaluator, EventMatching, JacobianError, Simulated
from fmident.findings import Finding, finding
from fmident.problem.priors import Priors
from fmident.statistics.residuals import ResidualScores
from fmident.words import counted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_PLATEAU = "; but no parameter has a visible influence there: the search ended on a plateau"


@dataclass
class Outcome:
    """How the run ended, and notes on it."""

    status: Status
    message: str
    ended_by: Ending
    notes: list[Finding]
    lower: F64 | None = None

    @classmethod
    def of(cls, estimate: Estimate, evaluator: Evaluator, cost: float) -> Outcome:
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


@dataclass(frozen=True, eq=False)
class Assessment:
    """What follows from the final parameters.

    The `outputs` are those in the time domain, those of the `fit` may be whitened.
    """

    fit: Fit
    outcome: Outcome
    outputs: tuple[OutputFit, ...]
    findings: Sequence[Finding]


def assess(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    estimate: Estimate,
    initial_outputs: Sequence[Simulated],
    *,
    intervals: bool,
) -> Assessment:
    """Return everything that follows from the final parameters.

    After an interrupt nothing long is started: uncertainty is only given if the Jacobian at
    the final point is already known. A cost whose residuals are not independent and of
    equal variance gives none. `initial_outputs` are those of the FMU at the initial parameters,
    one item per experiment.
    """
    p, cost = estimate.parameters, evaluator.cost(estimate.parameters)
    outcome = Outcome.of(estimate, evaluator, cost)
    at_bound = constraints.parameters_at_bound(problem, p)
    if estimate.base:  # what else is on a bound is there by choice
        alone = [c.leading for c in estimate.base if len(c.members) == 1]
        at_bound &= np.isin(np.arange(p.size), alone)
    fit = Fit(problem, evaluator, estimate, cost, at_bound, searches=estimator.descends)
    if intervals and not problem.cost.gives_intervals:
        outcome.notes.append(finding("no-intervals", no_errors_note(problem)))
    elif intervals:
        fit = replace(fit, uncertainty=_uncertainty(fit, outcome))
    known = fit.uncertainty
    active = constraints.active_constraints(problem, p) if known is None else known.active
    if active is not None and active.violated.any():
        outcome.limit("stuck", "; but constraints are not kept")
    outputs = output_fits(problem, initial_outputs, evaluator.simulate(p), p, _scale(fit))
    fit = replace(fit, active=active, fits=outputs)
    if known is not None:
        fit = _examined(fit, outcome)
    elif not problem.cost.gives_intervals:
        fit = replace(fit, check=check_fits(problem, outputs))
    findings = [*outcome.notes]
    for diagnostic in (*ALWAYS, *(WITH_INTERVALS if known is not None else ())):
        findings += diagnostic(fit)
    # A population may have been asked to end before; where priors count, it ends in valleys.
    minimises = estimator.descends or (estimator.any_cost and Priors.of(problem).count > 0)
    away = any(f.code == "away-from-minimum" for f in findings)
    if away and minimises and estimate.residual_weights is None:
        outcome.limit("stuck", "; but the cost is lower more than half a standard error away")
    return Assessment(fit, outcome, outputs, findings)


def _examined(fit: Fit, outcome: Outcome) -> Fit:
    estimate = fit.estimate
    residuals = fit.evaluator.data_residuals(fit.p)
    whitened = noise.whitened_fits(fit.problem, fit.fits, residuals)
    fit = replace(fit, residuals=residuals, fits=whitened)
    check = check_residuals(fit)
    if outcome.status != "interrupted" and estimate.residual_weights is None:
        try:
            check = input_courses.with_signals(fit, check)
        except KeyboardInterrupt:  # all has been found, but what would follow is not wanted
            outcome.interrupt("the residuals were examined")
        if fit.active is None:
            check = constraints.with_hiding_bounds(fit, check)
    fit = replace(fit, check=check)
    stuck = outcome.status == "limit" and outcome.ended_by == "stuck"
    if _is_least_squares(estimate) and (stuck or outcome.status == "converged"):
        try:
            fit = replace(fit, curvatures=curvature.curvatures(fit))
        except KeyboardInterrupt:
            outcome.interrupt("the curvature of the model was measured")
    return fit


def _is_least_squares(estimate: Estimate) -> bool:
    weighted = estimate.residual_weights is not None or estimate.residual_scores is not None
    return estimate.draws is None and not (weighted or estimate.base)


def _uncertainty(fit: Fit, outcome: Outcome) -> VerifiedStatistics | None:
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


def _judged(fit: Fit, outcome: Outcome) -> VerifiedStatistics:
    """Return the statistics, with what simulations around the estimate show."""
    problem, evaluator, estimate, p = fit.problem, fit.evaluator, fit.estimate, fit.p
    statistics = fit.statistics
    exact = EventMatching(problem).exact(evaluator.residuals(p), None)
    unseen = statistics.local.analysis.without_influence
    silent = unseen.size > 0 and bool(unseen.all()) and not exact
    holds = statistics.active is not None and bool(statistics.active.holding.any())
    named = statistics.identifiability
    if not holds:  # what follows steps across constraints, where costs are lower anyway
        named = combinations.tested_combinations(
            problem, evaluator, p, fit.at_bound, named, estimate.base
        )
    if holds or estimate.residual_weights is not None:
        if silent:
            outcome.limit("plateau", _PLATEAU)
        return replace(statistics, identifiability=named)
    scores = estimate.residual_scores
    weights = None if scores is None else _weights(scores, fit)
    around = jumps.jumps_around(fit, weights)
    outcome.notes += notes.jump_notes(fit, around)
    if around.lower is not None:
        outcome.limit("jump", "; but the cost is lower on the other side of a jump nearby")
    influence = distant_influence.distant_influence(fit, compares_costs=weights is None)
    outcome.notes += notes.distant_influence_notes(fit, influence)
    if influence.lower is not None:
        plateau = outcome.status == "limit" and outcome.ended_by == "plateau"
        if (outcome.status == "converged" or plateau) and estimate.draws is None:
            outcome.lower = influence.lower[0]
        outcome.limit(
            "plateau",
            "; but the cost is lower farther away, where parameters act that have no influence"
            " here",
        )
    if silent and not influence.near:  # derivatives see nothing where events make outputs jump
        outcome.limit("plateau", _PLATEAU)
    return combinations.with_distant_evidence(fit, named, around, influence)


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
    notes.bound_notes,
    notes.constraint_notes,
    failed_simulations,
    notes.draw_notes,
)
"""Diagnostics of every estimate."""

WITH_INTERVALS: Sequence[Diagnostic] = (
    notes.few_samples,
    notes.few_degrees_of_freedom,
    notes.poorly_determined,
    notes.away_from_minimum,
    notes.curvature_notes,
    notes.inexact_derivatives,
    notes.prior_notes,
    notes.repetition_notes,
    notes.given_noise,
    notes.unequal_noise,
    notes.kinds_of_noise,
    notes.disturbance_notes,
    notes.correlated_residuals,
    notes.delay_notes,
    notes.input_notes,
)
"""Diagnostics of an estimate with statistics, in the order of a report."""
