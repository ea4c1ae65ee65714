"""The cost on lines through an estimate, where events make it jump.

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
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.diagnostics.farther import moved_to
from fmident.evaluation import Evaluator, EventMatching
from fmident.findings import Finding, finding
from fmident.statistics import ParameterStatistics

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_NEAR = (-3.0, -2.0, -1.5, -1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Standard errors from the estimate at which the cost is compared with a smooth one."""

_WIDE = (1e-5, 1e-4, 1e-3, 1e-2, 3e-2)
"""Distances relative to the size of a parameter at which the cost must not be lower."""

_DEGREE = 4
"""Of the smooth cost. A parabola would take a bent one for a jump."""

_JUMP = 0.15
"""Deviation from the smooth cost, in units in which the end of an interval is 2 above the least
cost; about a third of the height of a jump."""

_STEEP = 2.5
"""Factor between the cost at the end of an interval and what derivatives foretell."""

_AWAY = 1.0
"""Distance from the least of the smooth cost, in standard errors, at which it is not there."""

_LOWER = 0.02
"""By how much a cost must be lower to matter, in the same units."""

_RELATIVE = 1e-6
"""The same in relation to the cost."""


_Statistics = TypeVar("_Statistics", bound=ParameterStatistics)


@dataclass(frozen=True)
class Jumps:
    """The cost around an estimate.

    `names` are the parameters whose interval is not valid; `lower` has the parameters and
    cost of a nearby point with a lower cost, or is ``None``.
    """

    names: tuple[str, ...]
    lower: tuple[F64, float] | None = None


def look_around(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    statistics: ParameterStatistics,
    weights: F64 | None = None,
) -> Jumps:
    """Evaluate the cost on both sides of an estimate if events move with the parameters.

    `held` marks parameters on a bound. `weights` are those of the whitened residuals if a
    robust loss was minimised: with fixed weights it is a sum of squares. No other point
    counts as lower then.
    """
    if not any(k.size for k in EventMatching(problem).moving(evaluator, p)):
        return Jumps(())
    variance = statistics.residual_variance
    if weights is not None:
        variance *= float(np.mean(weights**2))
    variance = max(variance, float(np.finfo(np.float64).tiny))
    lines = [_Line.of(problem, p, int(j), statistics) for j in np.flatnonzero(~held)]
    points = np.vstack([line.points for line in lines]) if lines else np.empty((0, p.size))
    if not points.size:  # every line leaves the bounds at once
        return Jumps(())
    least = float(_costs(evaluator, p[np.newaxis], weights)[0])
    costs = _costs(evaluator, points, weights)
    ends = np.cumsum([len(line.points) for line in lines])
    names = [
        problem.free[line.column].name
        for line, seen in zip(lines, np.split(costs, ends[:-1]), strict=True)
        if line.contradicts(seen, least, variance)
    ]
    if weights is not None:
        return Jumps(tuple(names))
    # Near the estimate a lower cost is a matter of its precision, not of a jump.
    off = np.concatenate([np.arange(len(x.points)) >= x.places.size for x in lines])
    costs = np.where(off, costs, np.inf)
    best = int(np.argmin(costs))
    lower: tuple[F64, float] | None = None
    if costs[best] < least - max(_LOWER * variance, _RELATIVE * least):
        lower = (points[best], float(costs[best]))
    return Jumps(tuple(names), lower)


def _costs(evaluator: Evaluator, points: F64, weights: F64 | None) -> F64:
    """Return half the sums of squares at points, (k, n) -> (k,); infinite where they fail."""
    if weights is None:
        return evaluator.costs(points)
    costs = 0.5 * np.sum((weights * evaluator.residuals_many(points)) ** 2, axis=1)
    return np.where(np.isfinite(costs), costs, np.inf)


def without_intervals(statistics: _Statistics, lost: Sequence[int]) -> _Statistics:
    """Return the statistics without the uncertainty of the parameters with indices `lost`."""
    rows = np.asarray(lost, dtype=np.intp)
    covariance, correlation = statistics.covariance.copy(), statistics.correlation.copy()
    for matrix in (covariance, correlation):
        matrix[rows, :] = np.nan
        matrix[:, rows] = np.nan
    errors, intervals = statistics.standard_errors.copy(), statistics.intervals.copy()
    errors[rows] = np.nan
    intervals[rows] = np.nan
    return dataclasses.replace(
        statistics,
        covariance=covariance,
        correlation=correlation,
        standard_errors=errors,
        intervals=intervals,
    )


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
    def of(cls, problem: Problem, p: F64, column: int, statistics: ParameterStatistics) -> _Line:
        """Return the line of a parameter, on which the others move by their correlation."""
        error = float(statistics.standard_errors[column])
        size = abs(float(p[column])) or 1.0
        way, places = np.zeros(p.size), np.empty(0)
        if np.isfinite(error) and error > 0.0:
            way = np.nan_to_num(statistics.covariance[:, column]) / error
            places = np.array(_NEAR)
            wide = size / error * np.array([s * w for w in _WIDE for s in (-1.0, 1.0)])
            wide = wide[np.abs(wide) > np.max(np.abs(places))]
        else:
            way[column] = size
            wide = np.array([s * w for w in _WIDE for s in (-1.0, 1.0)])
        points = p + np.concatenate([places, wide])[:, np.newaxis] * way
        inside = np.all((points >= problem.lower) & (points <= problem.upper), axis=1)
        near = inside[: places.size]
        return cls(column, places[near], points[inside])

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


def withhold(problem: Problem, statistics: _Statistics, jumps: Jumps) -> _Statistics:
    """Return the statistics without intervals that the cost around the estimate contradicts."""
    if not jumps.names:
        return statistics
    lost = [j for j, q in enumerate(problem.free) if q.name in jumps.names]
    reduced = without_intervals(statistics, lost)
    unknown = bool(np.isnan(statistics.standard_errors[lost]).any())
    identifiability = dataclasses.replace(reduced.identifiability, jumps=jumps.names)
    if unknown:
        verdict = "The rank cannot be judged where the cost jumps"
        identifiability = dataclasses.replace(
            identifiability, verdict=verdict, determined=(), rank_known=False
        )
    return dataclasses.replace(reduced, identifiability=identifiability)


def jump_notes(problem: Problem, p: F64, cost: float, jumps: Jumps) -> list[Finding]:
    """Return notes on intervals that the cost around the estimate contradicts, with advice."""
    notes = []
    if jumps.names:
        names = ", ".join(f"'{n}'" for n in jumps.names)
        one = len(jumps.names) == 1
        notes.append(
            finding(
                "no-intervals",
                f"{'There is no interval' if one else 'There are no intervals'} for {names}: near"
                " the estimate the cost jumps or bends where events pass samples, so that"
                f" derivatives do not show how well the data determine {'it' if one else 'them'}",
                "'fmident profile' follows the cost itself.",
            )
        )
    if jumps.lower is not None:
        point, lower = jumps.lower
        notes.append(
            finding(
                "lower-cost-elsewhere",
                f"The cost is {lower:.6g} at {moved_to(problem, p, point)}, on the other side of a"
                f" jump, but {cost:.6g} here: this is not the minimum",
                "Start there, or give several starts.",
            )
        )
    return notes
