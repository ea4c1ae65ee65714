"""Jumps of the cost around an estimate, where events pass samples.

Intervals follow from derivatives, as if the cost were a parabola. If a model has events
that move with the parameters, the cost jumps whenever one of them passes a sample,
which derivatives do not show. The cost itself is therefore evaluated on both sides of
the estimate, along the line of each interval. If it is not a parabola there, the
interval would be wrong.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.estimation.diagnostics import Fit
from fmident.evaluation import EventMatching

_NEAR = (-3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Standard errors from the estimate at which the cost is compared with a smooth one."""

_WIDE = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2)
"""Distances relative to the size of a parameter at which the cost must not be lower."""

_DEGREE = 4
"""Degree of the smooth cost. A parabola would take a bent one for a jump."""

_JUMP = 0.15
"""Deviation from the smooth cost, in units in which the end of an interval is 2 above the least
cost; about a third of the height of a jump."""

_STEEP = 2.5
"""Factor between the cost at the end of an interval and what derivatives foretell."""

_AWAY = 1.0
"""Distance from the least of the smooth cost, in standard errors, at which it is not there."""

_ENTANGLED = 1.25
"""Ratio of a standard error to that beside known others up to which it hardly needs them."""

LOWER = 0.02
"""Part of the noise's variance by which a cost must be lower to matter."""

RELATIVE = 1e-6
"""The same, as a part of the cost."""


@dataclass(frozen=True)
class Jumps:
    """The cost around an estimate.

    `names` are the parameters whose interval is not valid; `lower` has the parameters and
    cost of a nearby point with a lower cost, or is ``None``.
    """

    names: tuple[str, ...]
    lower: tuple[F64, float] | None = None


def jumps_around(fit: Fit, weights: F64 | None = None) -> Jumps:
    """Evaluate the cost on both sides of an estimate if events move with the parameters.

    `weights` are those of the whitened residuals if a robust loss was minimised: with fixed
    weights it is a sum of squares. No other point counts as lower then.
    """
    evaluator, p = fit.evaluator, fit.p
    if not any(k.size for k in EventMatching(fit.problem).moving(evaluator, p)):
        return Jumps(())
    variance = fit.statistics.local.residual_variance
    if weights is not None:
        variance *= float(np.mean(weights**2))
    variance = max(variance, float(np.finfo(np.float64).tiny))
    lines = [_Line.of(fit, int(j)) for j in np.flatnonzero(~fit.at_bound)]
    points = np.vstack([line.points for line in lines]) if lines else np.empty((0, p.size))
    if not points.size:  # every line leaves the bounds at once
        return Jumps(())

    def costs_at(points: F64) -> F64:
        """Return half the sums of squares, (k, n) -> (k,); infinite where simulations fail."""
        if weights is None:
            return evaluator.costs(points)
        costs = half_squares(weights * evaluator.residuals_many(points))
        return np.where(np.isfinite(costs), costs, np.inf)

    least = float(costs_at(p[np.newaxis])[0])
    costs = costs_at(points)
    ends = np.cumsum([len(line.points) for line in lines])
    split = np.split(costs, ends[:-1])
    columns = [
        line.column
        for line, seen in zip(lines, split, strict=True)
        if line.contradicts(seen, least, variance)
    ]
    if len(columns) > 1:
        own = [line for j in columns if (line := _Line.alone(fit, j)).points.size]
        bent = [
            line.column for line in own if line.contradicts(costs_at(line.points), least, variance)
        ]
        columns = _with_entangled(fit, bent, columns) if bent else columns
    names = tuple(fit.names[j] for j in columns)
    if weights is not None:
        return Jumps(names)
    # Near the estimate a lower cost is a matter of its precision, not of a jump.
    off = np.concatenate([np.arange(len(x.points)) >= x.places.size for x in lines])
    costs = np.where(off, costs, np.inf)
    best = int(np.argmin(costs))
    if costs[best] < least - max(LOWER * variance, RELATIVE * least):
        return Jumps(names, (points[best], float(costs[best])))
    return Jumps(names)


