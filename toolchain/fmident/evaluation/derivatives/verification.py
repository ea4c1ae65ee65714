"""Verification of derivatives: by other steps, other tolerances, and along directions.

A difference with a much longer step, or a sensitivity at a hundredth of the tolerance, shows how
far a derivative is off, unless parameters nearly cancel. A direction in which their effects do can
be followed much farther than any of them alone, so that its small derivative stands out of the
simulation's noise. Each direction has a ladder of steps, with rungs a factor of 8 apart. The error
of a central difference has a part from noise, which decreases with the step, and one from
the third derivative, which increases with its square (Richardson, Phil. Trans. A 210,
1911); neither law holds where an integrator changes its steps or an event crosses a
sample. The error is therefore measured by the disagreement of neighbouring rungs,
whatever its cause. Each residual uses the pair of rungs that agree best. Extrapolated
differences count as rungs, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from fmident.arrays import F64, Flags, root_mean_square
from fmident.evaluation.derivatives.differences import (
    JacobianError,
    Neighbourhood,
    StepSizes,
    longest_step,
    standing_out,
)
from fmident.evaluation.derivatives.jacobians import Derivatives
from fmident.evaluation.solver_error import TIGHTER, TIGHTEST
from fmident.findings import Finding, finding

_EPS = float(np.finfo(np.float64).eps)

# ----------------------------------------------------------------- one other step

_BENT = 0.006
"""Part of a column that curvature may add to a difference with a longer step, twice."""

_APART = 100.0
"""Ratio of the longest such step to the one used from which on a second one says something."""

_SHORTER, _QUIET = 0.03, 1e-5
"""A shorter step in place of a longer one, and part of the column that noise may be there."""

# ------------------------------------------------------------------------ ladders

_FACTOR = 8.0
"""Ratio of neighbouring steps."""

_RUNGS = 7
"""Most steps per direction."""

_LONGER = 1.5
"""A longer step is worth two simulations from this ratio to the longest so far."""

_WIDE = 4.0
"""Ratio of two neighbouring steps between which there is room for another."""

_SIGNAL = 300.0
"""Ratio of the derivative to the noise of a difference that steps are chosen for."""

_DOMINATED = 0.3
"""Part of a disagreement from which on noise explains it."""

_CLEAR = 2.0
"""Ratio of two disagreements that is no accident."""

_BLIND = 0.5
"""A step that moves less than this part of the residuals that others move is too short for outputs
that are rounded."""

_ASIDE = 0.05
"""Part of the wanted step; where the bounds leave less on one side, the difference is one-sided."""

_ROUNDS = 4
"""Attempts to find two steps with which the simulation works."""

_SETTLED, _TYPICAL = 0.1, 3.0
"""Part of a derivative, and times the disagreement of other rows, by which two rungs may disagree
on a row that an event may cross."""

_FAMILIAR = 4.0
"""Times the largest derivative of all rows, from which on the disagreement of two rungs is that of
a jump: the quotient of a jump is larger by about the width of a peak over the step."""

_FARTHEST = 0.2
"""Largest relative change of a parameter along a direction."""

_LARGEST_CHANGE = 0.1
"""Largest expected change of the outputs, in relation to their size."""

_CLIMBS, _ENOUGH = 4, 1e-3
"""Rounds of a directional derivative, and its relative error that needs no better step."""

# ------------------------------------------------------------- what suffices

_CRUDE = 0.003
"""Relative error of the derivative along a direction from which on it is worth another step."""

_LIMITED = 0.01
"""The same if the error of the integration were all jumps, for the longest step."""

_UNDETERMINED = 0.25
"""Relative standard error from which on a parameter counts as not determined."""

_INVISIBLE = 0.5
"""Part of a column from which on it may be error alone."""

_TIGHTENINGS = 2
_TIGHTEST = 1e-12
_LEAST_TIGHTENING = 0.1


@dataclass(frozen=True)
class Judgement:
    """How far a Jacobian of known error suffices for what is computed from it.

    Parameters
    ----------
    enough
        Whether more exact derivatives would change nothing that matters.
    doubt
        The less, the better; compared as a tuple.
    complete
        Whether every direction is determined.
    noise
        Standard deviation of a residual.
    rows
        The Jacobian that counts, shape (r, k): weighted, with rows of priors.
    """

    enough: bool
    doubt: tuple[float, ...]
    complete: bool
    noise: float
    rows: F64


Judge = Callable[[F64, F64], Judgement]
"""Judges a Jacobian with the errors of its entries, shape (m, k) each."""


@dataclass(frozen=True)
class VerifiedJacobian:
    """Derivatives of the residuals of the data along k directions, and how far they are off.

    Parameters
    ----------
    jacobian, errors
        Shape (m, k). An error is the difference to another estimate, so that `errors` times a
        vector is the error along it: 0 where the derivative is exact, infinite where it was found
        wrong, at samples that an event crosses for every step. A Jacobian with one estimate only
        has expected errors.
    tolerance
        Of its simulations, where that of the problem did not suffice.
    """

    jacobian: F64
    errors: F64
    tolerance: float | None = None


def verified_jacobian(
    derivatives: Derivatives,
    point: F64,
    judge: Judge,
    directions: F64 | None = None,
    weights: F64 | None = None,
) -> VerifiedJacobian:
    """Return derivatives at `point` that are as exact as `judge` needs them.

    Exact ones are compared with those at a hundredth of the tolerance, which replace them if the
    difference matters. Differences are compared with others by far longer steps; where that leaves
    something open, they are taken along the singular directions of the Jacobian, by ladders of
    steps, and if no rung suffices, with a tighter tolerance, unless the FMU ignores it.
    `directions` are in physical parameters, shape (n, k), by default each parameter; `weights` are
    those of the residuals, shape (m,).
    """
    directions = np.eye(point.size) if directions is None else directions
    jacobian = derivatives.jacobian(point)
    weights = np.ones(len(jacobian)) if weights is None else weights
    verification = _Verification(derivatives, point, judge, directions, weights)
    if derivatives.is_given(point) or not directions.size:
        verified = verification.expected()
    elif derivatives.is_exact(point):
        verified = verification.by_tolerance()
    else:
        verified = verification.by_steps()
    errors = verified.errors.copy()
    last = derivatives.last_at(point)
    for crossing in () if last is None else last.crossings:
        moving = np.flatnonzero(directions[crossing.column])
        errors[np.ix_(crossing.rows[~crossing.resolved], moving)] = np.inf
    return replace(verified, errors=errors)


def tightened_note(tolerance: float, own: float | None, *, exact: bool) -> Finding:
    """Return the note that derivatives took a tighter `tolerance` than the problem's `own`."""
    what = "the sensitivities are not" if exact else "no step of the finite differences is"
    before = "the FMU's own" if own is None else f"{own:g}"
    return finding(
        "derivatives-tightened",
        f"The derivatives behind the intervals were simulated with the tolerance {tolerance:g}:"
        f" with {before}, {what} exact enough",
    )


