"""Walk along the profile of one parameter to one side until the threshold is reached.

The next value is chosen so that tau increases by a fixed fraction of its critical
value, based on its slope at the last point: if tau is straight, as usual for a good
model, the walk needs four points. Steps grow where the profile flattens and shrink
where it bends (compare the adaptive steps of Raue et al., Bioinformatics 25, 2009,
which aim at equal cost increases). The other parameters start on the tangent at the
last point. The slope needs no simulation: along the profile, ``dC_p/dtheta`` is the
partial derivative of the cost (envelope theorem).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import JacobianError
from fmident.profiles.descent import descend, linear_step, room
from fmident.profiles.landscape import Landscape, State
from fmident.profiles.result import Outcome
from fmident.statistics.likelihood import rise_of, tau_of

_PARTS = 4
"""Steps to the end of the interval along a straight tau; and to a bound, at least."""

_GROWTH = 2.0
_STEEPER = 3.0
"""Largest slope that is believed, in mean slopes since the estimate."""

_FIRST = 0.5
"""Longest first step, in sizes of the parameter."""

_SHRINK, _SHORTEST = 0.3, 1e-3
"""Factor on a step whose simulation failed, and the shortest one, in distances from the
estimate."""

_MOST_POINTS = 60
_FAR, _FAR_LOG = 1e3, float(np.log(1e6))
"""Where a walk without a bound ends: in sizes of the parameter, and on a log scale."""

_BENT = 0.05
"""Part of the change of the outputs that the Jacobian may miss before it is computed anew."""

_TOLERANCE = 1e-4
"""Rise of the cost that a descent may leave, in relation to that at the end."""

_LEFT = 0.01
"""Part of that which the tangent may leave."""

_DRIFT, _EXACT = 1.5, 0.05
"""Largest drift of the Jacobian, in critical taus: on the way, and at the end of an interval."""

_HALVED = 0.5
"""Part of its width that a bracket may keep; else it is halved next."""

_TRUSTED = 1.3
"""Tau, in critical ones, up to which a point beyond the end is as good a start as one before it:
a point far up may lie in another valley."""

_LOW, _LOW_IN_TURN = 0.97, 3
"""So many points in turn below this part of the critical tau put one beyond the end in doubt."""

_NARROW = 1e-6
"""Width of a bracket, in relation to its distance from the estimate, that ends the search."""


@dataclass(frozen=True)
class Plan:
    """Settings shared by all walks.

    A walk ends at `critical_tau`, which includes `factor`; the `accuracy` of the ends is
    relative to their distance from the estimate. `variance` is that of the residuals, and
    `log` the mask of parameters with log scaling, shape (n,).
    """

    critical_tau: float
    variance: float
    log: np.ndarray[tuple[int], np.dtype[np.bool_]]
    accuracy: float = 1e-3
    factor: float = 1.0

    def times(self, factor: float) -> Plan:
        """Return the plan with the critical tau multiplied by a factor."""
        return replace(self, critical_tau=factor * self.critical_tau, factor=factor)

    @property
    def threshold(self) -> float:
        """Cost increase at the end of an interval."""
        return rise_of(self.critical_tau, self.variance)


@dataclass(frozen=True)
class Place:
    """A point of a profile.

    `tau` is the magnitude and `slope` its derivative with distance from the estimate in the
    search space. If it is not `converged`, the other parameters are not optimal.
    """

    state: State
    tau: float
    slope: float
    converged: bool


@dataclass
class Walk:
    """A walk of parameter `index` to one side, -1 to smaller values or 1 to larger ones.

    `places` are in the order in which they were found. The `outcome` is ``"unfinished"``
    while the walk is running, with an explanation in `detail` if needed; `end` is that of
    the interval in the search space.
    """

    index: int
    side: int
    places: list[Place] = field(default_factory=list)
    outcome: Outcome = "unfinished"
    end: float = float("nan")
    detail: str = ""

    def finish(self, outcome: Outcome, detail: str = "") -> None:
        """End the walk."""
        self.outcome, self.detail = outcome, detail

    @property
    def furthest(self) -> Place | None:
        """The place farthest from the estimate, if any."""
        if not self.places:
            return None
        return max(self.places, key=lambda q: self.side * float(q.state.z[self.index]))


Listener = Callable[[Walk], None]
"""Called after each point of a walk, and at its end."""


def walk_along(
    landscape: Landscape,
    optimum: State,
    plan: Plan,
    walk: Walk,
    reason: Callable[[], str],
    listener: Listener = lambda _: None,
) -> None:
    """Walk until the cost reaches the threshold, or until this is impossible.

    The walk starts at the estimate `optimum` and receives every point and the outcome.
    `reason` returns why the last simulation failed; `listener` is called after each point,
    and at the end.
    """
    try:
        _Walker(landscape, optimum, plan, walk, reason, listener).run()
    except JacobianError as error:
        walk.finish("failure", error.message)
    listener(walk)


class _Walker:
    def __init__(
        self,
        landscape: Landscape,
        optimum: State,
        plan: Plan,
        walk: Walk,
        reason: Callable[[], str],
        listener: Listener,
    ) -> None:
        self._landscape, self._optimum, self._plan = landscape, optimum, plan
        self._walk, self._reason, self._listener = walk, reason, listener
        self._index, self._side = walk.index, walk.side
        bound = (landscape.upper if walk.side > 0 else landscape.lower)[walk.index]
        size = float(landscape.sizes[walk.index])
        self._bound = abs(float(bound - optimum.z[walk.index]))
        self._far = min(self._bound, _FAR_LOG if plan.log[walk.index] else _FAR * size)
        self._size = size
        # Length by which the residuals change where tau becomes critical.
        self._scale = plan.critical_tau * float(np.sqrt(plan.variance))

    def run(self) -> None:
        """Walk."""
        place = Place(self._optimum, 0.0, self._rate(self._optimum), True)
        if self._bound <= 1e-12 * self._size:
            self._walk.finish("bound")
            return
        longest = min(_FIRST * self._size, self._far, self._bound / _PARTS)
        while len(self._walk.places) < _MOST_POINTS:
            candidate = self._advance(place, longest)
            if candidate is None:
                self._walk.finish("failure", self._reason())
                return
            if candidate.tau >= (1.0 - self._plan.accuracy) * self._plan.critical_tau:
                candidate = self._confirmed(candidate)
                if self._ends_at(candidate):
                    return
            if candidate.tau >= self._plan.critical_tau:
                short = self._close_in(place, candidate)
                if short is None:
                    return
                candidate = short
            if self._distance(candidate) >= self._far * (1.0 - 1e-12):
                self._walk.finish("bound" if self._far == self._bound else "reach")
                return
            longest = min(
                _GROWTH * (self._distance(candidate) - self._distance(place)), self._bound / _PARTS
            )
            place = candidate
        self._walk.finish("limit")

    def _advance(self, place: Place, longest: float) -> Place | None:
        """Return the next point; ``None`` if every simulation fails."""
        wanted = self._next_tau(place.tau) - place.tau
        slope = place.slope
        if place.tau > 0.0:  # where tau is tiny, its slope is made of errors
            slope = min(slope, _STEEPER * place.tau / self._distance(place))
        step = wanted / slope if slope > 0.0 else np.inf
        left = self._far - self._distance(place)
        step = min(step, longest, left)
        shortest = _SHORTEST * (self._distance(place) or step)
        while step > shortest:
            candidate = self._visit(place, self._distance(place) + step)
            if candidate is not None:
                return candidate
            step *= _SHRINK
        return None

    def _next_tau(self, tau: float) -> float:
        part = self._plan.critical_tau / _PARTS
        return min(part * float(np.floor(tau / part + 0.7) + 1.0), self._plan.critical_tau)

    def _close_in(self, below: Place, above: Place) -> Place | None:
        """Find the critical tau between two points, and end the walk.

        Return where to continue if the point beyond the end turns out to lie before it once the
        other parameters are optimal, else ``None``.
        """
        target = self._plan.critical_tau
        before, low_in_turn = np.inf, 0
        for _ in range(_MOST_POINTS):
            if target - below.tau < above.tau - target:
                nearest = below = self._confirmed(below)
            else:
                nearest = above = self._confirmed(above)
            if self._ends_at(nearest):
                return None
            if above.tau < target:
                return above
            low, high = self._distance(below), self._distance(above)
            narrow = high - low <= _NARROW * high
            if narrow or low_in_turn >= _LOW_IN_TURN:
                # Does tau jump, or was the point beyond the end reached from too far away?
                again = self._visit(below, high)
                if again is not None and again.tau < target:
                    return again
                low_in_turn = 0
            if narrow:
                self._finish_at(0.5 * (low + high))
                return None
            halve = high - low > _HALVED * before
            before = high - low
            distance = 0.5 * (low + high) if halve else self._guess(below, above, target)
            origins = [below, above]
            if above.tau <= _TRUSTED * target and distance - low > high - distance:
                origins.reverse()
            candidate = None
            for origin in origins:
                candidate = self._visit(origin, distance)
                if candidate is not None:
                    break
            if candidate is None:
                self._walk.finish("failure", self._reason())
                return None
            low_in_turn = low_in_turn + 1 if candidate.tau < _LOW * target else 0
            below, above = (candidate, above) if candidate.tau < target else (below, candidate)
        self._walk.finish("limit")
        return None

    def _guess(self, below: Place, above: Place, target: float) -> float:
        """Estimate where tau is critical: from a slope, else from the chord."""
        low, high = self._distance(below), self._distance(above)
        width = high - low
        near = min(below, above, key=lambda q: abs(q.tau - target))
        guesses = []
        if near.slope > 0.0:
            guesses.append(self._distance(near) + (target - near.tau) / near.slope)
        guesses.append(low + width * (target - below.tau) / (above.tau - below.tau))
        for guess in guesses:
            if low + 1e-3 * width < guess < high - 1e-3 * width:
                return guess
        return 0.5 * (low + high)

    def _is_close(self, place: Place) -> bool:
        target = self._plan.critical_tau
        return place.slope > 0.0 and abs(place.tau - target) <= self._plan.accuracy * target

    def _ends_at(self, place: Place) -> bool:
        """End the walk if a point is close enough to the end of the interval."""
        if not self._is_close(place):
            return False
        ahead = (self._plan.critical_tau - place.tau) / place.slope
        self._finish_at(self._distance(place) + ahead)
        return True

    def _confirmed(self, place: Place) -> Place:
        """Return a possibly last place with its other parameters optimised.

        This needs a Jacobian from nearby.
        """
        if not self._is_close(place):
            return place
        drift = _EXACT * self._scale
        if place.state.drift <= drift:
            return place
        tolerance = _TOLERANCE * self._plan.threshold
        descent = descend(self._landscape, place.state, self._index, tolerance, exact=drift)
        return self._keep(descent.state, converged=descent.converged)

    def _visit(self, origin: Place, distance: float) -> Place | None:
        """Return the profile at a distance from the estimate; ``None`` if simulations fail."""
        start = self._predict(origin.state, distance)
        there = self._landscape.moved(origin.state, start)
        if there is None:
            return None
        change = there.residuals - origin.state.residuals
        missed = change - origin.state.jacobian @ (there.z - origin.state.z)
        tolerance = _TOLERANCE * self._plan.threshold
        size = max(float(np.linalg.norm(change)), self._scale / _PARTS)
        if float(np.linalg.norm(missed)) > _BENT * size:
            there = self._landscape.refreshed(there)
        descent = descend(
            self._landscape, there, self._index, tolerance, exact=_DRIFT * self._scale
        )
        return self._keep(descent.state, converged=descent.converged)

    def _predict(self, state: State, distance: float) -> F64:
        """Return the point at a distance along the tangent of the profile."""
        goal = float(self._optimum.z[self._index]) + self._side * distance
        shift = goal - float(state.z[self._index])
        low, high = room(self._landscape, state.z, self._index)
        shifted = state.residuals + shift * state.jacobian[:, self._index]
        allowed = _LEFT * _TOLERANCE * self._plan.threshold
        step = linear_step(state, shifted, low, high, allowed=allowed)
        z: F64 = state.z + step.step
        z[self._index] = goal
        return z

    def _keep(self, state: State, *, converged: bool) -> Place:
        tau = tau_of(state.cost - self._optimum.cost, self._plan.variance)
        place = Place(state, tau, self._slope(state, tau), converged)
        self._walk.places.append(place)
        self._listener(self._walk)
        return place

    def _slope(self, state: State, tau: float) -> float:
        if tau <= 0.0:
            return 0.0
        gradient = float(state.residuals @ state.jacobian[:, self._index])
        return self._side * gradient / (self._plan.variance * tau)

    def _rate(self, state: State) -> float:
        """Return the slope of tau at the estimate in the linearised model."""
        low, high = room(self._landscape, state.z, self._index)
        norms = np.linalg.norm(state.jacobian, axis=0)
        others = np.flatnonzero((high > low) & (norms > 0.0))
        columns = [state.jacobian[:, others] / norms[others], state.jacobian[:, self._index]]
        triangle: F64 = np.asarray(np.linalg.qr(np.column_stack(columns), mode="r"))
        solution = np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=None)[0]
        rest = triangle[:, -1] - triangle[:, :-1] @ solution
        return float(np.linalg.norm(rest) / np.sqrt(self._plan.variance))

    def _distance(self, place: Place) -> float:
        here = float(place.state.z[self._index] - self._optimum.z[self._index])
        return self._side * here

    def _finish_at(self, distance: float) -> None:
        self._walk.end = float(self._optimum.z[self._index]) + self._side * distance
        self._walk.finish("reached")
