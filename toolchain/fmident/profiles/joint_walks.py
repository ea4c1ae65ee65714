"""Profiles of several parameters: the estimate, all walks in parallel, the verdicts."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from fmident.arrays import F64
from fmident.errors import ProblemError, unknown_name
from fmident.estimation.checks import fails_at_the_estimate
from fmident.estimation.diagnostics.noise import Prewhitened, check_noise, noise_of, with_noise_at
from fmident.estimation.diagnostics.notes import moved_notes
from fmident.estimation.diagnostics.uncertainty import uncertainty
from fmident.evaluation import Evaluator
from fmident.evaluation.derivatives.differences import parameter_size
from fmident.findings import Finding, finding, in_order
from fmident.problem.model import Problem, SearchSpace
from fmident.problem.priors import Priors
from fmident.profiles.regions import Pair, region_of
from fmident.profiles.result import (
    JointRegion,
    Outcome,
    ParameterProfile,
    ProfileEnd,
    ProfilePoint,
    ProfileResult,
    ProfileVerdict,
)
from fmident.profiles.thresholds import (
    Counted,
    JointThreshold,
    about_thresholds,
    interval_factor,
    joint_threshold,
)
from fmident.profiles.walk import Landscape, Place, Plan, State, Walk, descend, walk_along
from fmident.statistics.distributions import critical_tau, rise_of
from fmident.statistics.local_model import LocalModel
from fmident.words import counted as counted_words

_TOLERANCE = 1e-14
"""Rise of the cost that the estimate may leave, in relation to that at the ends."""

_BETTER = 0.01
"""A point on a profile that is lower than the estimate by this part of the threshold is a better
estimate, from which the profiles begin anew."""

_RESTARTS = 2

_OTHER = 0.05
"""Logarithm of the ratio of two standard errors of the same parameter that is no accident."""

_VANISHING = 10.0
"""Size of residuals, over the noise of the simulation, below which they do not show the data's."""


_AGREES = 0.1
"""Ends closer together than this part of the half width agree."""

_FLAT = 0.05
"""Greatest tau, in critical ones, of a profile that counts as flat: the cost rises by less than
0.3 % of what it takes."""


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
    restarts: int = _RESTARTS,
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
    restarts
        How often the profiles begin anew where one leads to a lower cost.
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
    p = np.clip(np.asarray(start, dtype=np.float64), problem.lower, problem.upper)
    problem, evaluator = with_noise_at(problem, evaluator, p, orders)

    def report(walks: _Walks) -> None:
        seconds = time.monotonic() - began
        listener(walks.progress(evaluator.simulations - simulations, seconds))

    notes: list[Finding] = []
    for left in reversed(range(restarts + 1)):
        optimum = _optimum(problem, evaluator, p, level, counted)
        if not notes:
            errors = optimum.white.standard_errors
            notes = moved_notes(problem, p, optimum.state.p, errors, "profiles")
        walks = _Walks.of(optimum, chosen, chosen_pairs, level, accuracy)
        interrupted, lowest = not walks.run(report), walks.lowest
        if interrupted or lowest.cost >= optimum.state.cost - _BETTER * walks.plan.threshold:
            break
        if left:
            notes, p = [_begun_anew(lowest, optimum.state)], lowest.p
        else:
            notes.append(_NOT_THE_BEST)
    profiles = walks.profiles()
    regions = tuple(region_of(problem, evaluator, optimum.state, pair) for pair in walks.pairs)
    if failed := evaluator.failures - failures:
        text = f"{counted_words(failed, 'simulation')} failed on the way; last: "
        notes.append(finding("simulations-failed", f"{text}{evaluator.last_failure}."))
    notes += not_converged(profiles)
    notes += _about_noise(optimum, profiles, regions)
    plan = walks.plan
    return ProfileResult(
        status="interrupted" if interrupted else "complete",
        level=level,
        critical_tau=plan.critical_tau,
        threshold=plan.threshold,
        sigma_known=problem.sigma_known,
        variance=plan.variance,
        freedom=optimum.white.degrees_of_freedom,
        cost=optimum.state.cost,
        values=dict(zip((q.name for q in problem.free), optimum.state.p.tolist(), strict=True)),
        profiles=profiles,
        simulations=evaluator.simulations - simulations,
        jacobians=evaluator.jacobians - jacobians,
        seconds=time.monotonic() - began,
        findings=in_order(notes),
        settings={"accuracy": accuracy},
        regions=regions,
    )


def _begun_anew(lowest: State, estimate: State) -> Finding:
    return finding(
        "lower-cost-elsewhere",
        f"A profile has led to a lower cost than that of the estimate ({lowest.cost:.6g} "
        f"instead of {estimate.cost:.6g}); the profiles begin anew there.",
    )


