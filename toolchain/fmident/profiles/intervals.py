"""Intervals of an estimate by profiles, where the model is too curved for linear ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.estimation.diagnostics.noise import asks_for_noise
from fmident.estimation.result import CURVED, EstimationResult, ParameterEstimate
from fmident.evaluation import Evaluator
from fmident.findings import Finding, finding
from fmident.problem.constraints import simplified
from fmident.problem.model import Problem
from fmident.profiles.joint_walks import run_profiles
from fmident.profiles.result import ParameterProfile, ProfilePoint, ProfileResult
from fmident.words import counted, listed, quoted

_BETTER = 0.01
"""Part of the rise of the cost at the end of an interval by which a lower cost is another one."""

_POINTS = 60
"""Simulations of each experiment that the profile of a parameter takes as a rule."""

_REPLACED = ("interval-curved", "away-from-minimum")
"""Findings that rest on the linear model."""


def with_profile_intervals(
    problem: Problem, evaluator: Evaluator, result: EstimationResult
) -> tuple[EstimationResult, F64 | None]:
    """Return the result with intervals of the profile likelihood for its curved parameters.

    Nothing is simulated where no parameter is curved, or the estimate has not converged. An end
    that a profile does not reach is the bound, or infinite. Where a profile leads to a lower cost,
    the intervals are linear, and the second result are the parameters there, shape (n,). After
    Ctrl-C they are linear, and the status is ``"interrupted"``.
    """
    names = [e.name for e in result.estimates if e.curved]
    # At a singular point it is the linear model that sees a way to go.
    ended = result.status == "converged" or result.ended_by == "stuck"
    if not names or not ended or any(c.violated for c in result.constraints):
        return result, None
    part = simplified(problem)
    free = [q.name for q in part.free]
    if part.constraints or not set(names) <= set(free):
        return _without(result, "profiles do not keep the constraints"), None
    start = np.array([result.values[name] for name in free])
    orders = None if result.noise is None else result.noise.model_orders
    own = evaluator if part is problem else evaluator.for_problem(part)
    try:
        with own.activities.during(f"computing profiles of {listed(names)}", _POINTS * len(names)):
            profiles = run_profiles(part, own, start, names=names, orders=orders, restarts=0)
    except FmidentError as error:
        return _without(result, error.message), None
    except KeyboardInterrupt:
        return _counted(_interrupted(result), evaluator), None
    if profiles.status == "interrupted":
        return _counted(_interrupted(result), evaluator), None
    points = [point for profile in profiles.profiles for point in profile.points]
    if not points:
        return _counted(_without(result, "none of their points can be simulated"), evaluator), None
    lowest = min(points, key=lambda point: point.cost)
    # With a model of the noise the cost is that of the innovations, and of another model.
    cost = profiles.cost if asks_for_noise(problem) else result.cost_final
    if cost - lowest.cost > _BETTER * profiles.threshold:
        place = lowest.parameters if len(free) == len(problem.free) else None
        return _counted(_not_least(result, free, lowest), evaluator), place
    effort = evaluator.simulations - result.simulations
    return _joined(_counted(result, evaluator), profiles, effort), None


def _counted(result: EstimationResult, evaluator: Evaluator) -> EstimationResult:
    return dataclasses.replace(
        result, simulations=evaluator.simulations, jacobians=evaluator.jacobians
    )


def _without(result: EstimationResult, reason: str) -> EstimationResult:
    text = f"There are no profiles in place of the linear intervals: {reason.rstrip('.')}"
    return result.with_findings([finding("interval-curved", text)])


def _interrupted(result: EstimationResult) -> EstimationResult:
    message = f"interrupted while profiles were computed; before: {result.message}"
    return dataclasses.replace(result, status="interrupted", message=message)


def _not_least(
    result: EstimationResult, names: Sequence[str], lowest: ProfilePoint
) -> EstimationResult:
    """Return the result of a search that has ended at a minimum which is not the least one."""
    place = [f"{n} = {x:.6g}" for n, x in zip(names, lowest.parameters.tolist(), strict=True)]
    text = (
        f"A profile leads to a lower cost than that of the estimate: {lowest.cost:.6g} in place of"
        f" {result.cost_final:.6g}, at {', '.join(place)}. The intervals are linear, and do not"
        " hold"
    )
    message = f"{result.message}; but a profile leads to a lower cost"
    ended = dataclasses.replace(result, status="limit", ended_by="stuck", message=message)
    hint = "Start there, or give several starts."
    return ended.with_findings([finding("lower-cost-elsewhere", text, hint)])


def _joined(result: EstimationResult, profiles: ProfileResult, effort: int) -> EstimationResult:
    """Return the result with the intervals of profiles, which took `effort` simulations."""
    by_name = {profile.name: profile for profile in profiles.profiles}
    estimates = tuple(
        _by_profile(e, by_name[e.name]) if e.name in by_name else e for e in result.estimates
    )
    findings = [f for f in result.findings if f.code not in _REPLACED]
    findings += [_about(result, profiles.profiles, effort)]
    findings += [f for f in profiles.findings if f.code == "profile-not-minimal"]
    message = result.message
    if result.status != "converged":
        message = f"{message}; but the profiles lead to no lower cost"
    joined = dataclasses.replace(
        result, status="converged", ended_by=None, message=message, estimates=estimates, findings=()
    )
    return joined.with_findings(findings)


def _by_profile(e: ParameterEstimate, profile: ParameterProfile) -> ParameterEstimate:
    low, high = profile.interval
    low = e.lower if math.isnan(low) else max(low, e.lower)
    high = e.upper if math.isnan(high) else min(high, e.upper)
    return dataclasses.replace(e, interval_95=(low, high), interval_kind="profile")


def _about(result: EstimationResult, profiles: Sequence[ParameterProfile], effort: int) -> Finding:
    """Return which intervals are those of profiles, and what the linear ones would be."""
    known = {e.name: e for e in result.estimates}
    each = []
    for profile in profiles:
        e = known[profile.name]
        low, high = e.interval_95
        each.append(f"'{e.name}' ({e.curvature:.2g}; it would be [{low:.4g}, {high:.4g}])")
    text = (
        f"The model is too curved for the linear interval of {listed(each)}: in brackets its"
        f" relative curvature at the end, at most {CURVED:g} where it holds. The profile likelihood"
        " gives the interval"
    )
    ends = [(p.name, end) for p in profiles for end in (p.lower, p.upper)]
    open_ones = list(dict.fromkeys(name for name, end in ends if end.is_open))
    if open_ones:
        text += f". The data do not limit {quoted(open_ones)} within the bounds on one side or both"
    failed = [f"{name} {end.reason}" for name, end in ends if math.isnan(end.value)]
    if failed:
        text += f". No end was found for {listed(failed)}: the interval reaches to the bound there"
    hint = f"{counted(effort, 'simulation')} went into this; '--linear-intervals' takes none."
    return finding("interval-by-profile", text, hint)
