"""Values, uncertainty, fits and notes from the estimator's result."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.choices import no_errors_note
from fmident.estimation.contract import Ending, Estimate, Status
from fmident.estimation.diagnostics.bounds import left_beyond_bounds, parameters_at_bound
from fmident.estimation.diagnostics.combinations import tested_combinations
from fmident.estimation.diagnostics.constraints import (
    active_constraints,
    constraint_checks,
    constraint_notes,
)
from fmident.estimation.diagnostics.delays import delay_notes, unmodelled_delays
from fmident.estimation.diagnostics.dependent import base_parameters, parameter_estimates
from fmident.estimation.diagnostics.draws import draw_notes, drawn
from fmident.estimation.diagnostics.farther import (
    acting_farther,
    farther_notes,
    look_farther,
)
from fmident.estimation.diagnostics.interpolation import (
    course_notes,
    gathered_residuals,
    other_courses,
)
from fmident.estimation.diagnostics.jumps import jump_notes, look_around, withhold
from fmident.estimation.diagnostics.noise import counted_noise
from fmident.estimation.diagnostics.priors import prior_knowledge, prior_notes
from fmident.estimation.diagnostics.uncertainty import (
    IntegrationEffect,
    VerifiedStatistics,
    uncertainty,
)
from fmident.estimation.fits import (
    check_fits,
    check_residuals,
    coloured_fits,
    output_fits,
    residual_notes,
)
from fmident.estimation.noise.prewhitened import Prewhitened, whitened_fits
from fmident.estimation.result import (
    BaseParameter,
    ConstraintCheck,
    CountedNoise,
    DerivativeCheck,
    OutputFit,
    ParameterEstimate,
    PriorKnowledge,
    ResidualCheck,
)
from fmident.evaluation import Evaluator, EventMatching, JacobianError, Simulated
from fmident.findings import Finding, finding
from fmident.statistics import Identifiability, ParameterStatistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_HIDDEN = 0.7
"""Part of the residuals that may be left without the bounds, where these hide the fit."""

_AWAY = 0.5
"""Standard errors from the minimum from which on intervals cover visibly less: 92 %, not 95 %."""

_MATTERS = 1e-4
"""Relative change of a value below which it does not matter, as where there is no noise."""

_PLATEAU = "; but no parameter has a visible influence there: the search ended on a plateau"


@dataclass(frozen=True)
class Summary:
    """The parts of a result that follow from the final parameters."""

    status: Status
    message: str
    estimates: tuple[ParameterEstimate, ...]
    covariance: F64
    correlation: F64
    identifiability: Identifiability | None
    cost: float
    fits: tuple[OutputFit, ...]
    notes: tuple[Finding, ...]
    residuals: ResidualCheck | None = None
    statistics: ParameterStatistics | None = None
    derivatives: DerivativeCheck | None = None
    ended_by: Ending | None = None
    constraints: tuple[ConstraintCheck, ...] = ()
    priors: PriorKnowledge | None = None
    noise: CountedNoise | None = None
    whitened: tuple[OutputFit, ...] = ()
    base_parameters: tuple[BaseParameter, ...] = ()
    lower: F64 | None = None
    """Free parameters with a lower cost that no derivative shows, if any were found."""


def summarise(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    initial_outputs: Sequence[Simulated],
    *,
    intervals: bool = True,
    searches: bool = False,
    minimises: bool = False,
) -> Summary:
    """Return everything that follows from the final parameters.

    After an interrupt nothing long is started: uncertainty is only given if the Jacobian at
    the final point is already known. A cost whose residuals are not independent and of
    equal variance gives none.

    `initial_outputs` are those of the FMU at the initial parameters, one item per
    experiment. `searches` says that the estimator goes from its start to the minimum of the
    cost, so that another such search makes no progress; `minimises` that it converges only
    there.
    """
    p, cost = estimate.parameters, evaluator.cost(estimate.parameters)
    outcome = _Outcome.of(estimate, evaluator, cost)
    held = parameters_at_bound(problem, p)
    if estimate.base:  # what else is on a bound is there by choice
        alone = [c.leading for c in estimate.base if len(c.members) == 1]
        held &= np.isin(np.arange(p.size), alone)
    likely = intervals and problem.cost.gives_intervals
    if intervals and not likely:
        outcome.notes.append(finding("no-intervals", no_errors_note(problem)))
    statistics = _statistics(problem, evaluator, estimate, held, outcome, cost) if likely else None
    active = active_constraints(problem, p, held) if statistics is None else statistics.active
    region = None if statistics is None else statistics.region
    if active is not None and active.violated.any():
        outcome.limit("stuck", "; but constraints are not kept")
    scale = _scale(problem, estimate, statistics, cost)
    fits = output_fits(problem, initial_outputs, evaluator.simulate(p), p, scale)
    notes = [*outcome.notes, *_bound_notes(problem, held, statistics is not None)]
    notes += constraint_notes(problem, active, region is not None)
    moving = held if active is None else held | active.tangent.pivots
    if evaluator.failures:
        runs = "1 simulation" if evaluator.failures == 1 else f"{evaluator.failures} simulations"
        text = f"{runs} of {evaluator.simulations} failed; last: {evaluator.last_failure}."
        notes.append(finding("simulations-failed", text))
    derivatives: DerivativeCheck | None = None
    check: ResidualCheck | None = None
    whitened: tuple[OutputFit, ...] = ()
    priors = prior_knowledge(problem, p, statistics)
    if statistics is not None:
        notes += _precision_notes(problem, p, statistics)
        if estimate.draws is None:
            away = _distance_notes(problem, p, statistics, searches)
            if away and minimises and estimate.residual_weights is None:
                outcome.limit(
                    "stuck", "; but the cost is lower more than half a standard error away"
                )
            notes += away
        derivatives = _derivative_check(problem, evaluator, statistics)
        notes += _derivative_notes(derivatives, statistics)
        notes += prior_notes(problem, priors)
        residuals = evaluator.data_residuals(p)
        whitened = whitened_fits(problem, fits, residuals)
        check = check_residuals(problem, residuals, whitened, statistics)
        notes += residual_notes(problem, residuals, whitened, statistics, check)
        if not outcome.interrupted and estimate.residual_weights is None:
            check = _with_delays(problem, evaluator, p, moving, statistics, whitened, check)
            check = _with_courses(problem, evaluator, p, moving, statistics, residuals, check)
            if active is None:
                check = _with_bounds(problem, p, held, statistics, residuals, check)
            notes += [*delay_notes(check.delays), *course_notes(check)]
    elif not problem.cost.gives_intervals:
        check = check_fits(problem, fits)
    unknown = np.full((p.size, p.size), np.nan)
    base = () if estimate.draws is not None else base_parameters(problem, p, statistics)
    estimates = parameter_estimates(problem, p, held, statistics, region, base)
    covariance = unknown if statistics is None else statistics.covariance
    correlation = unknown if statistics is None else statistics.correlation
    if estimate.draws is not None:
        estimates, covariance, correlation = drawn(problem, estimates, estimate.draws)
        notes += draw_notes(problem, p, cost, estimate.draws)
    return Summary(
        outcome.status,
        outcome.message,
        estimates,
        covariance,
        correlation,
        None if statistics is None else statistics.identifiability,
        cost,
        fits,
        tuple(notes),
        check,
        statistics,
        derivatives,
        outcome.ended_by if outcome.status == "limit" else None,
        constraint_checks(problem, active, p, held),
        priors,
        counted_noise(problem, statistics),
        whitened,
        base,
        outcome.lower,
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

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended it, so that nothing long should be started."""
        return self.status == "interrupted"

    def interrupt(self) -> None:
        """Record that Ctrl-C has ended a step after the search."""
        self.status = "interrupted"
        self.message = f"interrupted while the intervals were computed; before: {self.message}"

    def limit(self, ended_by: Ending, text: str) -> None:
        """Withdraw the statement that the search has converged."""
        if self.status == "converged":
            self.status, self.ended_by = "limit", ended_by
            self.message += text