class _Verification:
    """Verification of derivatives at a point, along directions of shape (n, k)."""

    def __init__(
        self, derivatives: Derivatives, point: F64, judge: Judge, directions: F64, weights: F64
    ) -> None:
        self._derivatives, self._point, self._judge = derivatives, point, judge
        self._directions, self._weights = directions, weights
        self._jacobian = derivatives.jacobian(point) @ directions
        scales = np.array([q.scale for q in derivatives.runs.problem.free])
        self._sizes = np.where(point == 0.0, scales, np.abs(point))

    @cached_property
    def _integration(self) -> float:
        """Norm of the error of the integration in the residuals; 0 if it is not known."""
        base = self._derivatives.base(self._point)
        error = self._derivatives.integration.error(self._point, base)
        return 0.0 if error is None else float(np.linalg.norm(error))

    def expected(self) -> VerifiedJacobian:
        """Return the Jacobian with the errors that are expected without a comparison."""
        columns = self._derivatives.column_errors(self._point)
        errors = np.zeros(len(self._directions)) if columns is None else columns
        entries = np.sqrt(errors**2 @ self._directions**2 / max(len(self._jacobian), 1))
        return VerifiedJacobian(self._jacobian, np.tile(entries, (len(self._jacobian), 1)))

    def by_tolerance(self) -> VerifiedJacobian:
        """Return exact derivatives, compared with those at tighter tolerances."""
        derivatives, own = self._derivatives, self._derivatives.runs.tolerance
        other = other_columns(derivatives, self._point)
        if other is None or not bool(np.isfinite(other).all()) or own is None:
            return self.expected()
        jacobian, other = self._jacobian, other @ self._directions
        tolerance: float | None = None
        candidates = []
        for attempt in range(_TIGHTENINGS + 1):
            verified = VerifiedJacobian(jacobian, other - jacobian, tolerance)
            judgement = self._judge(verified.jacobian, verified.errors)
            candidates.append((judgement.doubt, attempt, verified))
            tolerance = own * TIGHTER ** (attempt + 1)
            following = max(tolerance * TIGHTER, TIGHTEST)
            if judgement.enough or attempt == _TIGHTENINGS or following >= tolerance:
                break
            tightest = exact_jacobian(derivatives, self._point, following)
            if tightest is None:
                break
            jacobian, other = other, tightest @ self._directions
        return min(candidates)[-1]

    def by_steps(self) -> VerifiedJacobian:
        """Return differences, compared with longer steps or by ladders, at tighter tolerances."""
        spread = self._spread()
        if spread is not None:
            judgement = self._judge(self._jacobian, spread)
            if judgement.complete and judgement.enough and self._limit(judgement, spread) >= 1.0:
                return VerifiedJacobian(self._jacobian, spread)
        own, tolerance = self._derivatives.runs.tolerance, None
        start = np.zeros_like(self._jacobian) if spread is None else spread
        ways = self._singular(self._jacobian, start)
        candidates = []
        for attempt in range(_TIGHTENINGS + 1):
            verified, judgement, share = self._climbed(ways, tolerance)
            candidates.append((judgement.doubt, attempt, verified))
            present = own if tolerance is None else tolerance
            sufficient = judgement.enough and share >= 1.0
            if sufficient or not self._integration or present is None or attempt == _TIGHTENINGS:
                break
            tighter = max(present * min(share, _LEAST_TIGHTENING), _TIGHTEST)
            if tighter >= present:
                break
            tolerance = float(f"1e{int(np.floor(np.log10(tighter) + 1e-9))}")
            ways = self._singular(verified.jacobian, verified.errors)
        return candidates[-1][-1] if sufficient else min(candidates)[-1]

    def _spread(self) -> F64 | None:
        """Return the difference to a Jacobian by longer steps; ``None`` if there is none."""
        other = other_columns(self._derivatives, self._point)
        moving = (self._directions != 0.0).any(axis=1)
        if other is None or not bool(np.isfinite(other[:, moving]).all()):
            return None
        spread: F64 = np.where(moving, other, 0.0) @ self._directions - self._jacobian
        return spread

    def _climbed(
        self, ways: F64, tolerance: float | None
    ) -> tuple[VerifiedJacobian, Judgement, float]:
        """Return derivatives by ladders along `ways`, combinations of the directions, (k, k).

        The number is the part of the present tolerance that would suffice, 1 if that does.
        """
        own = self._derivatives.runs.tolerance
        finer = 1.0 if own is None or tolerance is None else tolerance / own
        noise = self._integration * finer / np.sqrt(len(self._jacobian))
        along = self._directions @ ways
        ladder = ladder_along(self._derivatives, self._point, along, noise, tolerance)
        for number in range(_ROUNDS + 1):
            values, apart = ladder.derivatives()
            failed = ~np.isfinite(values).all(axis=0)
            values = np.where(failed, self._jacobian @ ways, values)
            apart = np.where(failed, values, apart)
            jacobian = np.asarray(np.linalg.solve(ways.T, values.T).T, dtype=np.float64)
            spread = np.asarray(np.linalg.solve(ways.T, apart.T).T, dtype=np.float64)
            judgement = self._judge(jacobian, spread)
            if judgement.enough or number == _ROUNDS:
                break
            lengths = self._lengths(apart)
            needed = np.maximum(self._lengths(values), self._relevant(ways, judgement))
            if not ladder.refine([int(k) for k in np.flatnonzero(lengths > _CRUDE * needed)]):
                break
        share = self._limit(judgement, spread, finer)
        if not judgement.enough:
            worst = float(np.max(self._lengths(apart) / np.maximum(needed, _EPS), initial=0.0))
            share = min(share, _CRUDE / worst if worst > 0.0 else 1.0)
        return VerifiedJacobian(jacobian, spread, tolerance), judgement, share

    def _limit(self, judgement: Judgement, spread: F64, finer: float = 1.0) -> float:
        """Return the fraction of the tolerance at which integration does not limit derivatives.

        The integration error could be all jumps, or depend on the parameters: along the longest
        step it changes the derivative by its size over the step. 1 if that does not matter.
        """
        if not self._integration:
            return 1.0
        ways = self._singular(judgement.rows, self._weights[:, np.newaxis] * spread)
        visible = np.linalg.norm(judgement.rows @ ways, axis=0)
        needed = np.maximum(visible, self._relevant(ways, judgement))
        allowed = _LIMITED * needed * _FARTHEST / self._shifts(ways)
        return float(np.min(allowed / (self._integration * finer), initial=1.0))

    def _relevant(self, ways: F64, judgement: Judgement) -> F64:
        """Return the smallest derivative along each way that the data determine, (k,)."""
        relevant: F64 = judgement.noise * self._shifts(ways) / _UNDETERMINED
        return np.nan_to_num(relevant)

    def _shifts(self, ways: F64) -> F64:
        """Return the largest relative change of a parameter along each way, shape (k,)."""
        changes = np.abs(self._directions @ ways) / self._sizes[:, np.newaxis]
        shifts: F64 = np.max(changes, axis=0)
        return shifts

    def _lengths(self, columns: F64) -> F64:
        lengths: F64 = np.linalg.norm(self._weights[:, np.newaxis] * columns, axis=0)
        return lengths

    @staticmethod
    def _singular(jacobian: F64, spread: F64) -> F64:
        """Return the singular directions of a Jacobian of scaled columns, shape (k, k).

        In each, the scaled parameters move by 1 in total. A column that is smaller than its
        error is scaled by that error.
        """
        errors = np.linalg.norm(spread, axis=0)
        norms = np.maximum(np.linalg.norm(jacobian, axis=0), errors)
        norms = np.where(norms > 0.0, norms, 1.0)
        scaled = jacobian / norms
        scaled[:, norms <= errors / _INVISIBLE] = 0.0
        _, _, right = np.linalg.svd(np.linalg.qr(scaled, mode="r"), full_matrices=True)
        ways: F64 = right.T / norms[:, np.newaxis]
        return ways


