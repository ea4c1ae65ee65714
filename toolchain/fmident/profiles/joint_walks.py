"""Profiles of several parameters: the estimate, all walks in parallel, the verdicts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError, did_you_mean
from fmident.estimation.diagnostics.bounds import parameters_at_bound
from fmident.estimation.diagnostics.noise import noise_of
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.estimation.noise.alternate import check_noise, with_noise_at
from fmident.estimation.noise.prewhitened import Prewhitened
from fmident.evaluation import Evaluator
from fmident.evaluation.derivatives.steps import parameter_size
from fmident.problem.priors import Priors
from fmident.problem.search_space import SearchSpace
from fmident.profiles.descent import descend
from fmident.profiles.landscape import Landscape, State
from fmident.profiles.regions import check_pairs, pair_of, region_of
from fmident.profiles.result import ParameterProfile, ProfileEnd, ProfilePoint, ProfileResult
from fmident.profiles.thresholds import (
    Counted,
    about_thresholds,
    counted_from_noise,
    interval_factor,
    joint_threshold,
)
from fmident.profiles.verdict import judge
from fmident.profiles.walk import Place, Plan, Walk, walk_along
from fmident.statistics import ParameterStatistics
from fmident.statistics.likelihood import critical_tau, rise_of

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_TOLERANCE = 1e-14
"""Rise of the cost that the estimate may leave, in relation to that at the ends."""

_BETTER = 0.01
"""A point on a profile that is lower than the estimate by this part of the threshold is a better
estimate, from which the profiles begin anew."""

_RESTARTS = 2
_MOVED = 0.01
"""Part of the standard error by which an estimate may be off before a note says so."""

_OTHER = 0.05
"""Logarithm of the ratio of two standard errors of the same parameter that is no accident."""

_VANISHING = 10.0
"""Residuals within so many times the noise of the simulation say nothing about the data's."""


@dataclass(frozen=True)
class ProfileProgress:
    """Progress of the profiles.

    There are two `walks` per parameter, of which `ended` have ended; `points` and
    `simulations` count those so far, in `seconds` since the start.
    """

    walks: int
    ended: int
    points: int
    simulations: int
    seconds: float


Listener = Callable[[ProfileProgress], None]