def _statistics(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    held: npt.NDArray[np.bool_],
    outcome: _Outcome,
    cost: float,
) -> VerifiedStatistics | None:
    """Return the uncertainty, checked for jumps of the cost; update `outcome` accordingly."""
    p, before = estimate.parameters, outcome.interrupted
    statistics: VerifiedStatistics | None = None
    if np.isfinite(cost) and (not before or evaluator.knows_jacobian(p)):
        try:
            statistics = uncertainty(
                problem,
                evaluator,
                p,
                held,
                estimate.residual_weights,
                estimate.residual_scores,
                verify=not before,
                counts_noise=estimate.draws is None or isinstance(problem.cost, Prewhitened),
                directions=estimate.held_directions,
            )
            if not before:
                statistics = _judged(problem, evaluator, estimate, held, statistics, outcome, cost)
        except JacobianError as error:
            text = f"There are no intervals: {error.message}."
            outcome.notes.append(finding("no-intervals", text))
            statistics = None
        except KeyboardInterrupt:
            outcome.interrupt()
            statistics = None  # a jump next to the estimate may contradict them
    if statistics is None and outcome.interrupted:
        text = "There are no intervals, since the run was interrupted."
        outcome.notes.append(finding("no-intervals", text))
    elif outcome.interrupted:
        text = (
            "The intervals were not verified, and jumps of the cost were not looked for, since the"
            " run was interrupted."
        )
        outcome.notes.append(finding("intervals-unverified", text))
    return statistics


