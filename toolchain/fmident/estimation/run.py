"""Running one estimator on one problem."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, FmidentError, Location, ProblemError
from fmident.estimation.checks import check_influence, check_initial_simulation
from fmident.estimation.choices import refuse_cost, refuse_priors
from fmident.estimation.contract import Ending, Estimate, Estimator, Status, StopEstimation
from fmident.estimation.diagnostics.combinations import with_fixing
from fmident.estimation.diagnostics.draws import drawn_posterior
from fmident.estimation.diagnostics.sensitivities import output_sensitivities
from fmident.estimation.diagnostics.truncated import truncation_notes, truncation_of
from fmident.estimation.diagnostics.two_minima import beginning_at, best_of_both, values_of
from fmident.estimation.monitor import Observer, RunMonitor, RunPlan
from fmident.estimation.noise.alternate import asks_for_noise, in_turn, noise_notes, refuse_noise
from fmident.estimation.options import build_options
from fmident.estimation.result import EstimationResult
from fmident.estimation.summary import Summary, summarise
from fmident.evaluation import Evaluator, JacobianError
from fmident.findings import finding, in_order, reading_notes
from fmident.plugin_code import PLUGIN_BUG, plugin_failed
from fmident.problem.priors import Priors
from fmident.problem.residuals import check_cost
from fmident.statistics import DeterminedCombination, ParameterStatistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_ROUNDS = 3
"""Times that a search goes on from a lower cost beyond a plateau."""


@dataclass(frozen=True)
class FmuIdentity:
    """Name, GUID, generation tool and file of the FMU for the result."""

    name: str = ""
    guid: str = ""
    tool: str = ""
    path: Path | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A run with the statistics and weights that a later stage needs for its uncertainty."""

    result: EstimationResult
    statistics: ParameterStatistics | None
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
) -> EstimationResult:
    """Run an estimator and add uncertainty, fits and notes to its result.

    Ctrl-C and a request to stop end the run with the best parameters so far; so does a
    Jacobian that cannot be computed. The default `options` are
    ``problem.estimator.options``; without `intervals`, the uncertainty of the parameters is
    not computed.

    Raises
    ------
    fmident.errors.ProblemError
        Wrong options, no free parameter, or one without influence on the outputs.
    fmident.errors.EstimationError
        The initial simulation fails, or the estimator is broken.
    """
    return run_with_statistics(
        problem, evaluator, estimator, options, observers, fmu, intervals=intervals
    ).result


def run_with_statistics(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    options: Mapping[str, Any] | None = None,
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    *,
    intervals: bool = True,
) -> Run:
    """Run an estimator like :func:`run_estimation`, and also return its statistics."""
    raw = problem.estimator.options if options is None else options
    location = problem.where()
    chosen = build_options(estimator, raw, location)
    if not problem.free:
        raise EstimationError(
            "there is no free parameter to estimate",
            location=location,
            hint="remove 'fixed' from at least one, or use 'fmident simulate'",
        )
    check_cost(problem, location)
    refuse_cost(problem, estimator, location)
    refuse_priors(problem, estimator, location)
    refuse_constraints(problem, estimator, location)
    monitor = RunMonitor(evaluator, observers)
    monitor.plan(_plan(problem, estimator, chosen))
    check_initial_simulation(problem, evaluator)
    initial_outputs = evaluator.simulate(problem.initial)
    cost_initial = evaluator.cost(problem.initial)
    refuse_noise(problem, estimator, location)
    in_rounds = asks_for_noise(problem)

    def search(asked: Problem, at: Evaluator) -> Estimate:
        return _estimate(asked, at, estimator, chosen, monitor, again=True, minimise=in_rounds)

    estimate = _estimate(problem, evaluator, estimator, chosen, monitor, minimise=in_rounds)
    estimate, minimum_notes = best_of_both(
        problem, evaluator, estimate, search if estimator.descends else None
    )
    alternation = None
    if in_rounds and estimate.status == "converged":
        alternation = in_turn(
            problem,
            evaluator,
            estimate,
            lambda asked, at: _estimate(
                asked, at, estimator, chosen, monitor, again=True, minimise=True
            ),
        )
        problem = dataclasses.replace(problem, cost=alternation.problem.cost)
        evaluator, estimate = alternation.evaluator, alternation.estimate
        if estimate.status == "converged" and type(estimator).minimise is not Estimator.minimise:
            estimate = _estimate(
                alternation.problem, evaluator, estimator, chosen, monitor, again=True
            )
        cost_initial = evaluator.cost(problem.initial)
    identity = fmu or FmuIdentity(path=problem.fmu)

    def summary_of(estimate: Estimate) -> Summary:
        return summarise(
            problem,
            evaluator,
            estimate,
            initial_outputs,
            intervals=intervals,
            searches=estimator.descends,
            # A population may have been asked to end before; where priors count, it ends in
            # valleys.
            minimises=estimator.descends or (estimator.any_cost and Priors.of(problem).count > 0),
        )

    summary = summary_of(estimate)
    for _ in range(_ROUNDS if estimator.descends and not in_rounds else 0):
        if summary.lower is None:
            break
        candidate = search(beginning_at(problem, summary.lower), evaluator)
        cut_short = candidate.status in ("interrupted", "stopped")
        if not cut_short and not evaluator.cost(candidate.parameters) < summary.cost:
            break
        begun = values_of(problem, summary.lower)
        monitor.note(
            f"A search ended on a plateau, with a cost of {summary.cost:.4g}. It went on from"
            f" {begun}, where the cost is lower."
        )
        estimate, summary = candidate, summary_of(candidate)
    settings = {
        "options": _plain(chosen),
        **_steps(evaluator, problem, estimate.parameters),
        **estimate.details,
    }
    truncation = truncation_of(problem, estimate, summary.statistics)
    result = EstimationResult(
        status=summary.status,
        message=summary.message,
        ended_by=summary.ended_by,
        estimator=estimator.name,
        estimates=summary.estimates,
        covariance=summary.covariance,
        correlation=summary.correlation,
        identifiability=with_fixing(problem, estimate.parameters, summary.statistics),
        cost_initial=cost_initial,
        cost_final=summary.cost,
        simulations=evaluator.simulations,
        jacobians=evaluator.jacobians,
        seconds=monitor.seconds,
        history=monitor.history,
        fits=summary.fits,
        findings=in_order(
            [
                *reading_notes(problem.notes),
                *(finding("search", text) for text in monitor.notes),
                *minimum_notes,
                *noise_notes(alternation, in_rounds, drawn=estimate.draws is not None),
                *summary.notes,
                *truncation_notes(truncation),
                *(finding("derivatives", text) for text in evaluator.notes),
            ]
        ),
        fmu_name=identity.name,
        fmu_guid=identity.guid,
        fmu_tool=identity.tool,
        fmu_path=identity.path,
        settings=settings,
        series=estimate.series,
        residuals=summary.residuals,
        derivatives=summary.derivatives,
        derivative_origins=evaluator.derivative_origins,
        cost=problem.cost.name,
        cost_options=problem.cost.options(),
        generations=monitor.generations,
        constraints=summary.constraints,
        noise=summary.noise,
        whitened=summary.whitened if alternation is not None else (),
        sensitivities=()
        if summary.statistics is None
        else output_sensitivities(problem, summary.statistics, estimate.residual_weights),
        priors=summary.priors,
        truncation=truncation,
        draws=None if estimate.draws is None else drawn_posterior(problem, estimate.draws),
        base_parameters=summary.base_parameters,
    )
    return Run(result, summary.statistics, estimate.residual_weights)