@dataclass(frozen=True)
class DirectionalDerivatives:
    """Derivatives of the residuals along directions, shape (m, k), NaN if all failed.

    `errors` are measured norms, shape (k,), infinite for NaN.
    """

    values: F64
    errors: F64


def directional_derivatives(
    derivatives: Derivatives, point: F64, directions: F64
) -> DirectionalDerivatives:
    """Return derivatives along `directions`, (n, k), in physical parameters."""
    jacobian = derivatives.jacobian(point)
    if derivatives.is_exact(point):
        other = other_columns(derivatives, point)
        derivatives.runs.counts.add(jacobians=1)
        if other is not None and bool(np.isfinite(other).all()):
            # The tighter ones are the better ones.
            apart = np.linalg.norm((other - jacobian) @ directions, axis=0)
            return DirectionalDerivatives(other @ directions, apart)
        errors = derivatives.column_errors(point)
        assert errors is not None
        return DirectionalDerivatives(jacobian @ directions, errors @ np.abs(directions))
    ladder = ladder_along(derivatives, point, directions)
    for _ in range(_CLIMBS):
        values, differences = ladder.derivatives()
        crude = np.linalg.norm(differences, axis=0) > _ENOUGH * np.linalg.norm(values, axis=0)
        if not ladder.refine([int(k) for k in np.flatnonzero(crude)]):
            break
    values, differences = ladder.derivatives()
    lengths = np.linalg.norm(differences, axis=0)
    return DirectionalDerivatives(values, np.where(np.isnan(lengths), np.inf, lengths))