def _judged(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    held: npt.NDArray[np.bool_],
    statistics: VerifiedStatistics,
    outcome: _Outcome,
    cost: float,
) -> VerifiedStatistics:
    """Return the statistics, corrected by simulations around the estimate."""
    p = estimate.parameters
    exact = EventMatching(problem).exact(evaluator.residuals(p), None)
    unseen = statistics.linearisation.analysis.without_influence
    silent = unseen.size > 0 and bool(unseen.all()) and not exact
    if statistics.active is not None and statistics.active.holding.any():
        if silent:
            outcome.limit("plateau", _PLATEAU)
        return statistics  # what follows steps across constraints, where costs are lower anyway
    known = statistics.identifiability
    named = tested_combinations(problem, evaluator, p, held, known, estimate.base)
    statistics = dataclasses.replace(statistics, identifiability=named)
    if estimate.residual_weights is not None:
        if silent:
            outcome.limit("plateau", _PLATEAU)
        return statistics
    scores = estimate.residual_scores
    weights = None if scores is None else scores.weights(evaluator.residuals(p))
    jumps = look_around(problem, evaluator, p, held, statistics, weights)
    outcome.notes += jump_notes(problem, p, cost, jumps)
    if jumps.lower is not None:
        outcome.limit("jump", "; but the cost is lower on the other side of a jump nearby")
    statistics = withhold(problem, statistics, jumps)
    farther = look_farther(
        problem,
        evaluator,
        p,
        statistics,
        compares_costs=weights is None,
        scales=estimate.draws is None and estimate.held_directions is None,
    )
    outcome.notes += farther_notes(problem, p, cost, farther)
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
    return acting_farther(problem, statistics, farther)


def _scale(
    problem: Problem, estimate: Estimate, statistics: VerifiedStatistics | None, cost: float
) -> float:
    """Return the standard deviation of the whitened residuals; NaN if unknown."""
    if statistics is None:
        return float("nan")
    if isinstance(problem.cost, Prewhitened):
        return problem.cost.model.deviation
    if estimate.residual_weights is not None and not problem.sigma_known:
        return float(np.sqrt(2.0 * cost / max(statistics.degrees_of_freedom, 1)))
    return float(np.sqrt(statistics.residual_variance))