def _with_entangled(fit: Fit, bent: Sequence[int], columns: Sequence[int]) -> list[int]:
    """Return which of the parameters at `columns` have no interval where the cost bends.

    Those at `bent`, along which it does, and those with them that they make much less certain:
    that takes derivatives with respect to them.
    """
    local, limits = fit.statistics.local, fit.statistics.local.limits
    equal = np.vstack([limits.equal, np.eye(fit.p.size)[bent]])
    known = dataclasses.replace(local, feasible=dataclasses.replace(limits, equal=equal))
    ratios = local.standard_errors / known.standard_errors
    return [j for j in columns if j in bent or not ratios[j] <= _ENTANGLED]


@dataclass(frozen=True, eq=False)
class _Line:
    """The line on which the interval of a parameter lies.

    `places` are distances from the estimate in standard errors, shape (k,), empty if the
    parameter has none; `points` are those at these distances, then farther away,
    (k + w, n).
    """

    column: int
    places: F64
    points: F64

    @classmethod
    def of(cls, fit: Fit, column: int) -> _Line:
        """Return the line of a parameter, on which the others move by their correlation."""
        problem, p = fit.problem, fit.p
        error = float(fit.statistics.local.standard_errors[column])
        size = abs(float(p[column])) or 1.0
        way, places = np.zeros(p.size), np.empty(0)
        wide = np.array([s * w for w in _WIDE for s in (-1.0, 1.0)])
        if np.isfinite(error) and error > 0.0:
            way = np.nan_to_num(fit.statistics.local.covariance[:, column]) / error
            places = np.array(_NEAR)
            wide = size / error * wide
            wide = wide[np.abs(wide) > np.max(np.abs(places))]
        else:
            way[column] = size
        points = p + np.concatenate([places, wide])[:, np.newaxis] * way
        inside = np.all((points >= problem.lower) & (points <= problem.upper), axis=1)
        near = inside[: places.size]
        return cls(column, places[near], points[inside])

    @classmethod
    def alone(cls, fit: Fit, column: int) -> _Line:
        """Return the line along which one parameter moves alone, without distant points."""
        problem, p, local = fit.problem, fit.p, fit.statistics.local
        slope = float(np.linalg.norm(local.jacobian[:, column]))
        way, places = np.zeros(p.size), np.array(_NEAR)
        way[column] = local.noise / slope if slope > 0.0 else np.inf
        points = p + places[:, np.newaxis] * way
        inside = np.all((points >= problem.lower) & (points <= problem.upper), axis=1)
        return cls(column, places[inside], points[inside])

    def contradicts(self, costs: F64, least: float, variance: float) -> bool:
        """Return whether the cost on the line differs from the parabola of an interval.

        `costs` are those at the points, `least` that at the estimate, and `variance` that of
        the residuals: an interval ends where the cost is about twice that higher.
        """
        with np.errstate(over="ignore"):
            rise = (costs - least) / variance
        if self.places.size == 0:
            # Derivatives see no influence at all; does the cost see any?
            return bool((np.abs(rise) > 1.0).any())
        near = rise[: self.places.size]
        if not bool(np.isfinite(near).all()):
            return True
        places, values = np.append(self.places, 0.0), np.append(near, 0.0)
        degree = min(_DEGREE, places.size - 2)
        if degree < 1:
            return False
        smooth = np.polynomial.Polynomial.fit(places, values, degree)
        if float(np.max(np.abs(values - smooth(places)))) > _JUMP:
            return True
        if degree < 2:
            return False
        slope, curvature = float(smooth.deriv(1)(0.0)), float(smooth.deriv(2)(0.0))
        return not 1.0 / _STEEP < curvature < _STEEP or abs(slope) > _AWAY * curvature


def half_squares(residuals: F64) -> F64:
    """Return half the sum of squares of each row; NaN where a simulation failed."""
    halves: F64 = 0.5 * np.sum(residuals**2, axis=1)
    return halves