def other_columns(derivatives: Derivatives, point: F64) -> F64 | None:
    """Return the Jacobian at `point` with other, much longer steps, shape (m, n).

    To first order in the steps, which are as long as the measured curvature allows, the
    derivatives are the same, so that noise mistaken for a slope becomes visible. A column
    whose step is already long gets a shorter one. Exact columns use a tighter tolerance.

    Columns that fail or have no such step are NaN. ``None`` if the Jacobian was not
    computed here, or events cross rows.
    """
    last = derivatives.last_at(point)
    if last is None or last.crossings:
        return None
    base, integration = derivatives.base(point), derivatives.integration
    matrix = np.full(last.jacobian.shape, np.nan)
    if exact := derivatives.last_exact:
        integration.error(point, base)
        tighter = integration.tighter
        if tighter is not None and derivatives.exact.knows(point, tighter):
            tight = derivatives.exact.at(point, tighter)
            assert tight is not None
            matrix[:, exact] = tight.jacobian
    if (columns := derivatives.last_differenced) and derivatives.steps is not None:
        around, size = derivatives.around(point, base), derivatives.parameter_size(point)
        offsets = _other_offsets(around, derivatives.steps, last.jacobian, size, columns)
        slope = derivatives.space.derivative(point)
        for j, sample in zip(offsets, around.samples(list(offsets.items())), strict=True):
            if sample is not None:
                matrix[:, j] = sample.slope / slope[j]
    return matrix