_NOT_THE_BEST = finding(
    "lower-cost-elsewhere",
    "There are still lower costs on a profile than that of the estimate: it is not the best one. "
    "Estimate again, with several starts.",
)


def _about_noise(
    optimum: Optimum, profiles: Sequence[ParameterProfile], regions: Sequence[JointRegion]
) -> list[Finding]:
    """Return how noise is accounted for that is not white noise of one size."""
    if not isinstance(optimum.problem.cost, Prewhitened):
        return about_thresholds(
            profiles, regions, coloured=optimum.coloured, counted=optimum.counts_noise
        )
    most = max(profiles, key=lambda p: p.factor)
    text = (
        "The profiles are those of the squares of the innovations, with the model of the noise held"
        " at that of the estimate. That it is estimated makes tau at the ends larger, as it does "
        f"linearised intervals: {most.factor:.3g} times for {most.name}."
    )
    return [finding("noise-model", text)]


@dataclass(frozen=True, eq=False)
class _Walks:
    """All walks from an estimate: `alone` has two for each parameter, `plans` their thresholds."""

    optimum: Optimum
    plan: Plan
    plans: Mapping[int, Plan]
    alone: tuple[Walk, ...]
    pairs: tuple[Pair, ...]

    @classmethod
    def of(
        cls,
        optimum: Optimum,
        chosen: Sequence[int],
        pairs: Sequence[tuple[int, int]],
        level: float,
        accuracy: float,
    ) -> _Walks:
        plan = _plan(optimum, level, accuracy)
        return cls(
            optimum,
            plan,
            {j: plan.times(optimum.factor(j, plan, level)) for j in chosen},
            tuple(Walk(j, side) for j in chosen for side in (-1, 1)),
            tuple(Pair(both, optimum.edge(both, level), plan) for both in pairs),
        )

    @property
    def together(self) -> list[Walk]:
        return [*self.alone, *(walk for pair in self.pairs for walk in pair.walks)]

    @property
    def lowest(self) -> State:
        states = [place.state for walk in self.together for place in walk.places]
        return min(states, key=lambda state: state.cost, default=self.optimum.state)

    def progress(self, simulations: int, seconds: float) -> ProfileProgress:
        walks = self.together
        ended = sum(walk.outcome != "unfinished" for walk in walks)
        points = sum(len(walk.places) for walk in walks)
        return ProfileProgress(len(walks), ended, points, simulations, seconds)

    def run(self, listener: Callable[[_Walks], None]) -> bool:
        """Walk; return whether it was not interrupted. Each point and each end is reported."""
        state, sizes = self.optimum.state, self.optimum.sizes

        def report(_: Walk) -> None:
            listener(self)

        def search(walk: Walk, evaluator: Evaluator) -> None:
            landscape = Landscape(evaluator, sizes)
            walk_along(landscape, state, self.plans[walk.index], walk, report)

        searches: list[Callable[[Evaluator], None]] = [partial(search, walk) for walk in self.alone]
        for pair in self.pairs:
            numbers = range(len(pair.walks))
            searches += [partial(pair.search, k, state, sizes, report) for k in numbers]
        try:
            self.optimum.evaluator.side_by_side(searches)
        except KeyboardInterrupt:
            return False
        return True

    def profiles(self) -> tuple[ParameterProfile, ...]:
        optimum, white = self.optimum.state, self.optimum.white
        space, free = self.optimum.evaluator.space, self.optimum.problem.free
        profiles = []
        for walks in zip(self.alone[::2], self.alone[1::2], strict=True):
            j = walks[0].index
            q, plan, value = free[j], self.plans[j], float(optimum.p[j])
            low, high = white.intervals_of(threshold=plan.critical_tau)[j].tolist()
            lower, upper = (_end(w, space, optimum, plan, (q.lower, q.upper)) for w in walks)
            profiles.append(
                ParameterProfile(
                    name=q.name,
                    unit=q.unit,
                    log=q.scaling == "log",
                    value=value,
                    bounds=(q.lower, q.upper),
                    standard_error=float(white.standard_errors[j]),
                    linearised=(low, high),
                    points=_points(space, optimum, walks),
                    lower=lower,
                    upper=upper,
                    verdict=judge(value, lower, upper, (low, high), plan.critical_tau),
                    factor=plan.factor,
                )
            )
        return tuple(profiles)


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
                f"there is no free parameter '{name}'", **unknown_name(name, known, "parameter")
            )
    if len(set(wanted)) < len(wanted):
        raise ProblemError("a parameter to profile is given twice")
    return [known.index(name) for name in wanted]


