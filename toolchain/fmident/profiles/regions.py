"""Joint region of two parameters: rays from the estimate, walked like profiles.

On each ray both parameters are held at their values and all others are refitted, until
the cost has risen to the threshold for two parameters. In the linearised model the ends
of all rays form an ellipse; the directions are evenly spaced after mapping it to a
circle.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import Evaluator
from fmident.problem.model import Problem
from fmident.profiles.result import JointRegion, ProfileVerdict, RegionEnd
from fmident.profiles.thresholds import JointThreshold
from fmident.profiles.walk import Plan, RayLandscape, State, Walk, walk_along

RAYS = 32
_EDGE = 129
_AGREES = 0.1
"""Ends within this part of the distance of the linearised ones agree."""


@dataclass(frozen=True)
class Pair:
    """Two parameters, and the rays along which they move.

    `threshold` is the edge of the region, `plan` that of each walk except for its
    threshold, and `walks` has one per ray, by increasing angle.
    """

    indices: tuple[int, int]
    threshold: JointThreshold
    plan: Plan
    walks: tuple[Walk, ...] = field(default_factory=lambda: tuple(Walk(0, 1) for _ in range(RAYS)))

    @property
    def is_linearised(self) -> bool:
        """Whether the linearised region is bounded."""
        return self.threshold.metric is not None

    @property
    def angles(self) -> F64:
        """Return the angles of the rays, shape (k,)."""
        return np.linspace(0.0, 2.0 * np.pi, len(self.walks), endpoint=False)

    def direction(self, number: int) -> F64:
        """Return the direction of a ray in the search space, shape (2,)."""
        return self.threshold.direction(self.angles[number])

    def search(
        self,
        number: int,
        optimum: State,
        sizes: F64,
        report: Callable[[Walk], None],
        evaluator: Evaluator,
    ) -> None:
        """Walk along a ray."""
        there = RayLandscape(evaluator, sizes, optimum, self.indices, self.direction(number))
        tau = self.threshold.tau(self.angles[number])
        plan = dataclasses.replace(self.plan, critical_tau=tau, log=there.log)
        walk_along(there, there.begin, plan, self.walks[number], report)


def region_of(problem: Problem, evaluator: Evaluator, optimum: State, pair: Pair) -> JointRegion:
    """Return the region from its walks."""
    i, j = pair.indices
    ends = tuple(
        _end(pair, number, walk, evaluator, optimum) for number, walk in enumerate(pair.walks)
    )
    first, second = problem.free[i], problem.free[j]
    factors = [pair.threshold.tau(a) / pair.threshold.critical_tau for a in pair.angles]
    return JointRegion(
        names=(first.name, second.name),
        units=(first.unit, second.unit),
        log=(first.scaling == "log", second.scaling == "log"),
        estimate=(float(optimum.p[i]), float(optimum.p[j])),
        critical_tau=pair.threshold.critical_tau,
        ends=ends,
        linearised=_ellipse(pair, evaluator, optimum),
        verdict=_judge(ends, pair, (first.name, second.name)),
        factors=(min(factors), max(factors)),
    )


def _end(pair: Pair, number: int, walk: Walk, evaluator: Evaluator, optimum: State) -> RegionEnd:
    last = walk.furthest
    reached = 0.0 if last is None else float(last.state.z[0])
    distance = walk.end if walk.outcome == "reached" else reached
    values = _physical(pair, evaluator, optimum, distance * pair.direction(number))
    tau = max((place.tau for place in walk.places), default=0.0)
    angle, reason = float(pair.angles[number]), ""
    if walk.outcome != "reached":
        share = f"tau is {tau:.3g} there, {pair.threshold.tau(angle):.3g} at an end"
        reason = {
            "bound": f"a bound comes first ({share})",
            "reach": f"the cost does not rise enough ({share})",
            "failure": f"{walk.detail} ({share})",
            "limit": f"given up after {len(walk.places)} points ({share})",
        }.get(walk.outcome, "interrupted")
    share_of_way = distance / pair.threshold.distance(angle)
    return RegionEnd(angle, values, share_of_way, walk.outcome, reason)


def _physical(pair: Pair, evaluator: Evaluator, optimum: State, step: F64) -> tuple[float, float]:
    z = optimum.z.copy()
    z[list(pair.indices)] += step
    problem = evaluator.problem
    p = np.clip(evaluator.space.to_physical(z), problem.lower, problem.upper)
    return float(p[pair.indices[0]]), float(p[pair.indices[1]])


def _ellipse(pair: Pair, evaluator: Evaluator, optimum: State) -> F64:
    """Return the edge of the linearised region, shape (k, 2)."""
    if not pair.is_linearised:
        return np.empty((0, 2))
    both = list(pair.indices)
    # Linearised in the parameters themselves, as intervals are.
    slopes = evaluator.space.derivative(optimum.p)[both]
    angles = np.linspace(0.0, 2.0 * np.pi, _EDGE)
    there = pair.threshold
    edge = np.array([there.distance(a) * there.direction(a) for a in angles])
    return np.asarray(optimum.p[both] + slopes * edge)


def _judge(ends: Sequence[RegionEnd], pair: Pair, names: tuple[str, str]) -> ProfileVerdict:
    if any(e.outcome == "unfinished" for e in ends):
        return ProfileVerdict("unfinished", "interrupted")
    loose = [e for e in ends if e.outcome in ("bound", "reach")]
    if loose:
        part = f"{len(loose)} of {len(ends)} directions"
        if len(loose) == len(ends):
            return ProfileVerdict("not-identifiable", "open in all directions")
        return ProfileVerdict("open", f"open in {part}, mostly {_towards(loose, pair, names)}")
    failed = [e for e in ends if e.outcome != "reached"]
    if failed:
        return ProfileVerdict("fails", f"no end in {len(failed)} of {len(ends)} directions")
    if not pair.is_linearised:
        return ProfileVerdict(
            "differs", "has an edge by its profile only: bounds or curvature limit it"
        )
    near, far = min(e.distance for e in ends), max(e.distance for e in ends)
    if max(1.0 - near, far - 1.0) <= _AGREES:
        return ProfileVerdict("agrees", "agrees with the ellipse")
    return ProfileVerdict(
        "asymmetric", f"no ellipse: {near:.2g} to {far:.2g} times as far as the linearised edge"
    )


def _towards(ends: Sequence[RegionEnd], pair: Pair, names: tuple[str, str]) -> str:
    """Return the direction in which most of the open ends lie."""
    steps = np.array([pair.threshold.direction(e.angle) for e in ends])
    scaled = steps / np.linalg.norm(pair.threshold.root, axis=1)
    # Open to both sides of a line, the mean is nothing.
    words = [
        f"{'larger' if mean > 0.0 else 'smaller'} {name}"
        for name, mean in zip(names, scaled.mean(axis=0), strict=True)
        if abs(mean) > 0.3
    ]
    return "to " + " and ".join(words) if words else "to both sides"