def _plan(problem: Problem, estimator: Estimator[Any], options: object) -> RunPlan:
    """Return the plan of the search for watchers."""
    # How long a descent takes nobody knows; a population has its generations.
    known = None if estimator.descends else estimator.expected_simulations(options, problem)
    names = tuple(q.name for q in problem.free)
    return RunPlan(estimator.name, names, problem.initial, known)


def refuse_constraints(
    problem: Problem, estimator: Estimator[Any], location: Location | None
) -> None:
    """Reject constraints that the estimator does not use; raises `ProblemError` at `location`."""
    if problem.constraints and not estimator.keeps_constraints:
        raise ProblemError(
            f"the estimator '{estimator.name}' does not keep the constraint"
            f" {problem.constraints[0]}",
            location=location,
            hint="choose one that does, such as scipy-minimize, or hand the problem to"
            " fmident.estimation.suited first, which replaces linear constraints",
            code=Code.NOT_SUPPORTED,
        )


def _estimate(
    problem: Problem,
    evaluator: Evaluator,
    estimator: Estimator[Any],
    options: Any,
    monitor: RunMonitor,
    *,
    again: bool = False,
    minimise: bool = False,
) -> Estimate:
    """Run the search; turn every way it can end into an estimate or an error."""
    try:
        if not (again or estimator.takes_inert(options)):
            check_influence(problem, evaluator, descends=estimator.descends)
        method = estimator.minimise if minimise else estimator.estimate
        result = method(problem, evaluator, options, monitor)
        return _checked(problem, evaluator, estimator, result)
    except KeyboardInterrupt:
        return Estimate(
            _best(problem, evaluator, monitor),
            "interrupted",
            f"interrupted after {_iterations(monitor)}; the best parameters so far",
        )
    except StopEstimation as request:
        reason = f" ({request})" if str(request) else ""
        return Estimate(
            _best(problem, evaluator, monitor),
            "stopped",
            f"stopped on request after {_iterations(monitor)}{reason}; the best parameters so far",
        )
    except JacobianError as error:
        return Estimate(
            _best(problem, evaluator, monitor),
            "failed",
            f"{error.message}; the best parameters so far"
            + (f" (hint: {error.hint})" if error.hint else ""),
        )
    except FmidentError:
        raise
    # A plugin that calls sys.exit must not end the host without a word.
    except (Exception, SystemExit) as error:
        raise plugin_failed(
            f"the estimator '{estimator.name}'",
            type(estimator).__module__,
            error,
            kind=EstimationError,
        ) from error


