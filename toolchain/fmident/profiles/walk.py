"""Walk along the profile of one parameter to one side until the threshold is reached.

The next value is chosen so that tau increases by a fixed fraction of its critical
value, based on its slope at the last point: if tau is straight, as usual for a good
model, the walk needs four points. Steps grow where the profile flattens and shrink
where it bends (compare the adaptive steps of Raue et al., Bioinformatics 25, 2009,
which aim at equal cost increases). The other parameters start on the tangent at the
last point. The slope needs no simulation: along the profile, ``dC_p/dtheta`` is the
partial derivative of the cost (envelope theorem).

At each value the cost is minimised by bounded Gauss-Newton steps. A descent starts close
to the minimum, with a Jacobian from nearby. Every simulation updates that Jacobian
(Broyden); it is recomputed only if its predictions fail, so that a descent usually takes
one simulation.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import lsq_linear

from fmident.arrays import F64
from fmident.evaluation import Evaluator, JacobianError
from fmident.profiles.result import Outcome
from fmident.statistics.distributions import rise_of, tau_of

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


_DAMPING = (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)
"""Tried in turn, in relation to the squared lengths of the columns."""

_SHARE = 1e-4
"""Part of the reduction of the cost that a step of a descent may leave for the next."""

_CHANCE = 3.0
"""What errors of the Jacobian may promise, in products with the size of a residual."""

_REACH = 3.0
"""Longest step, in sizes of the parameters: a direction that the data hardly determine promises
something for a step of any length, by chance."""

_GOOD, _POOR = 0.75, 0.25
"""Actual reduction of the cost in relation to the predicted one."""

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
_MOST_STEPS = 40
_TRAVEL = 0.3
"""Way from where the Jacobian was computed, in sizes of the parameters, up to which it predicts
where the minimum is, though the outputs may hardly have moved: along a valley they do not."""

_BENT_ON_THE_WAY = 0.05
"""Part of a change that it may have missed on the way, else the way counts."""

_STALE_STEPS = 3
"""Steps with an updated Jacobian before it is computed anew."""

_LEAST_FLOOR, _RAISE = 1e-6, 100.0
"""Damping after a step that went wrong, and its factor with each further one."""

_NOTHING, _NEAR = 1e-3, 100.0
"""In tolerances: a step too short to try, and what may be left where none gets further."""


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
    listener: Listener = lambda _: None,
) -> None:
    """Walk until the cost reaches the threshold, or until this is impossible.

    The walk starts at the estimate `optimum` and receives every point and the outcome.
    `listener` is called after each point, and at the end.
    """
    try:
        _Walker(landscape, optimum, plan, walk, listener).run()
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
        listener: Listener,
    ) -> None:
        self._landscape, self._optimum, self._plan = landscape, optimum, plan
        self._walk, self._listener = walk, listener
        self._index, self._side = walk.index, walk.side
        bound = (landscape.upper if walk.side > 0 else landscape.lower)[walk.index]
        size = float(landscape.sizes[walk.index])
        self._bound = abs(float(bound - optimum.z[walk.index]))
        self._far = min(self._bound, _FAR_LOG if plan.log[walk.index] else _FAR * size)
        self._size = size
        # Length by which the residuals change where tau becomes critical.
        self._scale = plan.critical_tau * float(np.sqrt(plan.variance))

    def run(self) -> None:
        place = Place(self._optimum, 0.0, self._rate(self._optimum), True)
        if self._bound <= 1e-12 * self._size:
            self._walk.finish("bound")
            return
        longest = min(_FIRST * self._size, self._far, self._bound / _PARTS)
        while len(self._walk.places) < _MOST_POINTS:
            candidate = self._advance(place, longest)
            if candidate is None:
                self._walk.finish("failure", self._landscape.failure)
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
        # Close to the end the first step may be that short itself.
        shortest = min(_SHORTEST * (self._distance(place) or step), _SHRINK * step)
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
                self._walk.finish("failure", self._landscape.failure)
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
        if not self._is_close(place):
            return False
        ahead = (self._plan.critical_tau - place.tau) / place.slope
        self._finish_at(self._distance(place) + ahead)
        return True

    def _confirmed(self, place: Place) -> Place:
        """Return a possibly last place, other parameters optimised with a Jacobian from nearby."""
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


@dataclass(frozen=True)
class State:
    """A point with its residuals and derivatives.

    `z` and `p` are in the search space and in physical units, shape (n,); `residuals` are
    whitened, shape (m,). The `jacobian` is with respect to the search space, shape (m, n),
    with the expected norm `blur` of the error of each column, shape (n,); it was computed
    at `origin`. `drift` is the change of the outputs since then, in whitened residuals, 0
    at that point itself, and `bent` the largest fraction of such a change that the Jacobian
    did not predict.
    """

    z: F64
    p: F64
    residuals: F64
    jacobian: F64
    blur: F64
    origin: F64
    drift: float = 0.0
    bent: float = 0.0

    @property
    def cost(self) -> float:
        """``1/2 sum r^2``."""
        return 0.5 * float(self.residuals @ self.residuals)


class Landscape:
    """Evaluates states; `sizes` are the parameter scales in the search space, shape (n,)."""

    def __init__(self, evaluator: Evaluator, sizes: F64) -> None:
        problem = evaluator.problem
        self._evaluator = evaluator
        self._space = evaluator.space
        self._lower, self._upper = problem.lower, problem.upper
        self.sizes, self.log = sizes, evaluator.space.log
        self.lower, self.upper = evaluator.space.lower, evaluator.space.upper

    @property
    def failure(self) -> str:
        """Why the last simulation failed."""
        return str(self._evaluator.last_failure or "the simulation fails")

    def at(self, p: F64) -> State | None:
        """Return the state at a physical point with its Jacobian; ``None`` on failure.

        Raises `JacobianError` if the simulation works at the point, but nowhere around.
        """
        residuals = self._evaluator.residuals(p)
        if not bool(np.isfinite(residuals).all()):
            return None
        z = self._space.from_physical(p)
        bare = State(z, p, residuals, np.empty((residuals.size, 0)), np.empty(0), z)
        return self.refreshed(bare)

    def refreshed(self, state: State) -> State:
        """Return the state with a new Jacobian, or raise `JacobianError` as :meth:`at` does."""
        jacobian, blur = self._derivatives(state.p)
        return dataclasses.replace(
            state, jacobian=jacobian, blur=blur, origin=state.z, drift=0.0, bent=0.0
        )

    def _derivatives(self, p: F64) -> tuple[F64, F64]:
        """Return the Jacobian at a physical point, and the errors of its columns."""
        scale = self._space.derivative(p)
        jacobian = self._evaluator.jacobian(p) * scale
        errors = self._evaluator.column_errors(p)
        return jacobian, np.zeros(p.size) if errors is None else errors * np.abs(scale)

    def _physical(self, z: F64) -> F64:
        return np.clip(self._space.to_physical(z), self._lower, self._upper)

    def travel(self, state: State) -> float:
        """Return the scaled distance of a point from that of its Jacobian."""
        return float(np.max(np.abs(state.z - state.origin) / self.sizes, initial=0.0))

    def moved(self, state: State, z: F64) -> State | None:
        """Return the state at another point with the Jacobian updated; ``None`` if it fails.

        The update is Broyden's rank-one formula (Mathematics of Computation 19, 1965).
        """
        p = self._physical(z)
        residuals = self._evaluator.residuals(p)
        if not bool(np.isfinite(residuals).all()):
            return None
        step = z - state.z
        length = float(step @ step)
        if length == 0.0:
            return dataclasses.replace(state, residuals=residuals)
        change = residuals - state.residuals
        # Steps are measured by what they do, so that the update does not depend on units.
        norms = np.linalg.norm(state.jacobian, axis=0)
        weighted = norms**2 * step
        size = float(weighted @ step)
        missed = change - state.jacobian @ step
        jacobian = state.jacobian
        if size > 0.0:
            jacobian = jacobian + np.outer(missed, weighted / size)
        whole = float(np.linalg.norm(change))
        bent = float(np.linalg.norm(missed)) / whole if whole > 0.0 else 0.0
        return State(
            z, p, residuals, jacobian, state.blur, state.origin, state.drift + whole,
            max(state.bent, bent),
        )  # fmt: skip


class RayLandscape(Landscape):
    """Landscape over the distance along a ray and the parameters that the ray does not move.

    The ray starts at `optimum` and moves the two parameters of `pair` along `direction`, in
    the search space, shape (2,). The first coordinate is the distance in lengths of
    `direction`; the others are the remaining parameters in order.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        sizes: F64,
        optimum: State,
        pair: tuple[int, int],
        direction: F64,
    ) -> None:
        super().__init__(evaluator, sizes)
        both = list(pair)
        others = [j for j in range(sizes.size) if j not in pair]
        self._basis = np.zeros((sizes.size, 1 + len(others)))
        self._basis[both, 0] = direction
        self._basis[others, np.arange(1, 1 + len(others))] = 1.0
        self._origin = np.where(np.isin(np.arange(sizes.size), both), optimum.z, 0.0)
        room = np.where(direction > 0.0, self.upper[both], self.lower[both]) - optimum.z[both]
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = float(np.min(np.where(direction == 0.0, np.inf, room / direction)))
        self.lower = np.concatenate([[0.0], self.lower[others]])
        self.upper = np.concatenate([[max(reach, 0.0)], self.upper[others]])
        self.sizes = np.concatenate([[1.0], sizes[others]])
        self.log = np.concatenate([[False], self.log[others]])
        z = np.concatenate([[0.0], optimum.z[others]])
        jacobian, blur = self._along(optimum.jacobian, optimum.blur)
        self.begin = dataclasses.replace(optimum, z=z, origin=z, jacobian=jacobian, blur=blur)

    def _derivatives(self, p: F64) -> tuple[F64, F64]:
        return self._along(*super()._derivatives(p))

    def _along(self, jacobian: F64, blur: F64) -> tuple[F64, F64]:
        return jacobian @ self._basis, np.asarray(blur @ np.abs(self._basis))

    def _physical(self, z: F64) -> F64:
        return super()._physical(self._origin + self._basis @ z)