def _other_offsets(
    around: Neighbourhood, steps: StepSizes, jacobian: F64, size: F64, columns: Sequence[int]
) -> dict[int, float]:
    """Return another offset for each of the `columns` that has one.

    `jacobian` is that of the original `steps`, shape (m, n).
    """
    root, longest = np.sqrt(around.base.size), longest_step(around, size)
    offsets = {}
    for j in columns:
        used = float(steps.steps[j])
        length = float(np.linalg.norm(jacobian[:, j]))
        bend = float(np.nan_to_num(steps.curvature[j])) * root
        most = min(float(longest[j]), _BENT * length / bend if bend > 0.0 else np.inf)
        if most >= _APART * used:
            length = float(np.sqrt(used * most))
        elif steps.noise_or_rounding * root <= _QUIET * length * used:
            length = _SHORTER * used  # the step is the longest there is: almost no noise
        else:
            continue
        offset = around.inside(j, float(-np.sign(around.inside(j, used)) * length))
        if abs(offset) > 0.5 * length:
            offsets[j] = offset
    return offsets


def exact_jacobian(derivatives: Derivatives, point: F64, tolerance: float) -> F64 | None:
    """Return the exact Jacobian at another tolerance, or ``None``."""
    exact = derivatives.exact
    linearised = None if exact.others else exact.at(point, tolerance)
    return None if linearised is None else linearised.jacobian.copy()


