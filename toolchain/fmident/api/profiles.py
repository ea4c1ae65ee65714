"""Profiles of the likelihood: the analysis and its function."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np

from fmident.api.estimates import activity_of, with_executor
from fmident.api.given_estimates import (
    OfEstimate,
    changed_since,
    estimated,
    loss_of,
    not_converged,
    start_of,
    without_constraints,
)
from fmident.api.run import RunArguments, RunContext, perform, with_arguments
from fmident.errors import ProblemError, unknown_name
from fmident.estimation.diagnostics.noise import asks_for_noise
from fmident.estimation.result import EstimationResult, StageUncertainty
from fmident.findings import Finding, finding
from fmident.problem.model import Problem, Stage
from fmident.problem.stages import continued
from fmident.profiles import ProfileResult, compared_with, run_profiles
from fmident.profiles.joint_walks import check_profile, chosen_in_pairs, chosen_parameters
from fmident.profiles.thresholds import Counted
from fmident.progress.watch import Watch
from fmident.report.profiles import PROFILES
from fmident.statistics.distributions import student_freedom


@dataclass(frozen=True)
class Profiling(OfEstimate["ProfileResult"]):
    """Profiles of a problem; options as of :func:`profile`."""

    parameters: Sequence[str] | None = None
    pairs: Sequence[tuple[str, str]] = ()
    level: float = 0.95
    accuracy: float = 1e-3
    stage: str | None = None
    contents = PROFILES
    marker: ClassVar[str] = PROFILES.marker

    def run(self, problem: Problem, context: RunContext) -> ProfileResult:
        """Estimate if needed, and profile."""
        stage, pairs, parameters = _stage(problem, self.stage), self.pairs, self.parameters
        if parameters is None and pairs:
            parameters = list(dict.fromkeys(name for pair in pairs for name in pair))
        part = _part(problem, stage, {})
        _refuse_of_other_stage(problem, stage, parameters or ())
        chosen_parameters(part, parameters)  # before the estimation: that may take long
        chosen_in_pairs(part, pairs)
        check_profile(part, self.level, self.accuracy)
        estimate = estimated(problem, self.result, context, what="the profiles")
        part = _part(problem, stage, estimate.values)
        start = start_of(part, estimate)
        counted = None if stage is None else _counted(part, stage, estimate)
        with context.evaluator(part) as (evaluator, executor):
            evaluator.activities.listener = activity_of(context.observers)
            cost = float("nan") if asks_for_noise(part) else evaluator.cost(start)
            profiles = run_profiles(
                part,
                evaluator,
                start,
                names=parameters,
                pairs=pairs,
                level=self.level,
                accuracy=self.accuracy,
                counted=counted,
                orders=None if estimate.noise is None else estimate.noise.model_orders,
                listener=context.tell,
            )
            about = executor.report()
        profiles, differing = compared_with(profiles, _standard_errors(part, estimate))
        notes = [
            *([] if stage is None else _about_stage(part, stage, estimate, counted, pairs)),
            *not_converged(estimate, "the profiles"),
            *_differences(problem, part, stage, estimate, cost),
            *differing,
        ]
        return with_executor(profiles, part, about, notes)

    def show(self, watch: Watch, *state: Any) -> None:
        """Show each point of a profile."""
        watch.profiles(*state)


@with_arguments(RunArguments, listener="the progress after each point of a profile")
def profile(
    problem: Problem | str | Path,
    result: EstimationResult | str | Path | None = None,
    *,
    parameters: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    level: float = 0.95,
    accuracy: float = 1e-3,
    stage: str | None = None,
    **run: Unpack[RunArguments],
) -> ProfileResult:
    """Return the profile likelihood of parameters, and the intervals that follow from it.

    From the estimate each parameter is moved to both sides, all others fitted again at each
    value, until the cost has risen to the threshold of the confidence level.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python; a problem file, or the folder of a
        result. Of a problem with stages one
        stage is profiled, the values of the others held.
    result
        An estimate of it, or the folder of one; that of the folder given as the problem, else it is
        estimated first.
    parameters
        Names of free parameters; those of `pairs` by default, or all.
    pairs
        Pairs of free parameters whose joint region is to be found.
    level
        Probability of the intervals, and of the regions.
    accuracy
        Of the ends, in relation to their distance from the estimate.
    stage
        Name of the stage to profile; the last one by default.
    **run
        Arguments of every analysis, such as `progress`, `folder` and `resume`.

    Returns
    -------
    fmident.profiles.ProfileResult
        Also when the run was interrupted with Ctrl-C: with what was found so far.

    Raises
    ------
    fmident.errors.FmidentError
        The problem cannot be estimated or has no likelihood; a name that does not exist; a
        result that is not one of this problem.
    """
    analysis = Profiling(result, parameters, pairs, level, accuracy, stage)
    return perform(analysis, problem, **run)


def _part(problem: Problem, stage: Stage | None, values: Mapping[str, float]) -> Problem:
    """Return the problem to profile: a stage with the values of the others held, or all."""
    if stage is not None:
        # What a stage starts from is no matter any more.
        problem, _ = continued(dataclasses.replace(stage, starts={}), values)
    return without_constraints(problem, "profiles")


def _stage(problem: Problem, name: str | None) -> Stage | None:
    """Return the stage to profile, by default the last one; raises `ProblemError` without it."""
    if name is None:
        return problem.stages[-1] if problem.stages else None
    known = {s.name: s for s in problem.stages}
    if not known:
        raise ProblemError(f"the problem has no stages, so none named '{name}'")
    if name not in known:
        raise ProblemError(
            f"there is no stage '{name}'", **unknown_name(name, list(known), "stage")
        )
    return known[name]


def _refuse_of_other_stage(problem: Problem, stage: Stage | None, names: Sequence[str]) -> None:
    for name in names if stage is not None else ():
        searching = [s.name for s in problem.stages if name in {q.name for q in s.problem.free}]
        if stage is not None and searching and stage.name not in searching:
            raise ProblemError(
                f"'{name}' is not free in the stage '{stage.name}': it has no profile there",
                hint=f"it is in the stage '{searching[-1]}': --stage {searching[-1]}",
            )


def _differences(
    problem: Problem, part: Problem, stage: Stage | None, result: EstimationResult, cost: float
) -> list[Finding]:
    """Return notes if the result belongs to another problem, or minimises something else."""
    before = result.cost_final
    if stage is not None:
        later = problem.stages[[s.name for s in problem.stages].index(stage.name) + 1 :]
        changed = {q.name for s in later for q in s.problem.free}
        if names := [q.name for q in part.parameters if q.name in changed]:
            text = (
                f"Later stages have found {', '.join(names)}: the profiles are those with "
                "these values, and their minimum is not where the stage has ended."
            )
            return [finding("stage-held-changed", text)]
        before = next((s.cost_final for s in result.stages if s.name == stage.name), before)
    if (loss := loss_of(result)) == "linear":
        return changed_since(part, result, cost, before)
    text = (
        f"The estimate has the robust loss '{loss}', the profiles have none: they are "
        "those of plain least squares."
    )
    return [finding("loss-ignored", text)]


def _counted(part: Problem, stage: Stage, result: EstimationResult) -> Counted | None:
    """Return the uncertainty from held values in a stage's intervals.

    The intervals may become narrower if errors of those values compensate for errors of the
    stage, which is possible if they share data.
    """
    if not _factors(stage, result):
        return None
    errors = {e.name: e.standard_error for e in result.estimates}
    names = [q.name for q in part.free]
    known = [e.name for e in result.estimates if e.searched]
    covariance = np.full((len(names), len(names)), np.nan)
    rows = [j for j, name in enumerate(names) if name in known]
    places = [known.index(names[j]) for j in rows]
    covariance[np.ix_(rows, rows)] = result.covariance[np.ix_(places, places)]
    intervals = {e.name: e.interval_95 for e in result.estimates}
    freedoms = [
        student_freedom(0.975, 0.5 * float(np.diff(intervals[name])[0]) / errors[name])
        if errors.get(name, 0.0) > 0.0
        else np.nan
        for name in names
    ]
    noisy = () if result.noise is None else result.noise.factors
    return Counted(
        covariance, np.array(freedoms), counts_noise=all(names[j] in noisy for j in rows)
    )


def _uncertainty_of(stage: Stage, result: EstimationResult) -> StageUncertainty | None:
    return next((s.uncertainty for s in result.stages if s.name == stage.name), None)


def _factors(stage: Stage, result: EstimationResult) -> dict[str, float]:
    """Return how many times as wide the held values make the intervals of a stage."""
    uncertainty = _uncertainty_of(stage, result)
    if uncertainty is None or not uncertainty.counted:
        return {}
    errors = {e.name: e.standard_error for e in result.estimates}
    factors = {
        name: errors.get(name, np.nan) / alone
        for name, alone in uncertainty.conditional_errors.items()
        if alone > 0.0
    }
    return {name: float(f) for name, f in factors.items() if np.isfinite(f) and f > 0.0}


def _about_stage(
    part: Problem,
    stage: Stage,
    result: EstimationResult,
    counted: Counted | None,
    pairs: Sequence[tuple[str, str]],
) -> Iterator[Finding]:
    """Yield which stage is profiled, and what of the values that it holds is counted."""
    held = [q.name for q in part.parameters if q.fixed]
    note = f"The profiles are those of the stage '{stage.name}'"
    yield finding("profile-stage", note + (f", with {', '.join(held)} held." if held else "."))
    uncertainty, factors = _uncertainty_of(stage, result), _factors(stage, result)
    if uncertainty is None or counted is None:
        return
    most = max(factors, key=lambda name: abs(np.log(factors[name])))
    also = " and the data are those of an earlier stage" if uncertainty.shared_experiments else ""
    yield finding(
        "stage-held-counted",
        f"The intervals count, as far as a linear model shows it, that "
        f"{', '.join(uncertainty.counted)} {'is' if len(uncertainty.counted) == 1 else 'are'} "
        f"uncertain{also}: that of {most} is {factors[most]:.3g} times as wide as with exact "
        "values.",
    )
    names = [q.name for q in part.free]
    unknown = []
    for pair in pairs:
        both = [names.index(name) for name in pair]
        if not bool(np.isfinite(counted.covariance[np.ix_(both, both)]).all()):
            unknown.append(" and ".join(pair))
    if unknown:
        yield finding(
            "stage-held-undetermined",
            f"The region of {', of '.join(unknown)} does not count that: the result has no "
            "covariance of both.",
        )


def _standard_errors(problem: Problem, result: EstimationResult) -> dict[str, float]:
    """Return the standard errors of a result that are comparable with those of the profiles.

    There are none for a robust loss or with a noise model; otherwise they are those for
    white noise, and of a stage those with the held values assumed exact.
    """
    modelled = result.noise is not None and result.noise.modelled
    if loss_of(result) != "linear" or modelled:
        return {}
    errors = {e.name: e.standard_error for e in result.estimates if e.searched and not e.held}
    for stage in result.stages:
        if stage.uncertainty is not None:
            errors |= stage.uncertainty.conditional_errors
    if result.noise is not None:
        errors |= {
            name: error for name, error in result.noise.white_errors.items() if name in errors
        }
    return {q.name: errors[q.name] for q in problem.free if q.name in errors}