@dataclass(frozen=True)
class Step:
    """A step of the free parameters in the linearised problem.

    `step` is in the search space with the held ones included, shape (n,), and `reduction`
    is the predicted reduction of the cost.
    """

    step: F64
    reduction: float


def linear_step(
    state: State,
    residuals: F64,
    low: F64,
    high: F64,
    *,
    allowed: float = 0.0,
    share: float = 0.0,
    floor: float = 0.0,
) -> Step:
    """Return a step within bounds that achieves nearly all of the linearised cost reduction.

    It is the shortest sufficient step among the damped ones (Levenberg 1944, Marquardt
    1963), so that nothing moves along a direction that the data do not determine, or where
    errors of the Jacobian promise a spurious gain. `low` and `high` limit the step of each
    parameter, shape (n,); they are equal for a held one. `allowed` and `share` are the part
    of the reduction that may remain, absolute and relative, and `floor` is the minimum
    damping.
    """
    jacobian = state.jacobian
    step = np.zeros(state.z.size)
    free = np.flatnonzero((high > low) & (np.linalg.norm(jacobian, axis=0) > 0.0))
    if free.size == 0:
        return Step(step, 0.0)
    # The triangle of (J, r) has all that least squares needs.
    both = np.column_stack([jacobian[:, free], residuals])
    triangle: F64 = np.asarray(np.linalg.qr(both, mode="r"))
    norms: F64 = np.linalg.norm(triangle[:, :-1], axis=0)
    matrix, right = triangle[:, :-1] / norms, triangle[:, -1]
    before = 0.5 * float(right @ right)
    box = (low[free] * norms, high[free] * norms)

    def solve(damping: float) -> tuple[F64, float]:
        rows = np.vstack([matrix, np.sqrt(damping) * np.eye(free.size)])
        target = np.concatenate([-right, np.zeros(free.size)])
        candidate = _bounded(rows, target, *box)
        rest = right + matrix @ candidate
        return candidate, before - 0.5 * float(rest @ rest)

    best, most = solve(floor)
    chance = float(np.abs(best / norms) @ state.blur[free])
    chance *= _CHANCE * float(np.linalg.norm(residuals) / np.sqrt(residuals.size))
    for damping in (d for d in _DAMPING if d > floor):
        candidate, reduction = solve(damping)
        if reduction >= most - max(allowed, share * most) - chance:
            best, most = candidate, reduction
            break
    step[free] = np.clip(best / norms, low[free], high[free])
    return Step(step, max(most, 0.0))