def run_profiles(
    problem: Problem,
    evaluator: Evaluator,
    start: F64,
    *,
    names: Sequence[str] | None = None,
    pairs: Sequence[tuple[str, str]] = (),
    level: float = 0.95,
    accuracy: float = 1e-3,
    counted: Counted | None = None,
    orders: Mapping[str, int] | None = None,
    listener: Listener = lambda _: None,
) -> ProfileResult:
    """Compute profiles of parameters up to the confidence threshold of the cost.

    The walks of all parameters to both sides run in parallel: their next simulations form
    one batch of the executor. The results do not depend on it. After Ctrl-C the profiles so
    far are returned.

    Parameters
    ----------
    start
        Estimate of the free parameters, shape (n,); refined first if it is not a minimum.
    names, pairs
        Free parameters to profile, all by default, and pairs whose joint region is
        computed.
    level
        Probability of the intervals and regions.
    accuracy
        Accuracy of their ends relative to the distance from the estimate.
    counted
        Uncertainty that the cost does not account for, such as that of held values: tau at
        the ends is increased by its effect on a linear model. By default that of non-white
        noise.
    orders
        Orders of the noise models requested for outputs, by output, if known.
    listener
        Called with each walk at each point, and at its end.

    Raises
    ------
    fmident.errors.ProblemError
        A name is not that of a free parameter, the cost is not a likelihood, or there are
        too few samples.
    fmident.errors.EstimationError
        The simulation fails at the estimate.
    """
    began = time.monotonic()
    chosen = chosen_parameters(problem, names)
    chosen_pairs = chosen_in_pairs(problem, pairs)
    check_profile(problem, level, accuracy)
    simulations, jacobians = evaluator.simulations, evaluator.jacobians
    failures = evaluator.failures
    initial = evaluator.space.from_physical(problem.initial)
    p = np.clip(np.asarray(start, dtype=np.float64), problem.lower, problem.upper)
    notes: list[str] = []
    problem, evaluator = with_noise_at(problem, evaluator, p, orders)
    modelled = isinstance(problem.cost, Prewhitened)
    for attempt in range(_RESTARTS + 1):
        sizes = parameter_size(evaluator.space, initial, evaluator.space.from_physical(p))
        optimum = _refined(problem, evaluator, Landscape(evaluator, sizes), p, level)
        held = parameters_at_bound(problem, optimum.p)
        statistics = uncertainty(
            problem, evaluator, optimum.p, held, counts_noise=False, compare_interfaces=False
        )
        if attempt == 0:
            notes += _moved(problem, p, optimum.p, statistics)
        plan = _plan(problem, evaluator, statistics, optimum, level, accuracy)
        walks = [Walk(j, side) for j in chosen for side in (-1, 1)]
        slopes = evaluator.space.derivative(optimum.p)
        coloured = _coloured(problem, evaluator, optimum, statistics)
        about = UncertaintyAround(
            problem, evaluator, optimum.p, held, statistics, counted, coloured
        )
        more = about.counted_around(())
        regions = [
            pair_of(
                both,
                plan,
                joint_threshold(
                    both,
                    about.white_around(both),
                    about.counted_around(both),
                    slopes,
                    sizes,
                    level,
                    sigma_known=problem.sigma_known,
                ),
            )
            for both in chosen_pairs
        ]
        all_walks = [*walks, *(walk for pair in regions for walk in pair.walks)]

        def report(_: Walk, walks: Sequence[Walk] = all_walks) -> None:
            listener(
                ProfileProgress(
                    len(walks),
                    sum(w.outcome != "unfinished" for w in walks),
                    sum(len(w.places) for w in walks),
                    evaluator.simulations - simulations,
                    time.monotonic() - began,
                )
            )

        plans = {
            j: plan.times(
                interval_factor(
                    about.white_around((j,)),
                    about.counted_around((j,)),
                    j,
                    level,
                    plan.critical_tau,
                )
            )
            for j in chosen
        }
        searches = [
            partial(_search, optimum, plans[walk.index], sizes, walk, report) for walk in walks
        ]
        searches += [
            partial(pair.search, k, optimum, sizes, report)
            for pair in regions
            for k in range(len(pair.walks))
        ]
        interrupted = False
        try:
            evaluator.side_by_side(searches)
        except KeyboardInterrupt:
            interrupted = True
        lowest = _lowest(all_walks)
        better = lowest is not None and lowest.cost < optimum.cost - _BETTER * plan.threshold
        if interrupted or not better or lowest is None:
            break
        notes = [
            "A profile has led to a lower cost than that of the estimate "
            f"({lowest.cost:.6g} instead of {optimum.cost:.6g}); the profiles begin anew there."
        ]
        p = lowest.p
    if better and not interrupted:
        notes.append(
            "There are still lower costs on a profile than that of the estimate: it is not the "
            "best one. Estimate again, with several starts."
        )
    profiles = collected(problem, evaluator.space, optimum, statistics, plans, walks)
    if failed := evaluator.failures - failures:
        many = f"{failed} simulation{'' if failed == 1 else 's'}"
        notes.append(f"{many} failed on the way; last: {evaluator.last_failure}.")
    notes += not_converged(profiles)
    joint = tuple(region_of(problem, evaluator, optimum, pair) for pair in regions)
    if modelled:
        notes.append(_about_model(profiles))
    else:
        notes += about_thresholds(
            profiles, joint, coloured=coloured, counted=more is not None and more.counts_noise
        )
    return ProfileResult(
        status="interrupted" if interrupted else "complete",
        level=level,
        critical_tau=plan.critical_tau,
        threshold=plan.threshold,
        sigma_known=problem.sigma_known,
        variance=plan.variance,
        freedom=statistics.degrees_of_freedom,
        cost=optimum.cost,
        parameters=dict(zip((q.name for q in problem.free), optimum.p.tolist(), strict=True)),
        profiles=profiles,
        simulations=evaluator.simulations - simulations,
        jacobians=evaluator.jacobians - jacobians,
        seconds=time.monotonic() - began,
        notes=tuple(notes),
        settings={"accuracy": accuracy},
        regions=joint,
    )


def _about_model(profiles: Sequence[ParameterProfile]) -> str:
    """Return how the requested noise model is accounted for."""
    most = max(profiles, key=lambda p: p.factor)
    return (
        "The profiles are those of the squares of the innovations, with the model of the noise held"
        " at that of the estimate. That it is estimated makes tau at the ends larger, as it does "
        f"linearised intervals: {most.factor:.3g} times for {most.name}."
    )


def _coloured(
    problem: Problem, evaluator: Evaluator, optimum: State, statistics: ParameterStatistics
) -> bool:
    """Return whether the residuals differ from white noise of equal variance."""
    residuals = evaluator.data_residuals(optimum.p)
    return noise_of(problem, residuals, statistics.linearisation.data_jacobian) is not None


def _search(
    optimum: State,
    plan: Plan,
    sizes: F64,
    walk: Walk,
    report: Callable[[Walk], None],
    evaluator: Evaluator,
) -> None:
    def reason() -> str:
        return str(evaluator.last_failure or "the simulation fails")

    walk_along(Landscape(evaluator, sizes), optimum, plan, walk, reason, report)


