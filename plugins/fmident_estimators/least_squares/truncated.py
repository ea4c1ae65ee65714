"""Truncated singular value decomposition: only directions that the data determine move.

At a point let ``A = J D / s``: the Jacobian J of the whitened residuals, D the sizes of
the units of the search space, s the standard deviation of the noise. Along a right
singular vector of A with singular value q the data determine the parameters to 1/q of
such units. The leading directions are kept; along the others the estimate stays at the
start. For a linear model this is the truncated singular value decomposition (Hansen,
Rank-Deficient and Discrete Ill-Posed Problems, 1998, section 3.2), with the start
instead of zero. A dropped direction has an error of as many units as the start is wrong
along it, a kept one has an error of 1/q: with a start known to one unit, the mean
square error is smallest if all directions with q >= 1 are kept.

In a nonlinear model the vectors rotate along the path. The solution is the point at
which the residuals are orthogonal to the kept directions, and the displacement from the
start to the dropped ones, both by the Jacobian there. If the dropped directions do not
affect the outputs at all, it is the point nearest to the start among all that fit the
data equally well (Eriksson, Wedin, Gulliksson and Soderkvist, Regularization methods
for uniformly rank-deficient nonlinear least-squares problems, J. Optimization Theory
and Applications 127, 2005). Here a search with stiff rows that hold the dropped
combinations at the start alternates with new singular vectors at its end. If the
directions at the start do not lead to a fit, it begins near the point of best fit that
is nearest to the start, which steps along the set of best fits reach.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import Estimate, HeldDirections
from fmident.evaluation import DirectionalDerivatives, Evaluator
from fmident.problem.model import Problem
from fmident.statistics.identifiability import analyse_rank
from fmident_estimators.descent import SearchedRows
from fmident_estimators.least_squares.search import (
    LocalResult,
    LocalSearch,
    Progress,
    Run,
    singular_directions,
)

_STIFFNESS = 1e4
"""Of the rows that hold, in the largest singular value of what they hold: what is held moves by the
square of its inverse of what the data want."""

_ROUNDS = 40
_PATIENCE = 3
"""Rounds after which a search that does not converge ends them."""

_SAME = 1e-6
"""Move from one round to the next, in units of the search space, that counts as none."""

_CLOSE = 1e-3
"""The same where further rounds do not help, because of errors of the derivatives."""

_SMALLEST_PART = 1.0 / 256.0
"""Part of the way that directions turn at least."""

_SLIDES = 100
"""Steps at most towards the start along what fits."""

_SMALLEST_SLIDE = 1e-6
"""Part of such a step, below which no nearer point is looked for."""

_MORE = 4.0
"""Increase of the cost, in variances of the noise, that counts as none."""

_STILL = 1e-9
"""Share of a parameter in the directions that move, below which it is where it started."""


@dataclass(frozen=True, eq=False)
class _Directions:
    """Directions that the data determine at a point.

    `kept` and `dropped` are orthonormal columns in the search space, shapes (n, r) and
    (n, k), zero for parameters on bounds, which `held` marks; `singular_values`, shape
    (r + k,), are those of the scaled Jacobian over the noise, descending.
    """

    kept: F64
    dropped: F64
    singular_values: F64
    held: npt.NDArray[np.bool_]

    @property
    def dropped_values(self) -> F64:
        """Singular values of the dropped directions."""
        return self.singular_values[self.kept.shape[1] :]


class HoldingRows(SearchedRows):
    """The residuals with rows, (k, n), that hold combinations of parameters at the start."""

    def __init__(self, problem: Problem, evaluator: Evaluator, rows: F64, start: F64) -> None:
        super().__init__(problem, evaluator)
        self._space, self._rows, self._start = evaluator.space, rows, start
        self.adds = True

    def residuals(self, p: F64) -> F64:
        """Return the residuals at a point, shape (m + k,); NaN where the simulation fails."""
        displacement = self._space.from_physical(p) - self._start
        return np.concatenate([super().residuals(p), self._rows @ displacement])

    def jacobian(self, p: F64) -> F64:
        """Return the derivatives with respect to the physical parameters, shape (m + k, n)."""
        return np.vstack([super().jacobian(p), self._rows / self._space.derivative(p)])

    def directional_derivatives(self, p: F64, directions: F64) -> DirectionalDerivatives:
        """Return accurate derivatives along directions, (n, k) -> (m + k, k), and their errors."""
        derivatives = super().directional_derivatives(p, directions)
        added = (self._rows / self._space.derivative(p)) @ directions
        return DirectionalDerivatives(np.vstack([derivatives.values, added]), derivatives.errors)


class _Continued(Progress):
    """Progress of successive searches, each of which starts at the end of the previous one."""

    def report(self, parameters: F64, cost: float, start: int = 1) -> None:
        """Report a point that is not the last one."""
        if not np.array_equal(parameters, self.best):
            self.best, self.cost = parameters.copy(), cost
            self.monitor.iteration(self.best, self.cost)


def truncated_estimate(run: Run, full: LocalResult) -> Estimate:
    """Return the estimate that moves only along directions that the data determine.

    `full`, the result of the search without held directions, gives the noise and the lowest
    cost.
    """
    monitor = run.progress.monitor
    truncation = _Truncation(dataclasses.replace(run, progress=_Continued(monitor)), full)
    there = truncation.at(full.parameters)
    if not there.dropped.shape[1]:
        monitor.note(
            "Nothing was truncated: the data determine all directions of the parameters better than"
            f" {truncation.rule}."
        )
        return Estimate(full.parameters, full.status, full.message, ended_by=full.ended_by)
    ended = truncation.run(run.problem.initial)
    if not ended.settled or truncation.misses(ended):
        other = truncation.nearest()
        if truncation.better(other, ended):
            ended = other
    return truncation.estimate(ended)


@dataclass(frozen=True, eq=False)
class _End:
    """Result of the rounds at physical parameters; `cost` is that of the data."""

    parameters: F64
    cost: float
    directions: _Directions
    last: LocalResult
    settled: bool
    rounds: int


class _Truncation:
    def __init__(self, run: Run, full: LocalResult) -> None:
        self._run, self._full = run, full
        self._problem, self._evaluator, self._options = run.problem, run.evaluator, run.options
        self._space = run.evaluator.space
        self._start = self._space.from_physical(run.problem.initial)
        self._noise = self._noise_at(full.parameters)

    @property
    def rule(self) -> str:
        """The rule in words, to follow "better than"."""
        if self._options.truncate == "auto":
            return "one unit of the start values (their scale, or a factor of e with log scaling)"
        return f"{self._options.truncate:g} of the largest singular value asks for"

    def _noise_at(self, p: F64) -> float:
        """Return the standard deviation of whitened residuals, at least the simulation noise."""
        if self._problem.sigma_known:
            return 1.0
        residuals = self._evaluator.residuals(p)
        rank = analyse_rank(self._evaluator.jacobian(p), self._evaluator.column_errors(p)).rank
        freedom = max(residuals.size - rank, 1)
        size = float(np.linalg.norm(residuals)) / float(np.sqrt(freedom))
        return max(size, self._evaluator.noise(p), float(np.finfo(np.float64).tiny))

    def _inside(self, p: F64) -> npt.NDArray[np.bool_]:
        """Return which parameters lie between their bounds."""
        inside: npt.NDArray[np.bool_] = (p > self._problem.lower) & (p < self._problem.upper)
        return inside

    def at(self, p: F64) -> _Directions:
        """Return the directions that the data determine at a point.

        A parameter on a bound stays there unless data or start pull it away.
        """
        z = self._space.from_physical(p)
        low, high = z - self._space.lower <= _SAME, self._space.upper - z <= _SAME
        directions = self._decomposed(p, np.ones(p.size, dtype=np.bool_))
        if not (low | high).any():
            return directions
        jacobian = self._evaluator.jacobian(p) * self._space.derivative(p)
        wanted = directions.dropped @ (directions.dropped.T @ (self._start - z))
        if directions.kept.shape[1]:
            responses = jacobian @ directions.kept
            wanted = wanted - directions.kept @ (
                np.linalg.pinv(responses) @ self._evaluator.residuals(p)
            )
        held = (low & ~(wanted > _SAME)) | (high & ~(wanted < -_SAME))
        return self._decomposed(p, ~held) if held.any() else directions

    def _decomposed(self, p: F64, free: npt.NDArray[np.bool_]) -> _Directions:
        """Return the directions of some parameters, the others held."""
        jacobian, errors = self._evaluator.jacobian(p)[:, free], self._evaluator.column_errors(p)
        singular, right = singular_directions(jacobian * self._space.derivative(p)[free])
        known = analyse_rank(jacobian, None if errors is None else errors[free]).rank
        limit = self._noise
        if self._options.truncate != "auto":
            limit = float(self._options.truncate or 0.0) * float(singular.max(initial=0.0))
        rank = min(int(np.count_nonzero((singular >= limit) & (singular > 0.0))), known)
        vectors = np.zeros((p.size, singular.size))
        vectors[free] = right.T
        return _Directions(vectors[:, :rank], vectors[:, rank:], singular / self._noise, ~free)

    def run(self, begin: F64) -> _End:
        """Alternate searches and new directions until nothing changes."""
        p, z = begin, self._space.from_physical(begin)
        directions = self.at(p)
        part, before, ranks = 1.0, np.zeros(p.size), [directions.kept.shape[1]]
        last, settled = self._full, False
        rounds = 0
        for rounds in range(1, _ROUNDS + 1):
            last = self._held(p, directions)
            p = last.parameters
            following = self.at(p)
            new = self._space.from_physical(p)
            move = new - z
            length = float(np.max(np.abs(move), initial=0.0))
            if rounds > 1 and length <= (_SAME if rounds < _ROUNDS // 2 else _CLOSE):
                settled = True
                break
            # Next to the limit the rank may come and go: then the smaller one stays.
            following = _with_rank(following, self._rank(ranks, following.kept.shape[1]))
            if rounds > _PATIENCE and last.status != "converged":
                break
            if rounds > 2:
                part = _relaxed(part, before, move)
            directions = _between(directions, following, part)
            z, before = new, move
        return _End(p, self._evaluator.cost(p), directions, last, settled, rounds)

    def nearest(self) -> _End:
        """Return the point nearest to the start among those that fit best.

        From the end of the search without held directions, steps along the dropped directions
        towards the start alternate with searches back to the best fit, until these come no
        nearer.
        """
        p, z = self._full.parameters, self._space.from_physical(self._full.parameters)
        directions, last, part, left = self.at(p), self._full, 1.0, np.inf
        tries = 0
        while tries < _SLIDES:
            step = directions.dropped @ (directions.dropped.T @ (self._start - z))
            left = float(np.max(np.abs(step), initial=0.0))
            if left <= _SAME or part < _SMALLEST_SLIDE:
                break
            tries += 1
            goal = np.clip(z + part * step, self._space.lower, self._space.upper)
            ended = self._held(self._space.to_physical(goal), directions, goal)
            new = self._space.from_physical(ended.parameters)
            nearer = np.linalg.norm(self._start - new) < np.linalg.norm(self._start - z)
            cost = self._evaluator.cost(ended.parameters)
            if nearer and cost <= self._evaluator.cost(p) + _MORE * self._noise**2:
                p, z, last, part = ended.parameters, new, ended, min(2.0 * part, 1.0)
                directions = self.at(p)
            else:
                part *= 0.25
        return _End(p, self._evaluator.cost(p), directions, last, left <= _CLOSE, tries)

    def better(self, one: _End, other: _End) -> bool:
        """Return whether one result is better than another."""
        ends = [(self.misses(end), not end.settled, end.cost) for end in (one, other)]
        return ends[0] < ends[1]

    @staticmethod
    def _rank(ranks: list[int], new: int) -> int:
        ranks.append(new)
        came_back = len(ranks) > 2 and ranks[-1] != ranks[-2] and ranks[-1] in ranks[:-2]
        return min(ranks[-2:]) if came_back or len(ranks) > _ROUNDS // 2 else new

    def _held(self, begin: F64, directions: _Directions, at: F64 | None = None) -> LocalResult:
        """Return the result of a search that holds dropped directions at `at` or the start."""
        largest = float(directions.dropped_values.max(initial=0.0))
        stiff = max(float(directions.singular_values.max(initial=0.0)), _STIFFNESS * largest)
        held = np.eye(self._start.size)[directions.held]
        rows = (stiff * self._noise or 1.0) * np.vstack([directions.dropped.T, held])
        where = self._start if at is None else at
        bound = np.clip(self._space.from_physical(begin), self._space.lower, self._space.upper)
        where = np.where(directions.held, bound, where)
        holding = HoldingRows(self._problem, self._evaluator, rows, where)
        return LocalSearch(self._run, begin, rows=holding).run()

    def misses(self, ended: _End) -> bool:
        """Return whether the cost is far higher than the dropped directions explain.

        Along a dropped direction the cost rises by ``q^2 / 2`` per squared unit.
        """
        dropped = ended.directions.dropped_values
        displacement = self._space.from_physical(self._full.parameters) - self._start
        along = ended.directions.dropped.T @ displacement
        explained = 0.5 * float(np.sum((dropped * along) ** 2)) * self._noise**2
        return ended.cost > self._full.cost + 4.0 * explained + _MORE * self._noise**2

    def estimate(self, ended: _End) -> Estimate:
        """Return the estimate, with a message about the directions it holds."""
        rank, count = ended.directions.kept.shape[1], ended.directions.singular_values.size
        message = (
            f"truncated: moved along {rank} of {count} directions, stayed at the start along the"
            f" other{'s' * (count - rank > 1)}; {ended.last.message}"
        )
        status, ended_by = ended.last.status, ended.last.ended_by
        if not ended.settled and status == "converged":
            status, ended_by = "limit", "stuck"
            message += (
                f"; but after {ended.rounds} rounds the directions still turn with the parameters:"
                ' start nearer, or search logarithms (scaling = "log")'
            )
        held = HeldDirections(
            ended.directions.kept,
            "relative" if self._options.truncate != "auto" else "noise",
            self._options.truncate if isinstance(self._options.truncate, float) else 1.0,
            self._full.cost,
        )
        if rank == count:  # bounds have left nothing open
            return Estimate(ended.parameters, status, ended.last.message, ended_by=ended_by)
        still = np.linalg.norm(ended.directions.kept, axis=1) <= _STILL
        return Estimate(
            np.where(
                still & self._inside(ended.parameters), self._problem.initial, ended.parameters
            ),
            status,
            message,
            {"rounds": ended.rounds},
            ended_by=ended_by,
            held_directions=held,
        )


def _relaxed(part: float, before: F64, move: F64) -> float:
    """Return the next fraction by which directions rotate, from two moves (Aitken).

    Irons and Tuck, A version of the Aitken accelerator for computer iteration,
    International Journal for Numerical Methods in Engineering 1, 1969.
    """
    size = float(before @ before)
    ratio = float(move @ before) / size if size > 0.0 else 0.0
    if ratio >= 1.0:
        return part
    return float(np.clip(part / (1.0 - ratio), _SMALLEST_PART, 1.0))


def _with_rank(directions: _Directions, rank: int) -> _Directions:
    """Return the directions with `rank` of them kept."""
    vectors = np.hstack([directions.kept, directions.dropped])
    return dataclasses.replace(directions, kept=vectors[:, :rank], dropped=vectors[:, rank:])


def _between(old: _Directions, new: _Directions, part: float) -> _Directions:
    """Return the new directions, rotated by only a part of the way from the old ones."""
    same = old.kept.shape == new.kept.shape and old.dropped.shape == new.dropped.shape
    if part >= 1.0 or not same:
        return new
    mixed = part * (new.dropped @ new.dropped.T) + (1.0 - part) * (old.dropped @ old.dropped.T)
    free: npt.NDArray[np.bool_] = np.any(np.hstack([new.kept, new.dropped]) != 0.0, axis=1)
    if not np.array_equal(free, np.any(np.hstack([old.kept, old.dropped]) != 0.0, axis=1)):
        return new
    rows = np.flatnonzero(free)
    _, vectors = np.linalg.eigh(mixed[np.ix_(rows, rows)])
    count = new.dropped.shape[1]
    everything = np.zeros((free.size, rows.size))
    everything[rows] = vectors[:, ::-1]  # those that are dropped first
    return dataclasses.replace(new, kept=everything[:, count:], dropped=everything[:, :count])