def chosen_in_pairs(problem: Problem, pairs: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Return the indices of the pairs without duplicates, in the order given.

    Raises `ProblemError` as :func:`chosen_parameters` does, or if a pair has not two
    different names.
    """
    index_pairs: dict[frozenset[int], tuple[int, int]] = {}
    for pair in pairs:
        if len(pair) != 2 or pair[0] == pair[1]:
            raise ProblemError(
                f"a pair of parameters has two different names, not {', '.join(pair)}",
                hint="such as --pairs k d",
            )
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


def _optimum(
    problem: Problem, evaluator: Evaluator, p: F64, level: float, counted: Counted | None
) -> Optimum:
    """Return the minimum of the cost near a point, with a fresh Jacobian."""
    z, initial = evaluator.space.from_physical(p), evaluator.space.from_physical(problem.initial)
    sizes = parameter_size(evaluator.space, initial, z)
    landscape = Landscape(evaluator, sizes)
    state = landscape.at(p)
    if state is None:
        raise fails_at_the_estimate(evaluator)
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
    state = descend(landscape, state, None, tolerance, exact=0.0).state
    white = uncertainty(
        problem, evaluator, state.p, counts_noise=False, compare_interfaces=False
    ).local
    return Optimum(problem, evaluator, state, sizes, white, counted)


def _plan(optimum: Optimum, level: float, accuracy: float) -> Plan:
    evaluator, known = optimum.evaluator, optimum.problem.sigma_known
    freedom = optimum.white.degrees_of_freedom
    noise = evaluator.noise(optimum.state.p)
    variance = 1.0 if known else 2.0 * optimum.state.cost / max(freedom, 1)
    if not known and variance <= (_VANISHING * noise) ** 2:
        raise ProblemError(
            "the residuals vanish, and nothing else is known of the noise of the data: a"
            " confidence level cannot be turned into a rise of the cost",
            hint="give sigma for each output, such as the accuracy of the sensor",
        )
    tau = critical_tau(level, freedom, sigma_known=known)
    return Plan(tau, variance, evaluator.space.log, accuracy)


def compared_with(
    result: ProfileResult, errors: Mapping[str, float]
) -> tuple[ProfileResult, list[Finding]]:
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
                finding(
                    "errors-outdated",
                    f"The standard error of '{profile.name}' is {before:.3g} in the result, but "
                    f"{now:.3g} by derivatives that were verified now: the interval of the result "
                    "does not hold. Estimate again.",
                )
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
class Optimum:
    """The estimate, from which all walks begin, and its uncertainty.

    `sizes` are the parameter scales in the search space, shape (n,), `white` are the statistics for
    white noise, and `given` is what else is to be counted.
    """

    problem: Problem
    evaluator: Evaluator
    state: State
    sizes: F64
    white: LocalModel
    given: Counted | None

    @cached_property
    def coloured(self) -> bool:
        """Whether the residuals differ from white noise of equal variance."""
        residuals = self.evaluator.data_residuals(self.state.p)
        jacobian = self.white.data_jacobian
        return noise_of(self.problem, residuals, jacobian) is not None

    def white_around(self, profiled: Sequence[int]) -> LocalModel:
        """Return the local model for white noise, with no bound that holds these parameters."""
        return self.white.releasing(profiled)

    @cached_property
    def noisy(self) -> LocalModel:
        """The local model with the noise as the residuals show it."""
        return uncertainty(
            self.problem, self.evaluator, self.state.p, compare_interfaces=False
        ).local

    def counted_around(self, profiled: Sequence[int]) -> Counted | None:
        """Return the additional uncertainty; ``None`` if there is none."""
        if self.given is not None or not self.coloured:
            return self.given
        # Noise that is not white may leave other bounds to hold the estimate; the factor is that of
        # the same model.
        noisy = replace(self.noisy, holding=self.white.holds).releasing(profiled)
        # Near a wrong minimum, the misfit may look like noise that narrows the intervals.
        return Counted(
            noisy.covariance, noisy.parameter_freedoms, noisy, least=1.0, counts_noise=True
        )

    @property
    def counts_noise(self) -> bool:
        """Whether what is counted includes noise other than white noise."""
        counted = self.counted_around(())
        return counted is not None and counted.counts_noise

    def factor(self, index: int, plan: Plan, level: float) -> float:
        """Return the factor on tau at the ends of the interval of a parameter."""
        white, counted = self.white_around((index,)), self.counted_around((index,))
        return interval_factor(white, counted, index, level, plan.critical_tau)

    def edge(self, pair: tuple[int, int], level: float) -> JointThreshold:
        """Return the edge of the region of two parameters."""
        return joint_threshold(
            pair,
            self.white_around(pair),
            self.counted_around(pair),
            self.evaluator.space.derivative(self.state.p),
            self.sizes,
            level,
            sigma_known=self.problem.sigma_known,
        )


def not_converged(profiles: Sequence[ParameterProfile]) -> Iterator[Finding]:
    """Note points at which the other parameters may not be optimal."""
    for profile in profiles:
        count = sum(not q.converged for q in profile.points)
        if count:
            yield finding(
                "profile-not-minimal",
                f"{count} of {len(profile.points)} points of the profile of '{profile.name}' "
                "may not be at the least cost: it is an upper limit there, and the interval "
                "may be wider.",
            )


def _points(space: SearchSpace, optimum: State, walks: Sequence[Walk]) -> tuple[ProfilePoint, ...]:
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
    bound = bounds[0] if walk.side < 0 else bounds[1]
    if walk.outcome == "bound" and last is None:  # beyond it nothing is allowed
        reason = f"the estimate lies on the bound {bound:.6g}"
        return ProfileEnd(walk.outcome, bound, reached, tau, reason)
    reasons: dict[Outcome, str] = {
        "bound": f"up to the bound {bound:.6g} {of}",
        "reach": f"as far as {reached:.6g} {of}",
        "failure": f"beyond {reached:.6g} ({of}): {walk.detail}",
        "limit": f"given up after {len(walk.places)} points at {reached:.6g} ({of})",
        "unfinished": f"interrupted at {reached:.6g} ({of})",
    }
    open_end = walk.side * float("inf") if walk.outcome in ("bound", "reach") else float("nan")
    return ProfileEnd(walk.outcome, open_end, reached, tau, reasons[walk.outcome])


def judge(
    value: float,
    lower: ProfileEnd,
    upper: ProfileEnd,
    linearised: tuple[float, float],
    critical_tau: float,
    what: str = "linearised interval",
) -> ProfileVerdict:
    """Return the verdict on the linearised interval of one parameter.

    `lower` and `upper` are the ends from the profile, `linearised` is the interval of the
    same level, called `what`, and `critical_tau` is tau at the ends.
    """
    ends = {"below": lower, "above": upper}
    outcomes = [end.outcome for end in ends.values()]
    flat = {side: end.tau < _FLAT * critical_tau for side, end in ends.items()}
    if "unfinished" in outcomes:
        return ProfileVerdict("unfinished", "interrupted")
    if lower.is_open and upper.is_open:
        how = "flat, other parameters make up for it" if all(flat.values()) else ""
        text = f"not identifiable: {how or 'open on both sides'}"
        return ProfileVerdict("not-identifiable", text)
    for side, end in ends.items():
        if end.is_open:
            flat_text, text = "flat", "the cost does not rise enough"
            if end.outcome == "bound":
                flat_text, text = "flat up to the bound", "the bound comes first"
            return ProfileVerdict("open", f"open {side}: {flat_text if flat[side] else text}")
    if "bound" in outcomes and "reached" in outcomes:
        return ProfileVerdict("one-sided", "one-sided: the estimate lies on its bound")
    for side, end in ends.items():
        if end.outcome != "reached":
            failed = end.outcome == "failure"
            why = "simulations fail first" if failed else "the walk was given up"
            return ProfileVerdict("fails", f"no end {side}: {why}")
    return _compare(value, lower.value, upper.value, linearised, what)


def _compare(
    value: float, low: float, high: float, linearised: tuple[float, float], what: str
) -> ProfileVerdict:
    left, right = value - low, high - value
    half = 0.5 * (linearised[1] - linearised[0])
    if not math.isfinite(half) or half <= 0.0:
        return ProfileVerdict(
            "differs", "has ends by its profile only: bounds or curvature limit it"
        )
    if max(abs(left - half), abs(right - half)) <= _AGREES * half:
        return ProfileVerdict("agrees", "agrees")
    if max(left, right) > (1.0 + _AGREES) * min(left, right):
        longer, shorter, side = (right, left, "up") if right > left else (left, right, "down")
        other = "down" if side == "up" else "up"
        return ProfileVerdict(
            "asymmetric",
            f"not symmetric: {_times(longer / shorter)} as far {side} as {other}",
        )
    ratio = (left + right) / (2.0 * half)
    return ProfileVerdict("differs", f"{_times(ratio)} as wide as the {what}")


def _times(ratio: float) -> str:
    return f"{ratio:.3g} times" if ratio < 100.0 else f"{ratio:.0f} times"