def ladder_along(
    derivatives: Derivatives,
    point: F64,
    directions: F64,
    noise: float = 0.0,
    tolerance: float | None = None,
) -> Ladder:
    """Return a ladder along physical `directions`, shape (n, k).

    `noise` per residual is used if it is more than measured; `tolerance` replaces the problem's.
    """
    runs, space = derivatives.runs, derivatives.space
    jacobian = derivatives.jacobian(point)
    base, steps = derivatives.base(point), derivatives.measure_steps(point)
    if tolerance is not None:
        base = runs.probe(point[np.newaxis, :], tolerance)[0]
        if not bool(np.isfinite(base).all()):
            raise JacobianError(
                f"the simulation fails at the tolerance {tolerance:g}: {runs.reason()}"
            )
    # Rows that an event crosses may have no difference along any step.
    crossed = np.zeros(base.size, dtype=np.bool_)
    last = derivatives.last_at(point)
    for crossing in () if last is None else last.crossings:
        crossed[crossing.rows] = True
    known = jacobian @ directions
    expected = np.linalg.norm(known[~crossed], axis=0)
    ways = directions / space.derivative(point)[:, np.newaxis]
    # Steps that change the outputs by about their own size.
    visible = runs.output_magnitude(base) * np.sqrt(base.size) / np.maximum(expected, _EPS)
    with np.errstate(divide="ignore"):
        far = _FARTHEST * derivatives.parameter_size(point)[:, np.newaxis] / np.abs(ways)
    reach = np.minimum(far.min(axis=0), _LARGEST_CHANGE * visible)
    runs.counts.add(jacobians=1)
    return Ladder(
        derivatives.around(point, base, tolerance),
        ways,
        reach,
        expected,
        max(steps.noise_or_rounding, noise),
        known,
        crossed,
    )


@dataclass
class _Rail:
    """One direction with its rungs, shortest step first; `side` is 0 for central differences."""

    direction: F64
    side: int
    reach: float
    steps: list[float] = field(default_factory=list)
    slopes: list[F64] = field(default_factory=list)
    floor: float = 0.0

    def put(self, step: float, slope: F64) -> None:
        place = int(np.searchsorted(self.steps, step))
        self.steps.insert(place, step)
        self.slopes.insert(place, slope)

    def visible(self) -> tuple[list[float], list[F64]]:
        """Return steps and slopes, without steps too short for rounded outputs to change."""
        counts = [int(np.count_nonzero(s)) for s in self.slopes]
        visible = [k for k, count in enumerate(counts) if count >= _BLIND * max(counts)]
        if len(visible) < 2:
            return self.steps, self.slopes
        return [self.steps[k] for k in visible], [self.slopes[k] for k in visible]

    def is_still(self) -> bool:
        """Return whether nothing has changed so far although longer steps are possible."""
        changes = any(bool(s.any()) for s in self.slopes)
        return len(self.steps) > 1 and not changes and self.reach > _LONGER * self.steps[-1]


