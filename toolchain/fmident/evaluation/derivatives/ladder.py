"""Derivatives along directions by self-verifying central differences.

Each direction has a ladder of steps, with rungs a factor of 8 apart. The error of a
central difference has a part from noise, which decreases with the step, and one from
the third derivative, which increases with its square (Richardson, Phil. Trans. A 210,
1911); neither law holds where an integrator changes its steps or an event crosses a
sample. The error is therefore measured by the disagreement of neighbouring rungs,
whatever its cause. Each residual uses the pair of rungs that agree best. Extrapolated
differences count as rungs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from fmident.arrays import F64, root_mean_square
from fmident.evaluation.derivatives.noise import Flags, standing_out

FACTOR = 8.0
"""Ratio of neighbouring steps."""

_RUNGS = 7
"""Most steps per direction."""

_LONGER = 1.5
"""A longer step is worth two simulations from this ratio to the longest so far."""

_WIDE = 4.0
"""Ratio of two neighbouring steps between which there is room for another."""

_SIGNAL = 300.0
"""Times the noise of a difference by which the derivative should exceed it."""

_DOMINATED = 0.3
"""Part of a disagreement from which on noise explains it."""

_CLEAR = 2.0
"""Ratio of two disagreements that is no accident."""

_BLIND = 0.5
"""A step that moves less than this part of the residuals that others move is too short for outputs
that are rounded."""

_ASIDE = 0.05
"""One-sided when the bounds leave less than this part of the wanted step on one side."""

_ROUNDS = 4
"""Attempts to find two steps with which the simulation works."""


_SETTLED, _TYPICAL = 0.1, 3.0
"""Part of a derivative, and times the disagreement of other rows, by which two rungs may disagree
on a row that an event may cross."""

_FAMILIAR = 4.0
"""Times the largest derivative of all rows, from which on the disagreement of two rungs is that of
a jump."""


@dataclass(frozen=True)
class LadderDerivatives:
    """Derivatives along directions, shape (m, k), NaN where the simulations failed.

    `differences` are the disagreements of the two best estimates, shape (m, k); `steps` are
    the longest that most residuals use, shape (k,).
    """

    values: F64
    differences: F64
    steps: F64


@dataclass
class _Rail:
    """One direction with its rungs, shortest step first."""

    way: F64
    side: int
    reach: float
    steps: list[float] = field(default_factory=list)
    slopes: list[F64] = field(default_factory=list)
    floor: float = 0.0

    def put(self, step: float, slope: F64) -> None:
        place = int(np.searchsorted(self.steps, step))
        self.steps.insert(place, step)
        self.slopes.insert(place, slope)


class Ladder:
    """Differences along directions, with rungs added on request.

    `evaluate` returns residuals at points of the search space, (k, n) -> (k, m), NaN for
    failures; `base` are those at `z`. For each of k `directions`, shape (n, k), `reach` is
    the longest step and `expected` the approximate norm of the derivative. `noise` is the
    root mean square per residual.
    """

    def __init__(
        self,
        evaluate: Callable[[F64], F64],
        base: F64,
        z: F64,
        directions: F64,
        reach: F64,
        expected: F64,
        lower: F64,
        upper: F64,
        noise: float,
        groups: Sequence[slice] = (),
    ) -> None:
        self._evaluate, self._base, self._z = evaluate, base, z
        self._lower, self._upper = lower, upper
        self._noise, self._groups = noise, tuple(groups)
        self._rails = []
        for k in range(directions.shape[1]):
            way = directions[:, k]
            side, longest = room(z, way, float(reach[k]), lower, upper)
            if side != 0:
                longest *= 0.5
            self._rails.append(_Rail(way, side, longest))
        self._begin(expected)

    def climb(self, wanted: Sequence[int]) -> bool:
        """Add the steps that may improve these directions; return whether there are any."""
        more = {k: self._next(self._rails[k]) for k in wanted}
        more = {k: steps for k, steps in more.items() if steps}
        if more:
            self._simulate(more)
        return bool(more)

    def found(self) -> LadderDerivatives:
        """Return the result of the present rungs."""
        shape = (self._base.size, len(self._rails))
        values, differences = np.full(shape, np.nan), np.full(shape, np.nan)
        steps = np.zeros(len(self._rails))
        for k, rail in enumerate(self._rails):
            if len(rail.steps) > 1:
                pairs = self._pairs(rail)
                values[:, k], differences[:, k], best = _choose(pairs, self._groups)
                steps[k] = pairs[best].step
        return LadderDerivatives(values, differences, steps)

    def _begin(self, expected: F64) -> None:
        """Simulate the first two steps of each direction."""
        root = float(np.sqrt(self._base.size))
        wanted = {}
        for k, rail in enumerate(self._rails):
            if rail.reach <= 0.0:
                continue
            seen = float(expected[k])
            quiet = _SIGNAL * self._noise * root / seen if seen > 0.0 else np.inf
            longest = rail.reach
            if quiet < rail.reach:
                longest = min(rail.reach, float(np.sqrt(FACTOR * quiet * rail.reach)))
            size = np.abs(rail.way) > 0.0
            # The parameters must still move in floating-point numbers.
            rail.floor = 1e3 * float(
                np.max(np.spacing(np.abs(self._z[size])) / np.abs(rail.way[size]), initial=0.0)
            )
            longest = max(longest, min(rail.reach, FACTOR * rail.floor))
            wanted[k] = [longest / FACTOR, longest]
        for _ in range(_ROUNDS):
            self._simulate(wanted)
            wanted = {}
            for k, rail in enumerate(self._rails):
                if rail.reach > rail.floor and _still(rail):
                    # Outputs that are rounded do not notice steps that are too short.
                    wanted[k] = [rail.reach / FACTOR, rail.reach]
                elif rail.reach > rail.floor and len(rail.steps) < 2:
                    shortest = rail.steps[0] if rail.steps else rail.reach
                    wanted[k] = [shortest / FACTOR]
                    if not rail.steps:
                        wanted[k].append(shortest)
            if not wanted:
                return

    def _next(self, rail: _Rail) -> list[float]:
        if len(rail.steps) < 2 or len(rail.steps) >= _RUNGS:
            return []
        steps, slopes = _seen(rail)
        sizes = self._sizes(slopes)
        best = int(np.argmin(sizes))
        _, differences, _ = _choose(self._pairs(rail), self._groups)
        # Single residuals may want a shorter step than all others.
        single = float(np.sqrt(np.mean(differences**2))) > _CLEAR * sizes[best]
        longer = min(FACTOR * rail.steps[-1], rail.reach)
        can_grow = longer > _LONGER * rail.steps[-1]
        can_shrink = rail.steps[0] / FACTOR > rail.floor
        last = best == len(sizes) - 1
        wanted = []
        if can_grow and last:
            wanted.append(longer)
        elif steps[best + 1] > _WIDE * steps[best]:
            # Two long steps that are nearer to each other have less noise in their difference.
            middle = 0.5 * steps[-1] if last else float(np.sqrt(steps[best] * steps[best + 1]))
            wanted.append(middle)
        if can_shrink and (best == 0 or single):
            wanted.append(rail.steps[0] / FACTOR)
        return wanted

    def _sizes(self, slopes: Sequence[F64]) -> list[float]:
        """Return the root mean square disagreements of neighbouring rungs."""
        return [_rms(b - a, self._groups) for a, b in pairwise(slopes)]

    def _simulate(self, wanted: dict[int, list[float]]) -> None:
        points = []
        for k, steps in wanted.items():
            rail = self._rails[k]
            factors = (1.0, -1.0) if rail.side == 0 else (rail.side * 1.0, rail.side * 2.0)
            points += [self._z + f * h * rail.way for h in steps for f in factors]
        if not points:
            return
        residuals = self._evaluate(np.clip(np.array(points), self._lower, self._upper))
        row = 0
        for k, steps in wanted.items():
            rail = self._rails[k]
            for h in steps:
                first, second = residuals[row : row + 2]
                row += 2
                if rail.side == 0:
                    slope = (first - second) / (2.0 * h)
                else:
                    slope = rail.side * (4.0 * first - second - 3.0 * self._base) / (2.0 * h)
                if bool(np.isfinite(slope).all()):
                    rail.put(h, slope)
                else:
                    rail.reach = min(rail.reach, h / FACTOR)

    def _pairs(self, rail: _Rail) -> list[_Pair]:
        steps, slopes = _seen(rail)
        sizes = self._sizes(slopes)
        expected = self._noise / (np.sqrt(2.0) * steps[0])
        noisy = [expected > _DOMINATED * sizes[0]]
        noisy += [before > _CLEAR * size for before, size in pairwise(sizes)]
        better = [
            a + (a - b) / ((long / short) ** 2 - 1.0)
            for (a, b), (short, long) in zip(pairwise(slopes), pairwise(steps), strict=True)
        ]
        pairs = [
            _Pair(a, b, quiet, step)
            for (a, b), quiet, step in zip(pairwise(slopes), noisy, steps[1:], strict=True)
        ]
        pairs += [
            _Pair(a, b, quiet, step)
            for (a, b), quiet, step in zip(pairwise(better), noisy[1:], steps[2:], strict=True)
        ]
        return pairs


def _seen(rail: _Rail) -> tuple[list[float], list[F64]]:
    """Return steps and slopes, without steps too short for rounded outputs to change."""
    counts = [int(np.count_nonzero(s)) for s in rail.slopes]
    seen = [k for k, count in enumerate(counts) if count >= _BLIND * max(counts)]
    if len(seen) < 2:
        return rail.steps, rail.slopes
    return [rail.steps[k] for k in seen], [rail.slopes[k] for k in seen]


def _still(rail: _Rail) -> bool:
    """Return whether nothing has changed so far although longer steps are possible."""
    changes = any(bool(s.any()) for s in rail.slopes)
    return len(rail.steps) > 1 and not changes and rail.reach > _LONGER * rail.steps[-1]


@dataclass(frozen=True)
class _Pair:
    """Two estimates of a derivative, the one with shorter steps first."""

    shorter: F64
    longer: F64
    noisy: bool
    step: float

    @property
    def value(self) -> F64:
        """The better estimate: if noise makes them differ, that with the longer step."""
        return self.longer if self.noisy else self.shorter


def _choose(pairs: Sequence[_Pair], groups: Sequence[slice]) -> tuple[F64, F64, int]:
    """Return per row the value and disagreement of the best pair, and that of most rows."""
    differences = np.array([p.longer - p.shorter for p in pairs])
    values = np.array([p.value for p in pairs])
    typical = np.empty_like(differences)
    for k, row in enumerate(differences):
        for rows in groups or (slice(None),):
            typical[k, rows] = _rms(row[rows], ())
    # That two numbers are close by accident must not decide: rows as others of their group are
    # take the pair that is best for these.
    chosen = np.argmin(np.maximum(np.abs(differences), 2.0 * typical), axis=0)
    index = np.arange(chosen.size)
    best = int(np.bincount(chosen, minlength=len(pairs)).argmax()) if chosen.size else 0
    return values[chosen, index], differences[chosen, index], best


def _rms(row: F64, groups: Sequence[slice]) -> float:
    """Return the root mean square of the rows that are not outliers."""
    out = standing_out(row, 0.0, groups=groups or (slice(None),))
    return root_mean_square(row[~out])


def room(z: F64, direction: F64, reach: float, lower: F64, upper: F64) -> tuple[int, float]:
    """Return the side, 0 for both, and the longest step up to `reach` inside the bounds."""
    moving = direction != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (upper - z) / direction, (lower - z) / direction
    forth = float(np.min(np.maximum(up, down)[moving], initial=np.inf))
    back = float(np.min(-np.minimum(up, down)[moving], initial=np.inf))
    both = min(forth, back)
    if both >= _ASIDE * min(reach, max(forth, back)):
        return 0, min(reach, both)
    return (1, min(reach, forth)) if forth > back else (-1, min(reach, back))


class Climb:
    """Directional derivatives that improve with every round of simulations.

    `known` are those by the Jacobian, right for rows crossed by events, shape (m, k); rows
    that may be crossed are marked, shape (m,).
    """

    def __init__(self, ladder: Ladder, known: F64, crossed: Flags) -> None:
        self._ladder, self._known, self._crossed = ladder, known, crossed

    def refine(self, wanted: Sequence[int]) -> bool:
        """Simulate for these directions; return whether any step was left to try."""
        return self._ladder.climb(wanted)

    def found(self) -> LadderDerivatives:
        """Return the current results, shape (m, k)."""
        derivatives = self._ladder.found()
        rows = np.flatnonzero(self._crossed)
        if rows.size == 0:
            return derivatives
        values, differences = derivatives.values.copy(), derivatives.differences.copy()
        # The quotient of a jump is larger than all derivatives by about the width of a peak over
        # the step.
        familiar = np.max(np.abs(self._known), axis=0, initial=0.0)
        torn = rows[~(np.abs(differences[rows]) <= _FAMILIAR * familiar).all(axis=1)]
        typical = np.sqrt(np.mean(differences[~self._crossed] ** 2, axis=0))
        allowed = _SETTLED * np.abs(values[rows]) + _TYPICAL * typical
        open_ones = rows[~(np.abs(differences[rows]) <= allowed).all(axis=1)]
        # Until the rungs agree, the Jacobian that events were looked for in is as good.
        apart = np.maximum(np.abs(differences), np.abs(values - self._known))
        differences[open_ones] = apart[open_ones]
        values[open_ones] = self._known[open_ones]
        values[torn], differences[torn] = self._known[torn], 0.0
        return LadderDerivatives(values, differences, derivatives.steps)
