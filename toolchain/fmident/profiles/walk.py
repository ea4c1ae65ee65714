"""Walking along the profile of one parameter to one side, until the cost has risen enough.

The next value is chosen so that tau grows by a fixed part of its critical value, as its slope at
the last point shows: along a straight tau, the rule for a good model, the walk needs four points.
Where the profile flattens the steps grow, where it bends they shrink (compare the adaptive steps
of Raue et al., Bioinformatics 25, 2009, which aim at equal rises of the cost). The other
parameters start where the tangent of the last point leads. The slope costs nothing: along the
profile, ``dC_p/dtheta`` is the partial derivative of the cost (envelope theorem).
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
    """What all walks have in common.

    Parameters
    ----------
    critical_tau
        At which a walk ends.
    variance
        Of the residuals.
    log
        Which of them have log scaling, shape (n,).
    accuracy
        Of the ends, in relation to their distance from the estimate.
    factor
        That `critical_tau` has been multiplied with.
    """

    critical_tau: float
    variance: float
    log: np.ndarray[tuple[int], np.dtype[np.bool_]]
    accuracy: float = 1e-3
    factor: float = 1.0

    def times(self, factor: float) -> Plan:
        """Return the plan with a critical tau that is so many times as large."""
        return replace(self, critical_tau=factor * self.critical_tau, factor=factor)

    @property
    def threshold(self) -> float:
        """Rise of the cost at the end of an interval."""
        return rise_of(self.critical_tau, self.variance)


@dataclass(frozen=True)
class Place:
    """A point of a profile.

    Parameters
    ----------
    state
        There.
    tau
        Magnitude.
    slope
        Of the magnitude of tau, per unit of the search space away from the estimate.
    converged
        Whether the other parameters are at their best.
    """

    state: State
    tau: float
    slope: float
    converged: bool


@dataclass
class Walk:
    """A walk to one side, as far as it has come.

    Attributes
    ----------
    index, side
        Which parameter; -1 to smaller values, 1 to larger ones.
    places
        In the order in which they were found.
    outcome
        How it ended; ``"unfinished"`` while it goes on.
    end
        Of the interval, in the search space, where the cost has risen enough.
    detail
        Why it ended, where that needs words.
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
        """The place farthest from the estimate, if there is any."""
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
    """Walk until the cost has risen to the threshold, or it cannot be had.

    Parameters
    ----------
    landscape
        Evaluates states.
    optimum
        The estimate.
    plan
        Threshold and scales.
    walk
        Receives every point as it is found, and how the walk ended.
    reason
        Returns why the last simulation failed.
    listener
        Called after each point, and at the end.
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
            taken = self._advance(place, longest)
            if taken is None:
                self._walk.finish("failure", self._reason())
                return
            if taken.tau >= (1.0 - self._plan.accuracy) * self._plan.critical_tau:
                taken = self._confirmed(taken)
                if self._ends_at(taken):
                    return
            if taken.tau >= self._plan.critical_tau:
                short = self._close_in(place, taken)
                if short is None:
                    return
                taken = short
            if self._distance(taken) >= self._far * (1.0 - 1e-12):
                self._walk.finish("bound" if self._far == self._bound else "reach")
                return
            longest = min(
                _GROWTH * (self._distance(taken) - self._distance(place)), self._bound / _PARTS
            )
            place = taken
        self._walk.finish("limit")

    def _advance(self, place: Place, longest: float) -> Place | None:
        """Return the next point; ``None`` where every simulation fails."""
        wanted = self._next_tau(place.tau) - place.tau
        slope = place.slope
        if place.tau > 0.0:  # where tau is tiny, its slope is made of errors
            slope = min(slope, _STEEPER * place.tau / self._distance(place))
        step = wanted / slope if slope > 0.0 else np.inf
        left = self._far - self._distance(place)
        step = min(step, longest, left)
        shortest = _SHORTEST * (self._distance(place) or step)
        while step > shortest:
            found = self._visit(place, self._distance(place) + step)
            if found is not None:
                return found
            step *= _SHRINK
        return None

    def _next_tau(self, tau: float) -> float:
        part = self._plan.critical_tau / _PARTS
        return min(part * float(np.floor(tau / part + 0.7) + 1.0), self._plan.critical_tau)

    def _close_in(self, below: Place, above: Place) -> Place | None:
        """Find where tau is critical between two points, and end the walk.

        Returns
        -------
        Place or None
            Where to go on if the point beyond the end has turned out to be before it, the other
            parameters being at their best.
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
            found = None
            for origin in origins:
                found = self._visit(origin, distance)
                if found is not None:
                    break
            if found is None:
                self._walk.finish("failure", self._reason())
                return None
            low_in_turn = low_in_turn + 1 if found.tau < _LOW * target else 0
            below, above = (found, above) if found.tau < target else (below, found)
        self._walk.finish("limit")
        return None

    def _guess(self, below: Place, above: Place, target: float) -> float:
        """Return where tau may be critical: along a slope, else along the chord, inside."""
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
        """Return a place that may be the last with its other parameters really at their best.

        That takes a Jacobian from close by.
        """
        if not self._is_close(place):
            return place
        drift = _EXACT * self._scale
        if place.state.drift <= drift:
            return place
        tolerance = _TOLERANCE * self._plan.threshold
        found = descend(self._landscape, place.state, self._index, tolerance, exact=drift)
        return self._keep(found.state, converged=found.converged)

    def _visit(self, origin: Place, distance: float) -> Place | None:
        """Return the profile at a distance from the estimate; ``None`` where simulations fail."""
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
        found = descend(self._landscape, there, self._index, tolerance, exact=_DRIFT * self._scale)
        return self._keep(found.state, converged=found.converged)

    def _predict(self, state: State, distance: float) -> F64:
        """Return the point at a distance to which the tangent of the profile leads."""
        goal = float(self._optimum.z[self._index]) + self._side * distance
        shift = goal - float(state.z[self._index])
        low, high = room(self._landscape, state.z, self._index)
        moved = state.residuals + shift * state.jacobian[:, self._index]
        allowed = _LEFT * _TOLERANCE * self._plan.threshold
        found = linear_step(state, moved, low, high, allowed=allowed)
        z: F64 = state.z + found.step
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
        """Return the slope of tau at the estimate by the linearised model."""
        low, high = room(self._landscape, state.z, self._index)
        norms = np.linalg.norm(state.jacobian, axis=0)
        others = np.flatnonzero((high > low) & (norms > 0.0))
        columns = [state.jacobian[:, others] / norms[others], state.jacobian[:, self._index]]
        triangle: F64 = np.asarray(np.linalg.qr(np.column_stack(columns), mode="r"))
        found = np.linalg.lstsq(triangle[:, :-1], triangle[:, -1], rcond=None)[0]
        rest = triangle[:, -1] - triangle[:, :-1] @ found
        return float(np.linalg.norm(rest) / np.sqrt(self._plan.variance))

    def _distance(self, place: Place) -> float:
        here = float(place.state.z[self._index] - self._optimum.z[self._index])
        return self._side * here

    def _finish_at(self, distance: float) -> None:
        self._walk.end = float(self._optimum.z[self._index]) + self._side * distance
        self._walk.finish("reached")