class Ladder:
    """Differences along directions, with rungs added on request.

    For each of k `directions` of the search space, shape (n, k), `reach` is the longest step and
    `expected` the approximate norm of the derivative. `noise` is the root mean square per residual.
    `known` are derivatives that are right for rows `crossed` by events, shapes (m, k) and (m,).
    """

    def __init__(
        self,
        around: Neighbourhood,
        directions: F64,
        reach: F64,
        expected: F64,
        noise: float,
        known: F64 | None = None,
        crossed: Flags | None = None,
    ) -> None:
        self._around, self._noise, self._groups = around, noise, tuple(around.groups)
        self._known, self._crossed = known, crossed
        self._rails = []
        for direction, longest in zip(directions.T, reach, strict=True):
            side, length = _room(around, direction, float(longest))
            self._rails.append(_Rail(direction, side, length if side == 0 else 0.5 * length))
        self._begin(expected)

    def refine(self, directions: Sequence[int]) -> bool:
        """Add the steps that may improve these directions; return whether there are any."""
        steps = {k: self._next(self._rails[k]) for k in directions}
        steps = {k: own for k, own in steps.items() if own}
        self._simulate(steps)
        return bool(steps)

    def derivatives(self) -> tuple[F64, F64]:
        """Return the derivatives by the present rungs, and disagreements, shape (m, k) each.

        NaN where the simulations failed.
        """
        shape = (self._around.base.size, len(self._rails))
        values, differences = np.full(shape, np.nan), np.full(shape, np.nan)
        for k, rail in enumerate(self._rails):
            if len(rail.steps) > 1:
                values[:, k], differences[:, k] = _choose(self._pairs(rail), self._groups)
        if self._known is not None and self._crossed is not None and bool(self._crossed.any()):
            self._settle_crossed(values, differences, self._known, self._crossed)
        return values, differences

    @staticmethod
    def _settle_crossed(values: F64, differences: F64, known: F64, crossed: Flags) -> None:
        """Replace, in place, the derivatives of rows crossed by events on which rungs disagree."""
        rows = np.flatnonzero(crossed)
        familiar = np.max(np.abs(known), axis=0, initial=0.0)
        torn = rows[~(np.abs(differences[rows]) <= _FAMILIAR * familiar).all(axis=1)]
        typical = np.sqrt(np.mean(differences[~crossed] ** 2, axis=0))
        allowed = _SETTLED * np.abs(values[rows]) + _TYPICAL * typical
        unsettled = rows[~(np.abs(differences[rows]) <= allowed).all(axis=1)]
        # Until the rungs agree, the Jacobian that events were looked for in is as good.
        apart = np.maximum(np.abs(differences), np.abs(values - known))
        differences[unsettled] = apart[unsettled]
        values[unsettled] = known[unsettled]
        values[torn], differences[torn] = known[torn], 0.0

    def _begin(self, expected: F64) -> None:
        """Simulate the first two steps of each direction."""
        z, root = self._around.z, float(np.sqrt(self._around.base.size))
        steps = {}
        for k, rail in enumerate(self._rails):
            if rail.reach <= 0.0:
                continue
            seen = float(expected[k])
            quiet = _SIGNAL * self._noise * root / seen if seen > 0.0 else np.inf
            longest = rail.reach
            if quiet < rail.reach:
                longest = min(rail.reach, float(np.sqrt(_FACTOR * quiet * rail.reach)))
            size = np.abs(rail.direction) > 0.0
            # The parameters must still move in floating-point numbers.
            rail.floor = 1e3 * float(
                np.max(np.spacing(np.abs(z[size])) / np.abs(rail.direction[size]), initial=0.0)
            )
            longest = max(longest, min(rail.reach, _FACTOR * rail.floor))
            steps[k] = [longest / _FACTOR, longest]
        for _ in range(_ROUNDS):
            self._simulate(steps)
            steps = {}
            for k, rail in enumerate(self._rails):
                if rail.reach > rail.floor and rail.is_still():
                    # Outputs that are rounded do not notice steps that are too short.
                    steps[k] = [rail.reach / _FACTOR, rail.reach]
                elif rail.reach > rail.floor and len(rail.steps) < 2:
                    shortest = rail.steps[0] if rail.steps else rail.reach
                    steps[k] = [shortest / _FACTOR, *([] if rail.steps else [shortest])]

    def _next(self, rail: _Rail) -> list[float]:
        if len(rail.steps) < 2 or len(rail.steps) >= _RUNGS:
            return []
        steps, slopes = rail.visible()
        sizes = self._sizes(slopes)
        best = int(np.argmin(sizes))
        _, differences = _choose(self._pairs(rail), self._groups)
        # Single residuals may want a shorter step than all others.
        single = float(np.sqrt(np.mean(differences**2))) > _CLEAR * sizes[best]
        longer = min(_FACTOR * rail.steps[-1], rail.reach)
        last = best == len(sizes) - 1
        more = []
        if last and longer > _LONGER * rail.steps[-1]:
            more.append(longer)
        elif steps[best + 1] > _WIDE * steps[best]:
            # Two long steps that are nearer to each other have less noise in their difference.
            more.append(0.5 * steps[-1] if last else float(np.sqrt(steps[best] * steps[best + 1])))
        if rail.steps[0] / _FACTOR > rail.floor and (best == 0 or single):
            more.append(rail.steps[0] / _FACTOR)
        return more

    def _sizes(self, slopes: Sequence[F64]) -> list[float]:
        return [_rms(b - a, self._groups) for a, b in pairwise(slopes)]

    def _simulate(self, steps: dict[int, list[float]]) -> None:
        around, z = self._around, self._around.z
        points = []
        for k, own in steps.items():
            rail = self._rails[k]
            factors = (1.0, -1.0) if rail.side == 0 else (rail.side * 1.0, rail.side * 2.0)
            points += [z + f * h * rail.direction for h in own for f in factors]
        if not points:
            return
        residuals = iter(around.evaluate(np.clip(np.array(points), around.lower, around.upper)))
        for k, own in steps.items():
            rail = self._rails[k]
            for h in own:
                first, second = next(residuals), next(residuals)
                if rail.side == 0:
                    slope = (first - second) / (2.0 * h)
                else:
                    slope = rail.side * (4.0 * first - second - 3.0 * around.base) / (2.0 * h)
                if bool(np.isfinite(slope).all()):
                    rail.put(h, slope)
                else:
                    rail.reach = min(rail.reach, h / _FACTOR)

    def _pairs(self, rail: _Rail) -> list[_Pair]:
        steps, slopes = rail.visible()
        sizes = self._sizes(slopes)
        expected = self._noise / (np.sqrt(2.0) * steps[0])
        noisy = [expected > _DOMINATED * sizes[0]]
        noisy += [before > _CLEAR * size for before, size in pairwise(sizes)]
        better = [
            a + (a - b) / ((long / short) ** 2 - 1.0)
            for (a, b), (short, long) in zip(pairwise(slopes), pairwise(steps), strict=True)
        ]
        rungs = [*zip(pairwise(slopes), noisy, strict=True)]
        rungs += [*zip(pairwise(better), noisy[1:], strict=True)]
        return [_Pair(shorter, longer, quiet) for (shorter, longer), quiet in rungs]