def _checked(
    problem: Problem, evaluator: Evaluator, estimator: Estimator[Any], found: object
) -> Estimate:
    """Return the result of an estimator if it is usable, or raise `EstimationError`."""
    if not isinstance(found, Estimate):
        raise _mistake(estimator, f"returned {type(found).__name__}, not an Estimate")
    if found.status not in get_args(Status):
        raise _mistake(
            estimator,
            f"returned the status {found.status!r}, but only "
            f"{', '.join(repr(s) for s in get_args(Status))} exist",
        )
    if found.ended_by not in (None, *get_args(Ending)):
        raise _mistake(
            estimator,
            f"was ended by {found.ended_by!r}, but only "
            f"{', '.join(repr(e) for e in get_args(Ending))} exist",
        )
    if not isinstance(found.message, str):
        raise _mistake(
            estimator, f"returned a message of type {type(found.message).__name__}, not a text"
        )
    if not isinstance(found.details, Mapping):
        raise _mistake(
            estimator, f"returned details of type {type(found.details).__name__}, not a mapping"
        )
    try:
        p = np.asarray(found.parameters, dtype=np.float64)
    except (TypeError, ValueError):
        raise _mistake(
            estimator, f"returned parameters that are not numbers: {found.parameters!r}"
        ) from None
    if p.shape != problem.initial.shape or not bool(np.isfinite(p).all()):
        raise _mistake(
            estimator,
            f"returned parameters {p} of shape {p.shape}, but "
            f"{problem.initial.size} finite numbers are expected",
        )
    slack = 1e-9 * np.maximum(np.abs(p), np.finfo(np.float64).tiny)
    weights = found.residual_weights
    if weights is not None:
        count = evaluator.residuals(np.clip(p, problem.lower, problem.upper)).size
        if np.shape(weights) != (count,) or not bool(np.isfinite(weights).all()):
            raise _mistake(
                estimator,
                "returned residual weights of shape "
                f"{np.shape(weights)}, but {count} finite numbers are expected",
            )
    scores = found.residual_scores
    if scores is not None:
        count = evaluator.residuals(np.clip(p, problem.lower, problem.upper)).size
        if scores.values.shape != (count,) or scores.slopes.shape != (count,):
            raise _mistake(
                estimator,
                "returned residual scores of shapes "
                f"{scores.values.shape} and {scores.slopes.shape}, but {count} numbers are "
                "expected",
            )
    _check_draws(problem, estimator, found)
    _check_base(estimator, found, p.size)
    outside = (p < problem.lower - slack) | (p > problem.upper + slack)
    if outside.any():
        j = int(np.flatnonzero(outside)[0])
        raise _mistake(
            estimator,
            f"returned {problem.free[j].name} = {p[j]}, "
            f"outside of its bounds [{problem.lower[j]}, {problem.upper[j]}]",
        )
    # The files of a result have keys that are texts; a long run is not lost over another one.
    details = {str(key): value for key, value in found.details.items()}
    clipped = np.clip(p, problem.lower, problem.upper)
    return dataclasses.replace(found, parameters=clipped, details=details)


def _check_draws(problem: Problem, estimator: Estimator[Any], found: Estimate) -> None:
    """Reject draws of a wrong shape or outside the bounds."""
    draws = found.draws
    if draws is None:
        return
    values, size = draws.values, len(problem.free)
    if values.ndim != 3 or values.shape[2] != size or draws.densities.shape != values.shape[:2]:
        raise _mistake(
            estimator,
            f"returned draws of shape {values.shape} with densities of shape"
            f" {draws.densities.shape}, not (chains, draws, {size}) and (chains, draws)",
        )
    inside = (draws.flat >= problem.lower) & (draws.flat <= problem.upper)
    if not values.size or not bool(inside.all()):
        raise _mistake(estimator, "returned no draws, or draws outside of the bounds")


def _check_base(estimator: Estimator[Any], found: Estimate, count: int) -> None:
    """Reject combinations of other parameters."""
    for c in found.base:
        if not isinstance(c, DeterminedCombination) or c.sums.shape != (len(c.powers), count):
            raise _mistake(
                estimator, f"returned a combination of parameters that is not one of {count}: {c!r}"
            )


def _best(problem: Problem, evaluator: Evaluator, monitor: RunMonitor) -> F64:
    """Return the best point, preferably the reported one, since the costs may differ."""
    if monitor.history:
        return np.clip(monitor.history[-1].parameters, problem.lower, problem.upper)
    best = evaluator.best
    return problem.initial if best is None else best[0]


def _iterations(monitor: RunMonitor) -> str:
    count = max(len(monitor.history) - 1, 0)
    return f"{count} iteration{'' if count == 1 else 's'}"


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


def _plain(options: Any) -> dict[str, object]:
    return dict(dataclasses.asdict(options))


def _mistake(estimator: Estimator[Any], what: str) -> EstimationError:
    return EstimationError(
        f"the estimator '{estimator.name}' {what}", hint=PLUGIN_BUG, code=Code.PLUGIN_FAILED
    )