def chosen_parameters(problem: Problem, names: Sequence[str] | None) -> list[int]:
    """Return the indices of the parameters to profile.

    Raises `ProblemError` if a name is not that of a free parameter or occurs twice, or if
    there is none.
    """
    known = [q.name for q in problem.free]
    if not known:
        raise ProblemError("no parameter is free: there is nothing to profile")
    wanted = known if names is None else list(names)
    for name in wanted:
        if name not in known:
            for q in (q for q in problem.parameters if q.name == name):
                why = "is fixed" if q.expression is None else f"follows from {q.expression}"
                raise ProblemError(f"'{name}' {why}: it has no profile")
            raise ProblemError(
                f"there is no free parameter '{name}'",
                hint=did_you_mean(name, known, kind="parameter"),
                code=Code.UNKNOWN_NAME,
            )
    if len(set(wanted)) < len(wanted):
        raise ProblemError("a parameter to profile is given twice")
    return [known.index(name) for name in wanted]


def chosen_in_pairs(problem: Problem, pairs: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the indices of the pairs without duplicates, in the order given.

    Raises `ProblemError` as :func:`chosen_parameters` does, or if a pair has not two
    different names.
    """
    check_pairs(pairs)
    index_pairs: dict[frozenset[int], tuple[int, int]] = {}
    for pair in pairs:
        first, second = chosen_parameters(problem, pair)
        index_pairs.setdefault(frozenset((first, second)), (first, second))
    return list(index_pairs.values())


def check_profile(problem: Problem, level: float, accuracy: float) -> None:
    """Raise `ProblemError` if the cost is not a likelihood, or level or accuracy is invalid."""
    check_noise(problem)
    location = problem.where()
    if not problem.cost.gives_intervals:
        raise ProblemError(
            f"the cost '{problem.cost.name}' is not a likelihood of independent samples, so that a "
            "confidence level cannot be turned into a rise of it",
            location=location,
            hint="profile with the time-domain cost as it is by default: --set "
            "cost.name=time-domain",
        )
    if not 0.0 < level < 1.0:
        raise ProblemError(f"a confidence level lies between 0 and 1, not {level:g}")
    if not 0.0 < accuracy < 0.5:
        raise ProblemError(f"the accuracy must lie between 0 and 0.5, not {accuracy:g}")


def _refined(
    problem: Problem, evaluator: Evaluator, landscape: Landscape, p: F64, level: float
) -> State:
    """Return the minimum of the cost near a point, with a fresh Jacobian."""
    state = landscape.at(p)
    if state is None:
        raise EstimationError(
            f"the simulation fails at the estimate: {evaluator.last_failure}",
            hint="give the result folder of an estimation of this problem with --result",
        )
    samples = state.residuals.size - Priors.of(problem).count
    freedom = samples - p.size
    variance = 1.0 if problem.sigma_known else 2.0 * state.cost / max(freedom, 1)
    tau = critical_tau(level, freedom, sigma_known=problem.sigma_known)
    if not np.isfinite(tau):
        raise ProblemError(
            f"there are {samples} samples for {p.size} parameters and nothing is "
            "known of the noise: no interval follows",
            hint="give sigma for each output, or more samples",
        )
    tolerance = _TOLERANCE * rise_of(tau, variance)
    return descend(landscape, state, None, tolerance, exact=0.0).state


def _plan(
    problem: Problem,
    evaluator: Evaluator,
    statistics: ParameterStatistics,
    optimum: State,
    level: float,
    accuracy: float,
) -> Plan:
    known, freedom = problem.sigma_known, statistics.degrees_of_freedom
    noise = evaluator.noise(optimum.p)
    variance = 1.0 if known else 2.0 * optimum.cost / max(freedom, 1)
    if not known and variance <= (_VANISHING * noise) ** 2:
        raise ProblemError(
            "the residuals vanish, and nothing else is known of the noise of the data: a"
            " confidence level cannot be turned into a rise of the cost",
            hint="give sigma for each output, such as the accuracy of the sensor",
        )
    tau = critical_tau(level, freedom, sigma_known=known)
    return Plan(tau, variance, evaluator.space.log, accuracy)


def _moved(problem: Problem, before: F64, after: F64, statistics: ParameterStatistics) -> list[str]:
    """Return a note if the estimate was not at the minimum."""
    with np.errstate(invalid="ignore"):
        off = np.abs(after - before) > _MOVED * statistics.standard_errors
    names = [q.name for q, o in zip(problem.free, off, strict=True) if o]
    if not names:
        return []
    return [
        "The estimate was not at the least cost of this problem; the profiles are those of the "
        f"minimum next to it ({', '.join(f'{n} moved' for n in names)})."
    ]


def _lowest(walks: Sequence[Walk]) -> State | None:
    states = [place.state for walk in walks for place in walk.places]
    return min(states, key=lambda s: s.cost, default=None)


def with_notes(result: ProfileResult, notes: Sequence[str]) -> ProfileResult:
    """Return the result with further notes before the existing ones."""
    return dataclasses.replace(result, notes=(*notes, *result.notes))


def compared_with(
    result: ProfileResult, errors: Mapping[str, float]
) -> tuple[ProfileResult, list[str]]:
    """Compare profiles with the standard errors of the estimation; return notes, too.

    The linearised intervals of `result` were recomputed. A profile that agrees with the
    recomputed interval, but not with that of the estimation, is marked as different.
    `errors` are by parameter, NaN if the estimation did not give one.
    """
    notes, profiles = [], []
    for profile in result.profiles:
        before, now = errors.get(profile.name, np.nan), profile.standard_error
        ratio = now / before if before > 0.0 else np.nan
        if np.isfinite(ratio) and abs(np.log(ratio)) > _OTHER:
            notes.append(
                f"The standard error of '{profile.name}' is {before:.3g} in the result, but "
                f"{now:.3g} by derivatives that were verified now: the interval of the result "
                "does not hold. Estimate again."
            )
            if profile.verdict.kind == "agrees":
                half, value = profile.factor * result.critical_tau * before, profile.value
                verdict = judge(
                    value,
                    profile.lower,
                    profile.upper,
                    (value - half, value + half),
                    profile.factor * result.critical_tau,
                    "interval of the result",
                )
                profile = dataclasses.replace(profile, verdict=verdict)
        profiles.append(profile)
    return dataclasses.replace(result, profiles=tuple(profiles)), notes


@dataclass(frozen=True, eq=False)
class UncertaintyAround:
    """Parameter uncertainty at the estimate; a profiled parameter may leave its bound."""

    problem: Problem
    evaluator: Evaluator
    p: F64
    held: npt.NDArray[np.bool_]
    white: ParameterStatistics
    counted: Counted | None
    coloured: bool
    _known: dict[bytes, Counted] = field(default_factory=dict)

    def white_around(self, profiled: Sequence[int]) -> ParameterStatistics:
        """Return the statistics for white noise."""
        released = self._released(profiled)
        if released is None:
            return self.white
        return uncertainty(
            self.problem, self.evaluator, self.p, released, counts_noise=False,
            compare_interfaces=False,
        )  # fmt: skip

    def counted_around(self, profiled: Sequence[int]) -> Counted | None:
        """Return the additional uncertainty; ``None`` if there is none."""
        if self.counted is not None or not self.coloured:
            return self.counted
        released = self._released(profiled)
        held = self.held if released is None else released
        key = held.tobytes()
        if key not in self._known:
            noisy = uncertainty(
                self.problem, self.evaluator, self.p, held, compare_interfaces=False
            )
            self._known[key] = counted_from_noise(noisy)
        return self._known[key]

    def _released(self, profiled: Sequence[int]) -> npt.NDArray[np.bool_] | None:
        """Return the mask of held parameters; ``None`` if no profiled one was held."""
        if not self.held[list(profiled)].any():
            return None
        mask = self.held.copy()
        mask[list(profiled)] = False
        return mask


def collected(
    problem: Problem,
    space: SearchSpace,
    optimum: State,
    statistics: ParameterStatistics,
    plans: Mapping[int, Plan],
    walks: Sequence[Walk],
) -> tuple[ParameterProfile, ...]:
    """Return the profiles from their walks, two per parameter to smaller and larger values.

    The walks start at `optimum`, where `statistics` are computed; `plans` has the threshold
    of each parameter by index.
    """
    profiles = []
    for down, up in zip(walks[::2], walks[1::2], strict=True):
        j = down.index
        plan = plans[j]
        q = problem.free[j]
        value, error = float(optimum.p[j]), float(statistics.standard_errors[j])
        linearised = _linearised(value, error, statistics.intervals[j], plan.critical_tau)
        ends = [_end(walk, space, optimum, plan, (q.lower, q.upper)) for walk in (down, up)]
        profiles.append(
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
    return tuple(profiles)


def not_converged(profiles: Sequence[ParameterProfile]) -> list[str]:
    """Note points at which the other parameters may not be optimal."""
    notes = []
    for profile in profiles:
        count = sum(not q.converged for q in profile.points)
        if count:
            notes.append(
                f"{count} of {len(profile.points)} points of the profile of '{profile.name}' may "
                "not be at the least cost: it is an upper limit there, and the interval may be "
                "wider."
            )
    return notes


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