def _with_delays(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    statistics: ParameterStatistics,
    fits: Sequence[OutputFit],
    check: ResidualCheck,
) -> ResidualCheck:
    """Return the residual check with detected delays."""
    coloured = [fit for fit, _ in coloured_fits(fits)]
    if not coloured:
        return check
    try:
        jacobian = statistics.linearisation.data_jacobian
        delays = unmodelled_delays(problem, evaluator, p, held, jacobian, coloured)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a note
        return check
    return dataclasses.replace(check, delays=delays)


def _with_courses(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    statistics: ParameterStatistics,
    residuals: F64,
    check: ResidualCheck,
) -> ResidualCheck:
    """Return the residual check with other courses of inputs instead of delays."""
    jacobian = np.where(held, 0.0, statistics.linearisation.data_jacobian)
    errors = statistics.standard_errors
    gathered = gathered_residuals(problem, residuals)
    try:
        courses = other_courses(problem, evaluator, p, jacobian, errors)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a note
        return check
    if any(one.proven for one in courses):
        return dataclasses.replace(check, courses=courses, delays=(), gathered=gathered)
    return check if check.delays else dataclasses.replace(check, courses=courses, gathered=gathered)


def _with_bounds(
    problem: Problem,
    p: F64,
    held: npt.NDArray[np.bool_],
    statistics: ParameterStatistics,
    residuals: F64,
    check: ResidualCheck,
) -> ResidualCheck:
    """Return the residual check with the bounds that prevent a fit, instead of delays."""
    jacobian = statistics.linearisation.data_jacobian
    if jacobian.shape != (residuals.size, p.size):
        return check
    left, names = left_beyond_bounds(problem, p, held, jacobian, residuals)
    smallest = min((d.left for d in check.delays), default=1.0)
    if not left < min(_HIDDEN, smallest):
        return check
    return dataclasses.replace(check, delays=(), hiding_bounds=names)


def _bound_notes(
    problem: Problem, held: npt.NDArray[np.bool_], has_intervals: bool
) -> list[Finding]:
    if not (names := [f"'{q.name}'" for q, at in zip(problem.free, held, strict=True) if at]):
        return []
    verb = "lies on a bound" if len(names) == 1 else "lie on bounds"
    text = f"{', '.join(names)} {verb}"
    if has_intervals:
        text += ": the interval begins there, and those of the other parameters hold for that value"
    return [finding("interval-at-bound", text)]


def _precision_notes(problem: Problem, p: F64, statistics: ParameterStatistics) -> list[Finding]:
    """Return notes on parameters that are identifiable in principle but not from these data."""
    notes = []
    rank = statistics.identifiability.rank
    if statistics.degrees_of_freedom <= 0 < rank and not problem.sigma_known:
        samples = rank + statistics.degrees_of_freedom
        notes.append(
            finding(
                "no-intervals",
                f"There are no intervals: {samples} {'sample' if samples == 1 else 'samples'} for"
                f" {rank} {'parameter' if rank == 1 else 'parameters'} are too few to estimate the"
                " size of the noise",
                "Give each output its sigma, or more samples.",
            )
        )
    for q, value, error in zip(problem.free, p, statistics.standard_errors, strict=True):
        size = max(abs(value), abs(q.initial))
        if np.isfinite(error) and size > 0.0 and error > size:
            text = (
                f"'{q.name}' is poorly determined: {value:.3g} with a standard error of {error:.3g}"
            )
            notes.append(finding("interval-poor", text))
    return notes


