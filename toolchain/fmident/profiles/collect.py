"""From walks to profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.problem.search_space import SearchSpace
from fmident.profiles.landscape import State
from fmident.profiles.result import ParameterProfile, ProfileEnd, ProfilePoint
from fmident.profiles.verdict import judge
from fmident.profiles.walk import Place, Plan, Walk
from fmident.statistics import ParameterStatistics
from fmident.statistics.likelihood import rise_of

if TYPE_CHECKING:
    from fmident.problem.model import Problem


def collected(
    problem: Problem,
    space: SearchSpace,
    optimum: State,
    statistics: ParameterStatistics,
    plans: Mapping[int, Plan],
    walks: Sequence[Walk],
) -> tuple[ParameterProfile, ...]:
    """Return the profiles from their walks.

    Parameters
    ----------
    problem, space
        Of the walks.
    optimum
        Where they began.
    statistics
        There.
    plans
        Threshold of each parameter, by its index.
    walks
        Two per parameter, to smaller and to larger values.
    """
    found = []
    for down, up in zip(walks[::2], walks[1::2], strict=True):
        j = down.index
        plan = plans[j]
        q = problem.free[j]
        value, error = float(optimum.p[j]), float(statistics.standard_errors[j])
        linearised = _linearised(value, error, statistics.intervals[j], plan.critical_tau)
        ends = [_end(walk, space, optimum, plan, (q.lower, q.upper)) for walk in (down, up)]
        found.append(
            ParameterProfile(
                name=q.name,
                unit=q.unit,
                log=q.scaling == "log",
                value=value,
                bounds=(q.lower, q.upper),
                standard_error=error,
                linearised=linearised,
                points=_points(space, optimum, plan, (down, up)),
                lower=ends[0],
                upper=ends[1],
                verdict=judge(value, ends[0], ends[1], linearised, plan.critical_tau),
                factor=plan.factor,
            )
        )
    return tuple(found)


def not_converged(profiles: Sequence[ParameterProfile]) -> list[str]:
    """Report points where the other parameters may not be at their best."""
    found = []
    for profile in profiles:
        count = sum(not q.converged for q in profile.points)
        if count:
            found.append(
                f"{count} of {len(profile.points)} points of the profile of '{profile.name}' may "
                "not be at the least cost: it is an upper limit there, and the interval may be "
                "wider."
            )
    return found


def _linearised(value: float, error: float, judged: F64, tau: float) -> tuple[float, float]:
    if bool(np.isinf(judged).any()) or bool(np.isnan(judged).any()):
        return float(judged[0]), float(judged[1])
    return value - tau * error, value + tau * error


def _points(
    space: SearchSpace, optimum: State, plan: Plan, walks: Sequence[Walk]
) -> tuple[ProfilePoint, ...]:
    j = walks[0].index
    signed: list[tuple[float, Place]] = [(0.0, Place(optimum, 0.0, float("nan"), True))]
    signed += [(walk.side * place.tau, place) for walk in walks for place in walk.places]
    # Of several descents at one value the lowest is the profile.
    best: dict[float, tuple[float, Place]] = {}
    for tau, place in signed:
        z = float(place.state.z[j])
        if z not in best or place.tau < best[z][1].tau:
            best[z] = (tau, place)
    points = []
    for z in sorted(best):
        tau, place = best[z]
        scale = float(space.derivative(place.state.p)[j])
        points.append(
            ProfilePoint(
                value=float(place.state.p[j]),
                parameters=place.state.p,
                cost=place.state.cost,
                tau=tau,
                slope=place.slope / scale,
                converged=place.converged,
            )
        )
    return tuple(points)


def _end(
    walk: Walk, space: SearchSpace, optimum: State, plan: Plan, bounds: tuple[float, float]
) -> ProfileEnd:
    last = walk.furthest
    j = walk.index
    reached = float(optimum.p[j] if last is None else last.state.p[j])
    tau = max((place.tau for place in walk.places), default=0.0)
    if walk.outcome == "reached":
        z = optimum.z.copy()
        z[j] = walk.end
        value = float(np.clip(space.to_physical(z)[j], *bounds))
        return ProfileEnd(walk.outcome, value, reached, tau)
    rise = rise_of(tau, plan.variance)
    of = f"the cost rises by {rise:.3g} of the {plan.threshold:.3g} that it takes"
    if walk.outcome == "bound":
        bound = bounds[0] if walk.side < 0 else bounds[1]
        reason = (
            f"the estimate lies on the bound {bound:.6g}"
            if last is None
            else f"up to the bound {bound:.6g} {of}"
        )
        if last is None:  # beyond it nothing is allowed
            return ProfileEnd(walk.outcome, bound, reached, tau, reason)
    elif walk.outcome == "reach":
        reason = f"as far as {reached:.6g} {of}"
    elif walk.outcome == "failure":
        reason = f"beyond {reached:.6g} ({of}): {walk.detail}"
    elif walk.outcome == "limit":
        reason = f"given up after {len(walk.places)} points at {reached:.6g} ({of})"
    else:
        reason = f"interrupted at {reached:.6g} ({of})"
    open_end = walk.side * float("inf") if walk.outcome in ("bound", "reach") else float("nan")
    return ProfileEnd(walk.outcome, open_end, reached, tau, reason)
