"""Profiles of a problem: the estimate, an executor and a journal.

:func:`profile` is ``fmident.profile``; the command line calls it too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from fmident.api.estimates import (
    activity_of,
    changed_since,
    estimated,
    loss_of,
    result_in,
    start_of,
    without_constraints,
)
from fmident.api.run import Analysis, Run, RunArguments, perform
from fmident.errors import Code, ProblemError, did_you_mean
from fmident.estimation.noise.alternate import asks_for_noise
from fmident.estimation.result import EstimationResult
from fmident.problem.settings_keys import as_written
from fmident.problem.stages import continued
from fmident.profiles import compared_with, run_profiles, with_notes
from fmident.profiles.joint_walks import check_profile, chosen_in_pairs, chosen_parameters
from fmident.profiles.thresholds import Counted
from fmident.report.profiles import PROFILES
from fmident.statistics.distributions import student_freedom

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.problem.model import Problem, Stage
    from fmident.profiles import ProfileResult
    from fmident.progress import Watch


@dataclass(frozen=True)
class Profiling(Analysis["ProfileResult"]):
    """Profiles of a problem; options as of :func:`profile`."""

    result: EstimationResult | str | Path | None = None
    parameters: Sequence[str] | None = None
    pairs: Sequence[tuple[str, str]] = ()
    level: float = 0.95
    accuracy: float = 1e-3
    stage: str | None = None
    marker: ClassVar[str] = "profiles.json"

    def run(self, problem: Problem, run: Run) -> ProfileResult:
        """Estimate if needed, and profile."""
        stage, pairs, parameters = self.stage, self.pairs, self.parameters
        if parameters is None and pairs:
            parameters = list(dict.fromkeys(name for pair in pairs for name in pair))
        part, notes = _part(problem, stage, None)
        _check_stage(problem, stage, parameters or ())
        chosen_parameters(part, parameters)  # before the estimation: that may take long
        chosen_in_pairs(part, pairs)
        check_profile(part, self.level, self.accuracy)
        estimate = estimated(problem, self.result, run, what="the profiles")
        part, notes = _part(problem, stage, estimate)
        start = start_of(part, estimate)
        counted, counted_notes = _counted(problem, part, stage, estimate)
        notes += counted_notes
        if counted is not None:
            notes += _without_held(part, counted, pairs)
        with run.evaluator(part) as (evaluator, executor):
            evaluator.activities.listener = activity_of(run.observers)
            # The cost of a result with a model of the noise is that of the innovations.
            cost = float("nan") if asks_for_noise(part) else evaluator.cost(start)
            notes += _differences(problem, part, stage, estimate, cost)
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
                listener=run.tell,
            )
            about = executor.report()
        settings = {
            **profiles.settings,
            "evaluation": {**as_written(part.evaluation), **about.settings()},
        }
        profiles, differing = compared_with(profiles, _standard_errors(part, estimate))
        profiles = dataclasses.replace(profiles, settings=settings)
        return with_notes(profiles, [*notes, *differing, *about.doubts, *about.notes])

    def write(
        self, result: ProfileResult, problem: Problem, folder: Path, run: Run
    ) -> Iterable[Diagnostic]:
        """Write the profiles."""
        PROFILES.write(result, problem, folder)
        return ()

    def show(self, watch: Watch, *state: Any) -> None:
        """Show each point of a profile."""
        watch.profiles(*state)


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
        As of :func:`fmident.estimate`; ``listener`` receives each point of a profile.

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
    analysis = Profiling(result_in(problem, result), parameters, pairs, level, accuracy, stage)
    return perform(analysis, problem, **run)


def _part(
    problem: Problem, stage: str | None, result: EstimationResult | None
) -> tuple[Problem, list[str]]:
    """Return the problem to profile, and notes; raises `ProblemError` for an unknown stage."""
    if not problem.stages:
        if stage is not None:
            raise ProblemError(f"the problem has no stages, so none named '{stage}'")
        return without_constraints(problem, "profiles"), []
    chosen = _stage(problem, stage)
    values: Mapping[str, float] = {} if result is None else result.values
    # What a stage starts from is no matter any more.
    part, _ = continued(dataclasses.replace(chosen, starts={}), values)
    part = without_constraints(part, "profiles")
    held = [q.name for q in part.parameters if q.fixed]
    note = f"The profiles are those of the stage '{chosen.name}'"
    return part, [note + (f", with {', '.join(held)} held." if held else ".")]


def _stage(problem: Problem, name: str | None) -> Stage:
    if name is None:
        return problem.stages[-1]
    for stage in problem.stages:
        if stage.name == name:
            return stage
    known = [s.name for s in problem.stages]
    raise ProblemError(
        f"there is no stage '{name}'",
        hint=did_you_mean(name, known, kind="stage"),
        code=Code.UNKNOWN_NAME,
    )


def _check_stage(problem: Problem, stage: str | None, names: Sequence[str]) -> None:
    """Raise `ProblemError` for parameters that another stage searches."""
    if not problem.stages:
        return
    chosen = _stage(problem, stage)
    own = {q.name for q in chosen.problem.free}
    for name in names:
        others = [s.name for s in problem.stages if name in {q.name for q in s.problem.free}]
        if others and name not in own:
            raise ProblemError(
                f"'{name}' is not free in the stage '{chosen.name}': it has no profile there",
                hint=f"it is in the stage '{others[-1]}': --stage {others[-1]}",
            )


def _differences(
    problem: Problem, part: Problem, stage: str | None, result: EstimationResult, cost: float
) -> list[str]:
    """Return notes if the result belongs to another problem, or is not a minimum."""
    notes = []
    if result.status != "converged":
        notes.append(
            f"The estimation that the profiles begin from has not converged ({result.status})."
        )
    before = result.cost_final
    if problem.stages:
        chosen = _stage(problem, stage)
        later = problem.stages[[s.name for s in problem.stages].index(chosen.name) + 1 :]
        changed = {q.name for s in later for q in s.problem.free}
        if names := [q.name for q in part.parameters if q.name in changed]:
            notes.append(
                f"Later stages have found {', '.join(names)}: the profiles are those with these "
                "values, and their minimum is not where the stage has ended."
            )
            return notes
        before = next((s.cost_final for s in result.stages if s.name == chosen.name), before)
    loss = loss_of(result)
    if result.truncation is not None:
        notes.append(
            "The estimate is truncated, the profiles hold nothing: they show what the data say of"
            " each parameter, whatever it started from."
        )
    if loss != "linear":
        notes.append(
            f"The estimate has the robust loss '{loss}', the profiles have none: they are those "
            "of plain least squares."
        )
    else:
        notes += changed_since(part, result, cost, before)
    return notes


def _counted(
    problem: Problem, part: Problem, stage: str | None, result: EstimationResult
) -> tuple[Counted | None, list[str]]:
    """Return the uncertainty from held values in a stage's intervals, and notes.

    The intervals may become narrower if errors of those values compensate for errors of the
    stage, which is possible if they share data.
    """
    if not problem.stages:
        return None, []
    chosen = _stage(problem, stage)
    counts = next((s.uncertainty for s in result.stages if s.name == chosen.name), None)
    if counts is None or not counts.counted:
        return None, []
    errors = {e.name: e.standard_error for e in result.estimates}
    factors = {}
    for name, alone in counts.conditional_errors.items():
        ratio = errors.get(name, np.nan) / alone if alone > 0.0 else np.nan
        if np.isfinite(ratio) and ratio > 0.0:
            factors[name] = float(ratio)
    if not factors:
        return None, []
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

    counted = Counted(
        covariance, np.array(freedoms), counts_noise=all(names[j] in noisy for j in rows)
    )
    most = max(factors, key=lambda name: abs(np.log(factors[name])))
    held = ", ".join(counts.counted)
    also = " and the data are those of an earlier stage" if counts.shared_experiments else ""
    return counted, [
        f"The intervals count, as far as a linear model shows it, that {held} "
        f"{'is' if len(counts.counted) == 1 else 'are'} uncertain{also}: that of {most} is "
        f"{factors[most]:.3g} times as wide as with exact values."
    ]


def _without_held(part: Problem, counted: Counted, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return notes on regions whose covariance is unknown."""
    names = [q.name for q in part.free]
    unknown = []
    for pair in pairs:
        both = [names.index(name) for name in pair]
        if not bool(np.isfinite(counted.covariance[np.ix_(both, both)]).all()):
            unknown.append(" and ".join(pair))
    if not unknown:
        return []
    return [
        f"The region of {', of '.join(unknown)} does not count that: the result has no covariance"
        " of both."
    ]


def _standard_errors(problem: Problem, result: EstimationResult) -> dict[str, float]:
    """Return the standard errors of a result that are comparable with those of the profiles.

    There are none for a robust loss or with a noise model; otherwise they are those for
    white noise, and of a stage those with the held values assumed exact.
    """
    modelled = result.noise is not None and result.noise.modelled
    if loss_of(result) != "linear" or result.truncation is not None or modelled:
        return {}
    errors = {e.name: e.standard_error for e in result.estimates if e.searched and not e.at_bound}
    for stage in result.stages:
        if stage.uncertainty is not None:
            errors |= stage.uncertainty.conditional_errors
    if result.noise is not None:
        errors |= {
            name: error for name, error in result.noise.white_errors.items() if name in errors
        }
    return {q.name: errors[q.name] for q in problem.free if q.name in errors}