def _bounded(rows: F64, target: F64, low: F64, high: F64) -> F64:
    solution: F64 = np.asarray(np.linalg.lstsq(rows, target, rcond=1e-14)[0])
    if bool(((solution >= low) & (solution <= high)).all()):
        return solution
    bounded: F64 = lsq_linear(rows, target, (low, high), method="bvls").x
    return bounded


def room(landscape: Landscape, z: F64, held: int | None) -> tuple[F64, F64]:
    """Return the smallest and the largest step, shape (n,) each; zero for a held parameter."""
    reach = _REACH * np.where(
        landscape.log, landscape.sizes, np.maximum(landscape.sizes, np.abs(z))
    )
    low = np.clip(landscape.lower - z, -reach, 0.0)
    high = np.clip(landscape.upper - z, 0.0, reach)
    if held is not None:
        low[held] = high[held] = 0.0
    return low, high


@dataclass(frozen=True)
class Descent:
    """Result of a descent; it converged if at most the tolerance is left to gain."""

    state: State
    converged: bool


def descend(
    landscape: Landscape,
    state: State,
    held: int | None,
    tolerance: float,
    *,
    exact: float = np.inf,
) -> Descent:
    """Minimise the cost with one parameter held, or none.

    The descent starts at `state` and ends when the predicted cost reduction is below
    `tolerance`. There, the Jacobian is recomputed if its drift exceeds `exact`. Raises
    `JacobianError` if a Jacobian is needed where all simulations nearby fail.
    """
    floor, stale = 0.0, 0
    for _ in range(_MOST_STEPS):
        low, high = room(landscape, state.z, held)
        bare = linear_step(state, state.residuals, low, high, share=_SHARE)
        if bare.reduction <= max(tolerance, _ROUNDING * state.cost):
            far = state.bent > _BENT_ON_THE_WAY and landscape.travel(state) > _TRAVEL
            if state.drift <= exact and not far:
                return Descent(state, True)
            state, stale = landscape.refreshed(state), 0
            continue
        if state.drift > 0.0 and stale >= _STALE_STEPS:
            state, stale = landscape.refreshed(state), 0
            continue
        step = bare
        if floor > 0.0:
            step = linear_step(state, state.residuals, low, high, share=_SHARE, floor=floor)
        if step.reduction <= _NOTHING * tolerance:
            return Descent(state, bare.reduction <= _NEAR * tolerance)
        trial = landscape.moved(state, state.z + step.step)
        ratio = -np.inf if trial is None else (state.cost - trial.cost) / step.reduction
        if trial is not None and ratio > 0.0:
            updated = state.drift > 0.0
            state, stale = trial, stale + 1
            if ratio > _GOOD:
                floor = 0.0 if floor < _LEAST_FLOOR else 0.01 * floor
            elif ratio < _POOR:
                if updated:
                    state, stale = landscape.refreshed(state), 0
                floor = max(_RAISE * floor, _LEAST_FLOOR)
        elif state.drift > 0.0:
            state, stale = landscape.refreshed(state), 0
        else:
            floor = max(_RAISE * floor, _LEAST_FLOOR)
    return Descent(state, False)
