"""Profiles of a problem, everything wired together: the estimate, an executor, a journal.

:func:`profile` is what ``fmident.profile`` is, and what the command line calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fmident.api.journalled import WatchedKind, carried_out
from fmident.api.uncertainty.begin import (
    activity_of,
    changed_since,
    estimated,
    loss_of,
    start_of,
    without_constraints,
)
from fmident.api.wiring import Report, loaded, warn
from fmident.errors import Code, ProblemError, did_you_mean
from fmident.estimation.result import EstimationResult
from fmident.problem.settings_keys import as_written
from fmident.problem.stages import continued
from fmident.statistics.distributions import student_freedom

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.estimation.monitor import Observer
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem, Stage
    from fmident.profiles import ProfileProgress, ProfileResult
    from fmident.profiles.joint_walks import Listener
    from fmident.profiles.thresholds import Counted
    from fmident.progress import Watch


@dataclass(frozen=True)
class ProfileRun(WatchedKind["ProfileResult"]):
    """Profiles as a run with a journal and a result folder; parameters of :func:`profile`."""

    result: EstimationResult | str | Path | None = None
    parameters: Sequence[str] | None = None
    pairs: Sequence[tuple[str, str]] = ()
    level: float = 0.95
    accuracy: float = 1e-3
    stage: str | None = None
    host: Host | None = None
    observers: Sequence[Observer] = ()
    listener: Listener = lambda _: None
    report: Report = warn
    marker: ClassVar[str] = "profiles.json"

    def run(self, problem: Problem, workspace: Workspace | None) -> ProfileResult:
        """Estimate if needed, and profile."""
        return _profile(problem, self, workspace)

    def watched(self, watch: Watch) -> ProfileRun:
        """Return the same run, which tells each point of a profile."""

        def both(state: ProfileProgress) -> None:
            watch.profiles(state)
            self.listener(state)

        return dataclasses.replace(self, observers=(watch, *self.observers), listener=both)

    def status(self, result: ProfileResult) -> str:
        """Return that of the result, in the words of an estimation."""
        return "converged" if result.status == "complete" else result.status

    def write(self, result: ProfileResult, problem: Problem, folder: Path) -> Iterable[Diagnostic]:
        """Write the profiles."""
        from fmident.report.profile_folder import PROFILES

        PROFILES.write(result, problem, folder)
        return ()


def profile(
    problem: Problem,
    result: EstimationResult | str | Path | None = None,
    *,
    parameters: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    level: float = 0.95,
    accuracy: float = 1e-3,
    stage: str | None = None,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    listener: Listener = lambda _: None,
    report: Report = warn,
    progress: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
    workspace: Workspace | None = None,
) -> ProfileResult:
    """Return the profile likelihood of parameters, and the intervals that follow from it.

    From the estimate each parameter is moved to both sides, all others fitted again at each
    value, until the cost has risen to the threshold of the confidence level.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python. Of a problem with stages one
        stage is profiled, the values of the others held.
    result
        An estimate of it, or the folder of one; estimated first when not given.
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
    host
        Plugins; loaded when not given.
    observers
        Receives the iterations where the problem is estimated first.
    listener
        Receives each point of a profile.
    report
        Takes warnings and notes; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    folder
        Where the result folder is written; a journal is kept beside it during the run.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.
    workspace
        In place of both, for a caller who writes the result: holds the journal, stays open.

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
    kind = ProfileRun(
        result, parameters, pairs, level, accuracy, stage, host, observers, listener, report
    )
    return carried_out(kind, problem, folder, progress=progress, resume=resume, workspace=workspace)


def _profile(problem: Problem, kind: ProfileRun, workspace: Workspace | None) -> ProfileResult:
    from fmident.estimation.checks import check_survives
    from fmident.estimation.noise.alternate import asks_for_noise
    from fmident.evaluation import Evaluator, runs_in_this_process
    from fmident.evaluation.journal import recording
    from fmident.profiles import compared_with, run_profiles, with_notes
    from fmident.profiles.joint_walks import check_profile, chosen_in_pairs, chosen_parameters

    report, stage, pairs, level = kind.report, kind.stage, kind.pairs, kind.level
    host = loaded(kind.host, report)
    kinds = host.executors.by_name
    parameters = kind.parameters
    if parameters is None and pairs:
        parameters = list(dict.fromkeys(name for pair in pairs for name in pair))
    part, notes = _part(problem, stage, None)
    _check_stage(problem, stage, parameters or ())
    chosen_parameters(part, parameters)  # before the estimation: that may take long
    chosen_in_pairs(part, pairs)
    check_profile(part, level, kind.accuracy)
    found = estimated(
        problem, kind.result, host, kind.observers, report, workspace, what="the profiles"
    )
    part, notes = _part(problem, stage, found)
    start = start_of(part, found)
    counted, said = _counted(problem, part, stage, found)
    notes += said
    if counted is not None:
        notes += _without_held(part, counted, pairs)
    if runs_in_this_process(part, kinds):
        check_survives(part)
    executor_of = recording(
        workspace.journal if workspace is not None else None,
        kinds,
        warn=lambda diagnostic: report([diagnostic]),
    )
    executor = executor_of(part)
    with Evaluator(part, executor) as evaluator:
        evaluator.activities.listener = activity_of(kind.observers)
        # The cost of a result with a model of the noise is that of the innovations.
        cost = float("nan") if asks_for_noise(part) else evaluator.cost(start)
        notes += _differences(problem, part, stage, found, cost)
        profiles = run_profiles(
            part,
            evaluator,
            start,
            names=parameters,
            pairs=pairs,
            level=level,
            accuracy=kind.accuracy,
            counted=counted,
            orders=None if found.noise is None else found.noise.model_orders,
            listener=kind.listener,
        )
        about = executor.report()
    settings = {
        **profiles.settings,
        "evaluation": {**as_written(part.evaluation), **about.settings()},
    }
    stored = _standard_errors(part, found)
    profiles, differing = compared_with(profiles, stored)
    profiles = dataclasses.replace(profiles, settings=settings)
    return with_notes(profiles, [*notes, *differing, *about.doubts, *about.notes])


def _part(
    problem: Problem, stage: str | None, result: EstimationResult | None
) -> tuple[Problem, list[str]]:
    """Return the problem to profile, and what to say of it.

    Raises
    ------
    fmident.errors.ProblemError
        There is no such stage.
    """
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
    """Refuse parameters that another stage searches.

    Raises
    ------
    fmident.errors.ProblemError
        There is such a parameter.
    """
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
    """Return what makes the result another than one of this problem, or no minimum of it."""
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
    """Return what a stage's intervals count of the values that it held, and what to say of it.

    They may be narrower for it, where the errors of those values make up for errors of the stage,
    as they can with common data.
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
    from fmident.profiles.thresholds import Counted  # here, since this module is imported early

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
    """Return of which regions the covariance is not known."""
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
    """Return the standard errors of a result that those of the profiles can be compared with.

    None of a robust loss or with a model of the noise, those for white noise, and of a stage those
    with the values that it held for exactly known.
    """
    modelled = result.noise is not None and result.noise.modelled
    if loss_of(result) != "linear" or result.truncation is not None or modelled:
        return {}
    found = {e.name: e.standard_error for e in result.estimates if e.searched and not e.at_bound}
    for stage in result.stages:
        if stage.uncertainty is not None:
            found |= stage.uncertainty.conditional_errors
    if result.noise is not None:
        found |= {name: error for name, error in result.noise.white_errors.items() if name in found}
    return {q.name: found[q.name] for q in problem.free if q.name in found}