@dataclass(frozen=True)
class _Pair:
    """Two estimates of a derivative, the one with shorter steps first."""

    shorter: F64
    longer: F64
    noisy: bool

    @property
    def value(self) -> F64:
        """The better estimate: if noise makes them differ, that with the longer step."""
        return self.longer if self.noisy else self.shorter


def _choose(pairs: Sequence[_Pair], groups: Sequence[slice]) -> tuple[F64, F64]:
    """Return per row the value and disagreement of the best pair."""
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
    return values[chosen, index], differences[chosen, index]


def _rms(row: F64, groups: Sequence[slice]) -> float:
    out = standing_out(row, 0.0, groups=groups or (slice(None),))
    return root_mean_square(row[~out])


def _room(around: Neighbourhood, direction: F64, reach: float) -> tuple[int, float]:
    """Return the side, 0 for both, and the longest step up to `reach` inside the bounds."""
    moving = direction != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (around.upper - around.z) / direction, (around.lower - around.z) / direction
    forth = float(np.min(np.maximum(up, down)[moving], initial=np.inf))
    back = float(np.min(-np.minimum(up, down)[moving], initial=np.inf))
    both = min(forth, back)
    if both >= _ASIDE * min(reach, max(forth, back)):
        return 0, min(reach, both)
    return (1, min(reach, forth)) if forth > back else (-1, min(reach, back))
