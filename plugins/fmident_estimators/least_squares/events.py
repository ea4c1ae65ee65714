"""Search for models with events, whose cost has jumps and many local minima.

An impact, a switch or a stick-slip transition that comes too early shifts every later
one even more, so that most of a long record pulls in the wrong direction. Hence growing
parts of the record are used, as in multiple shooting and in the fitting of chaotic
systems (Voss, Timmer and Kurths, Int. J. Bifurcation Chaos 14, 2004): the first part
has few events, and parameters that explain it predict those of the next part well
enough. In each part, samples near events are compared with the branch on which they
were measured (see :mod:`fmident.evaluation.matching`), and derivatives are differences
over steps long enough to move events: a short step changes only the samples between
them. If a part cannot be explained, because an event does not occur in it at all, more
distant points are tried along the directions that the previous part leaves open.

The usual search starts again from the result, on the cost itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation import EventMatching, JacobianError
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.least_squares.search import (
    LeastSquaresProblem,
    LocalResult,
    TrustRegionSearch,
    singular_directions,
)

_FIRST, _GROWTH = 0.08, 1.3
"""Part of the record that comes first, and the factor between parts."""

_WINDOW = 0.15
"""How far from an event samples choose their branch, relative to the part."""

_STEP = 1e-2
"""Step of the differences, relative to the size of a parameter; an event then moves visibly."""

_LAST = ((1e-2, 0.5), (1e-3, 0.1), (1e-4, 0.02))
"""Steps and factors on the window with which the whole record is taken in the end."""

_ITERATIONS = 8
_DAMPINGS = (1e-2, 1.0, 1e2, 1e4)
"""Tried at once in each iteration, times the damping that was best before."""

_LONGEST = 0.3
"""Longest step, relative to the size of a parameter."""

_SLOW = 0.99
"""A part takes no further iteration once one multiplies the cost by more than this."""

_REACHES = (-0.4, -0.2, -0.1, -0.05, -0.02, 0.02, 0.05, 0.1, 0.2, 0.4)
"""Distances at which farther points are tried, relative to the size of the parameters."""

_PROMISING = 2
"""Number of the best farther points from which a search begins."""

_WORSE, _EXPLAINED = 4.0, 1e-3
"""A part is not explained when its mean square is more than the first times that of the part
before, and its residuals are more than the second times the measured signals."""

_BESIDE = (1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
"""Distances on both sides of an estimate where a jump may hide a lower cost, relative to the size
of the parameters."""

_LOWER = 1e-6
"""Relative difference of costs that counts as lower."""

_ROUNDS = 5
"""Further searches from a lower cost beyond a jump."""

_SHOWN = 3

_SMALLEST = 1e-6
_TINY = float(np.finfo(np.float64).tiny)


def past_events(
    least_squares: LeastSquaresProblem, results: Sequence[LocalResult], breaks: bool
) -> LocalResult:
    """Return the best of all searches, with another one if events move with the parameters.

    It costs and changes nothing for models without events, or if the search ended by a
    limit that the user has set, or if a later stage handles events itself. `breaks` says
    whether simulated outputs have events at the start.
    """
    problem, evaluator = least_squares.problem, least_squares.evaluator
    best = min(results, key=lambda r: r.cost)
    matching = EventMatching(problem)
    unfinished = best.status == "limit" or problem.preliminary
    if not matching.usable or (unfinished and _is_short(least_squares.options)):
        return best
    if matching.exact(evaluator.residuals(best.parameters), evaluator.tolerance):
        return best
    moving = matching.moving(evaluator, best.parameters)
    if breaks and not moving:
        moving = matching.moving(evaluator, problem.initial)
    places = matching.where(moving) if moving else []
    if not places:
        return best
    usual = best.cost
    for blurred in (False, True):
        if matching.explained(evaluator.residuals(best.parameters)):
            break
        search = EventSearch(least_squares, matching)
        point = problem.initial
        for point in search.run(problem.initial, blurred=blurred):
            least_squares.progress.report(point, evaluator.cost(point))
        best = _better(best, _local(least_squares, point))
    best = _beside(least_squares, best)
    shown = "; ".join(places[:_SHOWN])
    if len(places) > _SHOWN:
        shown += f" and {len(places) - _SHOWN} more"
    text = f"{matching.kind} move with the parameters ({shown}), which can make the cost jump. "
    if best.cost < usual:
        text += (
            "The usual search stopped there. One that takes the record in growing parts "
            "and compares samples near an event with the branch that they were measured on, before "
            f"the event or after it, lowered the cost from {usual:.4g} to {best.cost:.4g}."
        )
    else:
        text += "No lower cost was found on either side of the jumps near the estimate."
    least_squares.progress.monitor.note(text)
    return best


def _is_short(options: LeastSquaresOptions) -> bool:
    """Return whether the user has limited the search."""
    usual = LeastSquaresOptions()
    return (
        options.max_iterations < usual.max_iterations
        or options.cost_tolerance > usual.cost_tolerance
    )


def _better(first: LocalResult, second: LocalResult | None) -> LocalResult:
    if second is None or not second.cost < (1.0 - _LOWER) * first.cost:
        return first
    return second


def _local(least_squares: LeastSquaresProblem, start: F64) -> LocalResult | None:
    """Search on the cost itself; ``None`` if that is not possible."""
    if not np.isfinite(least_squares.evaluator.cost(start)):
        return None
    try:
        return TrustRegionSearch(least_squares, start).run()
    except JacobianError:
        return None


def _beside(least_squares: LeastSquaresProblem, best: LocalResult) -> LocalResult:
    """Evaluate the cost on lines through the estimate, and continue where it is lower."""
    evaluator, space = least_squares.evaluator, least_squares.evaluator.space
    for _ in range(_ROUNDS):
        z = space.from_physical(best.parameters)
        size = np.where(space.log | (z == 0.0), 1.0, np.abs(z))
        jacobian = evaluator.jacobian(best.parameters) * space.derivative(best.parameters)
        _, right = singular_directions(jacobian * size)
        ways = np.vstack([np.eye(z.size), right]) if z.size > 1 else np.eye(1)
        points = np.array(
            [z + side * reach * way * size for way in ways for reach in _BESIDE for side in (-1, 1)]
        )
        physical = space.bounded(np.clip(points, space.lower, space.upper))
        costs = [least_squares.loss.cost(row) for row in evaluator.residuals_many(physical)]
        k = int(np.argmin(costs))
        if not costs[k] < (1.0 - _LOWER) * best.cost:
            return best
        before, best = best, _better(best, _local(least_squares, physical[k]))
        if best is before:
            return best
    return best


@dataclass(frozen=True)
class _Part:
    """A part of the record, and how it is compared."""

    rows: npt.NDArray[np.bool_]
    window: float
    step: float
    blurred: bool


class EventSearch:
    """Finds parameters from which the usual search can start."""

    def __init__(self, least_squares: LeastSquaresProblem, matching: EventMatching) -> None:
        self._evaluator, self._matching = least_squares.evaluator, matching
        self._space = self._evaluator.space
        self._loss = replace(least_squares.loss, priors=0)  # of parts of the data

    def run(self, start: F64, *, blurred: bool = False) -> Iterator[F64]:
        """Yield the estimate after each growing part of the record.

        `start` holds physical parameters that can be simulated, shape (n,). With `blurred`,
        residuals are blurred in time instead, for outputs that only switch.
        """
        z = self._space.from_physical(start)
        self._size = np.where(self._space.log | (z == 0.0), 1.0, np.abs(z))
        before, open_directions = np.inf, (np.ones(z.size), np.eye(z.size))
        for part in self._parts(blurred):
            begin = z
            z, cost, jacobian = self._descend(begin, part)
            rows = int(np.count_nonzero(part.rows))
            if 2.0 * cost / rows > max(_WORSE * before, self._negligible(part)):
                for candidate in self._look_around(begin, cost, part, *open_directions):
                    descent = self._descend(candidate, part)
                    if descent[1] < cost:
                        z, cost, jacobian = descent
            before = 2.0 * cost / rows
            open_directions = singular_directions(jacobian * self._size)
            yield self._space.to_physical(z)

    def _parts(self, blurred: bool) -> Iterator[_Part]:
        progress = self._matching.progress
        needed = min(1.0, max(_FIRST, self._least_part()))
        while needed < 1.0:
            yield _Part(progress <= needed, _WINDOW * needed, _STEP, blurred)
            needed *= _GROWTH
        for step, factor in _LAST:
            yield _Part(np.ones(progress.size, dtype=np.bool_), factor * _WINDOW, step, blurred)

    def _least_part(self) -> float:
        """Return the fraction of the record that has a few samples per parameter."""
        progress = np.sort(self._matching.progress)
        few = min(4 * self._space.scale.size + 4, progress.size)
        return float(progress[few - 1])

    def _negligible(self, part: _Part) -> float:
        """Return the mean square below which residuals need no better explanation."""
        signal = self._matching.scaled_measurements[part.rows]
        return (_EXPLAINED * float(np.std(signal))) ** 2

    def _residuals(self, points: F64, part: _Part) -> F64:
        """Return residuals of a part at points of the search space, (k, n) -> (k, rows)."""
        physical = self._space.bounded(np.clip(points, self._space.lower, self._space.upper))
        rows = self._evaluator.residuals_many(physical)
        compared = np.full((len(points), int(np.count_nonzero(part.rows))), np.nan)
        for k, row in enumerate(rows):
            if bool(np.isfinite(row).all()):
                if part.blurred:
                    matched = self._matching.blur(row, part.window, part.rows)
                else:
                    matched = self._matching.match(row, part.window)[part.rows]
                compared[k], _ = self._loss.residuals(matched)
        return compared

    def _costs(self, residuals: F64) -> F64:
        costs = 0.5 * np.sum(residuals**2, axis=1)
        return np.where(np.isfinite(costs), costs, np.inf)

    def _descend(self, z: F64, part: _Part) -> tuple[F64, float, F64]:
        """Return the point reached by damped Gauss-Newton, its cost and the last Jacobian."""
        residuals = self._residuals(z[np.newaxis], part)[0]
        cost = float(0.5 * residuals @ residuals)
        damping = 1e-2
        jacobian = np.zeros((residuals.size, z.size))
        for _ in range(_ITERATIONS):
            jacobian = self._jacobian(z, residuals, part)
            dampings = damping * np.array(_DAMPINGS)
            points = np.array([z + self._step(jacobian, residuals, x) for x in dampings])
            points = np.clip(points, self._space.lower, self._space.upper)
            trials = self._residuals(points, part)
            costs = self._costs(trials)
            best = int(np.argmin(costs))
            if not costs[best] < cost:
                break
            slow = costs[best] > _SLOW * cost
            z, residuals, cost = points[best], trials[best], float(costs[best])
            damping = float(np.clip(dampings[best], 1e-8, 1e4))
            if slow:
                break
        return z, cost, jacobian

    def _step(self, jacobian: F64, residuals: F64, damping: float) -> F64:
        """Return a damped Gauss-Newton step, limited for each parameter, shape (n,)."""
        scaled = jacobian * self._size
        norms = np.linalg.norm(scaled, axis=0)
        floor = max(_SMALLEST * float(norms.max(initial=0.0)), _TINY)
        weights = np.sqrt(damping) * np.maximum(norms, floor)
        system = np.vstack([scaled, np.diag(weights)])
        right = np.concatenate([-residuals, np.zeros(weights.size)])
        step = np.linalg.lstsq(system, right, rcond=None)[0]
        longest = float(np.max(np.abs(step)))
        step *= min(1.0, _LONGEST / max(longest, _TINY))
        change: F64 = step * self._size
        return change

    def _jacobian(self, z: F64, residuals: F64, part: _Part) -> F64:
        """Return central differences over long steps, shape (rows, n); 0 where they fail."""
        offsets = part.step * self._size
        points = np.concatenate([z + np.diag(offsets), z - np.diag(offsets)])
        points = np.clip(points, self._space.lower, self._space.upper)
        rows = self._residuals(points, part)
        # A side that fails, or that a bound takes away, leaves the other one.
        failed = ~np.isfinite(rows).all(axis=1)
        rows[failed], points[failed] = residuals, z
        columns = []
        for j in range(z.size):
            up, down = rows[j], rows[j + z.size]
            width = points[j, j] - points[j + z.size, j]
            columns.append((up - down) / width if width > 0.0 else np.zeros(residuals.size))
        return np.column_stack(columns)

    def _look_around(
        self, z: F64, cost: float, part: _Part, lengths: F64, directions: F64
    ) -> list[F64]:
        """Return promising points along directions that the previous part leaves open.

        `z` explains the previous part, `cost` is that of the present part. `lengths` and
        `directions` (as rows) are the singular values and vectors of the previous part's
        Jacobian, scaled by the size of the parameters.
        """
        points = [
            z + reach * direction * self._size
            for length, direction in zip(lengths, directions, strict=True)
            for reach in _REACHES
            if 0.5 * (reach * length) ** 2 < cost
        ]
        if not points:
            return []
        inside = np.clip(points, self._space.lower, self._space.upper)
        costs = self._costs(self._residuals(inside, part))
        order = np.argsort(costs, kind="stable")[:_PROMISING]
        return [inside[k] for k in order if np.isfinite(costs[k])]