def _distance_notes(
    problem: Problem, p: F64, statistics: ParameterStatistics, searches: bool
) -> list[Finding]:
    """Return notes on parameters far from the minimum, compared with their intervals.

    Not every estimator goes to the minimum: some solve other equations, others end early.
    """
    names = [
        f"'{q.name}' by {abs(step) / error:.2g}"
        for q, value, step, error in zip(
            problem.free, p, statistics.remaining_step, statistics.standard_errors, strict=True
        )
        if np.isfinite(error)
        and abs(step) > _AWAY * error
        and abs(step) > _MATTERS * max(abs(value), abs(q.initial))
    ]
    if not names:
        return []
    return [
        finding(
            "away-from-minimum",
            "The cost is lower elsewhere, farther away than the intervals allow for, in standard"
            f" errors: {', '.join(names)}. The intervals hold around that minimum, not around these"
            " values",
            "The search ended before it: see why it stopped."
            if searches
            else "A further stage with least-squares goes there.",
        )
    ]


def _derivative_check(
    problem: Problem, evaluator: Evaluator, statistics: VerifiedStatistics
) -> DerivativeCheck:
    """Return how the derivatives were verified."""

    def shifts(effect: IntegrationEffect | None) -> dict[str, float]:
        if effect is None:
            return {}
        each = zip(problem.free, effect.shifts, effect.matters, strict=True)
        return {q.name: float(shift) for q, shift, matters in each if matters}

    effect, step = statistics.integration, statistics.step
    return DerivativeCheck(
        evaluator.tolerance,
        statistics.tightened,
        statistics.ignores_tolerance,
        shifts(effect),
        None if effect is None else effect.needed,
        statistics.solver.interpolation,
        statistics.solver.reason,
        shifts(step),
        None if step is None or step.needed is None else int(step.needed),
        0.0 if effect is None else effect.share,
        0.0 if step is None else step.share,
    )


def _derivative_notes(check: DerivativeCheck, statistics: VerifiedStatistics) -> list[Finding]:
    """Return notes on the effect of the simulation tolerance on estimate and intervals."""
    notes = []
    if check.tightened is not None:
        differences = "no step of the finite differences is"
        what = "the sensitivities are not" if statistics.exact else differences
        text = (
            "The derivatives behind the intervals were simulated with the tolerance"
            f" {check.tightened:g}: with {check.tolerance:g}, {what} exact enough"
        )
        notes.append(finding("derivatives-tightened", text))

    def effect(shifts: Mapping[str, float], share: float) -> str:
        if not shifts:
            size = f"{share:.2g} times as large as" if share >= 1.0 else f"{share:.0%} of"
            return f"makes an error of the outputs that is {size} the residuals"
        changes = ", ".join(f"'{name}' by {x:.2g} standard errors" for name, x in shifts.items())
        return f"moves the estimate ({changes}), which the intervals do not count"

    if check.step_shifts or check.step_share:
        notes.append(
            finding(
                "derivatives",
                "The outputs of the FMU depend on the communication step: its length"
                f" {effect(check.step_shifts, check.step_share)}",
                f"{check.step_advice[0].upper()}{check.step_advice[1:]}, and estimate again.",
            )
        )
    if check.shifts or check.share:
        cause = (
            "the FMU's own solver, which ignores the tolerance,"
            if check.needed is None
            else f"the integration at the tolerance {check.tolerance:g}"
        )
        notes.append(
            finding(
                "derivatives",
                f"The error of {cause} {effect(check.shifts, check.share)}",
                f"{check.advice[0].upper()}{check.advice[1:]}, and estimate again.",
            )
        )
    if check.unknown:
        notes.append(
            finding(
                "solver-error-unknown",
                "The FMU ignores the tolerance, and it is not known how far the error of its own"
                f" solver moves the estimate: {check.unknown}",
            )
        )
    identifiability = statistics.identifiability
    # Where the cost jumps, no tolerance makes a derivative.
    if {*identifiability.withheld, *identifiability.undecided} - {*identifiability.jumps}:
        if check.ignores_tolerance:
            text = (
                "The FMU ignores the tolerance, so that more exact derivatives need a finer solver"
                " in the FMU"
            )
            notes.append(finding("derivatives", text))
        elif check.tightened is None and check.tolerance is None:
            text = "The FMU names no tolerance"
            notes.append(finding("derivatives", text, "Give evaluation.tolerance, such as 1e-8."))
    return notes
