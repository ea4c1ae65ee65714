r"""The cost around and beyond an estimate: jumps by events, and other minima.

Intervals follow from derivatives, as if the cost were a parabola. If a model has events
that move with the parameters, the cost jumps whenever one of them passes a sample,
which derivatives do not show. The cost itself is therefore evaluated on both sides of
the estimate, along the line of each interval. If it is not a parabola there, the
interval would be wrong.

**A second minimum** may exist if priors contradict the data and the size of the noise is unknown.
With the variance of the noise concentrated out, the minimised function is
:math:`\nu \ln S + Q` (:class:`~fmident.problem.Priors`). Near the data :math:`S` is
small, near the priors :math:`Q`. If both are far apart, either may be a minimum: little
noise and a wrong prior, or a correct prior and large noise (O'Hagan, On outlier
rejection phenomena in Bayes inference, Journal of the Royal Statistical Society B 41,
1979, for such conflicts of two sources). All minima lie on one curve, that of the least
:math:`S + s^2 Q` for each size of the noise :math:`s`, at the points where
:math:`s^2 = S / \nu`. With the model linearised at an estimate this curve takes no
simulation. Far away that model is not valid, so that in a strong conflict, searches
also begin at the estimate by the data without priors and at the centres of the priors.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.estimation.diagnostics import Fit, beginning_at
from fmident.estimation.diagnostics.constraints import parameters_at_bound
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
from fmident.evaluation import Evaluator, EventMatching, JacobianError
from fmident.findings import Finding, finding
from fmident.problem.priors import Priors
from fmident.words import quoted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


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

_LOWER = 0.02
"""Part of the noise's variance by which a cost must be lower to matter."""

_RELATIVE = 1e-6
"""The same, as a part of the cost."""


_TWO_MINIMA = finding(
    "second-minimum",
    "priors and data disagree, the noise is not given, and there are two minima",
    "Give each output its sigma to decide between them.",
)

_STEPS = 121
"""Sizes of the noise that are looked at."""

_FAR = 3.0
"""Standard deviations from which on data and priors disagree."""

_SAME = 1e-3
"""Difference of the logarithm of the density by which two minima are one, with equal values."""


_FACTORS = np.array(
    [0.9, 1.1, 0.7, 1.3, 0.5, 1.5, 0.35, 2.5, 0.25, 5.0, 0.18, 10.0, 0.13, 100.0, 0.1, 0.03, 0.01]
)
"""Factors on the size of a parameter with which it is tried; none leads to 0."""

_RANGE = np.linspace(0.02, 0.98, 13)
"""Places between two bounds at which it is tried."""

_CLOSE = 0.11
"""Distance that is near the estimate."""

_BETWEEN = 8
"""Values between one without influence and the next one that acts: a limit that only just cuts the
peaks lowers the cost, one that cuts half the signal does not."""

_DECADES = np.array([-5.0, -4.0, -3.0, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 3.0])
"""Powers of ten by which parameters that cannot be told apart are changed together."""

_SPREAD = 16
"""Points per direction that cannot be told apart at which each is changed by another power."""

_SMALLEST = 0.1
"""Size of a parameter next to zero, in parts of its scale."""

_SAFETY = 10.0
"""Factor on the error of a simulation."""


@dataclass(frozen=True)
class Jumps:
    """The cost around an estimate.

    `names` are the parameters whose interval is not valid; `lower` has the parameters and
    cost of a nearby point with a lower cost, or is ``None``.
    """

    names: tuple[str, ...]
    lower: tuple[F64, float] | None = None


def look_around(fit: Fit, weights: F64 | None = None) -> Jumps:
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
    lines = [_Line.of(fit, int(j)) for j in np.flatnonzero(~fit.held)]
    points = np.vstack([line.points for line in lines]) if lines else np.empty((0, p.size))
    if not points.size:  # every line leaves the bounds at once
        return Jumps(())

    def costs_at(points: F64) -> F64:
        """Return half the sums of squares, (k, n) -> (k,); infinite where simulations fail."""
        if weights is None:
            return evaluator.costs(points)
        costs = _half_squares(weights * evaluator.residuals_many(points))
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
    if costs[best] < least - max(_LOWER * variance, _RELATIVE * least):
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


def withhold(fit: Fit, jumps: Jumps) -> VerifiedStatistics:
    """Return the statistics without intervals that the cost around the estimate contradicts."""
    statistics = fit.statistics
    if not jumps.names:
        return statistics
    lost = np.isin(fit.names, jumps.names)
    identifiability = dataclasses.replace(statistics.identifiability, jumps=jumps.names)
    if bool(np.isnan(statistics.local.standard_errors[lost]).any()):
        verdict = "The rank cannot be judged where the cost jumps"
        identifiability = dataclasses.replace(
            identifiability, verdict=verdict, determined=(), rank_known=False
        )
    model = dataclasses.replace(statistics.local, kinks=lost)
    return dataclasses.replace(statistics, local=model, identifiability=identifiability)


def jump_notes(fit: Fit, jumps: Jumps) -> Iterator[Finding]:
    """Note intervals that the cost around the estimate contradicts, with advice."""
    if jumps.names:
        one = len(jumps.names) == 1
        yield finding(
            "no-intervals",
            f"{'There is no interval' if one else 'There are no intervals'} for"
            f" {quoted(jumps.names)}: near the estimate the cost jumps or bends where events pass"
            " samples, so that derivatives do not show how well the data determine"
            f" {'it' if one else 'them'}",
            "'fmident profile' follows the cost itself.",
        )
    if jumps.lower is not None:
        point, lower = jumps.lower
        yield finding(
            "lower-cost-elsewhere",
            f"The cost is {lower:.6g} at {_moved_to(fit, point)}, on the other side of a jump, but"
            f" {fit.cost:.6g} here: this is not the minimum",
            "Start there, or give several starts.",
        )


def best_of_both(
    problem: Problem,
    evaluator: Evaluator,
    estimate: Estimate,
    search: Callable[[Problem, Evaluator], Estimate] | None,
) -> tuple[Estimate, list[Finding]]:
    """Return the better one of two minima, and notes on the other.

    `search` estimates from the initial values of a problem; it is ``None`` for an estimator
    that does not search for the nearest minimum.
    """
    priors = Priors.of(problem)
    plain = estimate.draws is None and estimate.residual_weights is None
    if not priors.count or priors.sigma_known or estimate.status != "converged" or not plain:
        return estimate, []
    try:
        place, disagree = _linearised(problem, evaluator, estimate.parameters, priors)
    except JacobianError:  # which the summary says
        return estimate, []
    if search is None:
        if place is None or not np.isfinite(evaluator.cost(place)):
            return estimate, []
        lower = evaluator.cost(place) < evaluator.cost(estimate.parameters)
        return estimate, [
            _TWO_MINIMA,
            finding(
                "search",
                "According to the model linearised at the estimate, the other minimum is near"
                f" {values_of(problem, place)}, where the cost is"
                f" {'lower' if lower else 'not lower'}",
                "A search by least-squares from there shows it.",
            ),
        ]
    starts = [] if place is None else [place]
    if disagree:
        alone = beginning_at(problem, estimate.parameters)
        free = tuple(dataclasses.replace(q, prior=None) for q in alone.parameters)
        alone = dataclasses.replace(alone, parameters=free)
        data = search(alone, evaluator.for_problem(alone))
        if data.status in ("interrupted", "stopped"):
            return _ended(estimate, data), []
        starts += [data.parameters, _centres(problem, estimate.parameters)]
    minima = [(_Minimum.at(problem, evaluator, estimate.parameters), estimate)]
    for start in starts:
        result = search(beginning_at(problem, start), evaluator)
        if result.status in ("interrupted", "stopped"):
            return _ended(estimate, result), []
        one = _Minimum.at(problem, evaluator, result.parameters)
        if result.status == "converged" and not any(one.is_same(m) for m, _ in minima):
            minima.append((one, result))
    minima.sort(key=lambda m: m[0].loss)
    best = minima[0]
    if len(minima) == 1:
        return estimate, []
    other = minima[1][0]
    return best[1], [
        _TWO_MINIMA,
        finding(
            "search",
            "Of the two minima the better one is returned, with residuals of"
            f" {best[0].noise:.3g}; the other one is {np.exp(best[0].loss - other.loss):.2g} times"
            f" as likely and has residuals of {other.noise:.3g} (root mean square, as they are"
            f" weighted) at {values_of(problem, other.p)}",
        ),
    ]


def _ended(estimate: Estimate, other: Estimate) -> Estimate:
    """Return an estimate whose search for another minimum was interrupted."""
    message = f"{other.message.split(';')[0]}, while another minimum was looked for"
    return dataclasses.replace(estimate, status=other.status, message=message)


@dataclass(frozen=True, eq=False)
class _Minimum:
    """A minimum of the concentrated cost at physical parameters.

    `loss` is the negative log density, up to a constant, and `noise` the root mean square
    of the residuals of the data.
    """

    p: F64
    loss: float
    noise: float

    @classmethod
    def at(cls, problem: Problem, evaluator: Evaluator, p: F64) -> _Minimum:
        data = evaluator.data_residuals(p)
        freedom = Priors.of(problem).freedom(data.size, p.size)
        cost = max(evaluator.cost(p), float(np.finfo(np.float64).tiny))
        noise = float(np.sqrt(np.mean(data**2)))
        return cls(p, 0.5 * freedom * float(np.log(cost)), noise)

    def is_same(self, other: _Minimum) -> bool:
        """Return whether it is the same minimum as another one."""
        near = _SAME * np.maximum(np.abs(self.p), np.abs(other.p))
        return abs(self.loss - other.loss) < _SAME and bool(
            (np.abs(self.p - other.p) <= near).all()
        )


def _linearised(
    problem: Problem, evaluator: Evaluator, p: F64, priors: Priors
) -> tuple[F64 | None, bool]:
    """Return another minimum of the model linearised at an estimate, ``None`` without one.

    The second result says whether data and priors differ so much that the model itself may
    have another one.
    """
    residuals, jacobian = evaluator.data_residuals(p), evaluator.data_jacobian(p)
    slopes, deviations = priors.slopes(p), priors.deviations(p)
    known = np.isfinite(residuals).all() and np.isfinite(jacobian).all()
    free = ~parameters_at_bound(problem, p)
    size = np.linalg.norm(jacobian, axis=0) + np.linalg.norm(slopes, axis=0)
    free &= size > 0.0
    if not known or not free.any():
        return None, False
    jacobian, slopes, size = jacobian[:, free], slopes[:, free], size[free]
    freedom = priors.freedom(residuals.size, p.size)
    both = np.column_stack([jacobian / size, residuals])
    triangle: F64 = np.asarray(np.linalg.qr(both, mode="r"))
    rows, right = triangle[:, :-1], triangle[:, -1]

    def place(noise: float) -> tuple[F64, float, float]:
        """Return the step, the noise that remains there, and the loss."""
        weighed = np.vstack([rows, noise * slopes / size])
        target = -np.concatenate([right, noise * deviations])
        step = np.asarray(np.linalg.lstsq(weighed, target, rcond=None)[0])
        left, off = right + rows @ step, deviations + slopes / size @ step
        total = max(float(left @ left), float(np.finfo(np.float64).tiny))
        loss = 0.5 * freedom * float(np.log(total)) + 0.5 * float(off @ off)
        return step, float(np.sqrt(total / freedom)), loss

    here = float(np.linalg.norm(residuals)) / freedom**0.5
    if not here > 0.0:
        return None, False
    least = max(place(1e-6 * here)[1], 1e-6 * here)
    most = place(1e6 * here)[1]
    if not most > least:
        return None, False
    noises = np.geomspace(0.99 * least, 1.01 * most, _STEPS)
    places = [place(float(s)) for s in noises]
    # Below the first, too: data without noise are met exactly.
    more = [
        True,
        *(implied_noise > s for s, (_, implied_noise, _) in zip(noises, places, strict=True)),
    ]
    crossings = np.array([k for k in range(_STEPS) if more[k] and not more[k + 1]], dtype=np.intp)
    squares = float(deviations @ deviations)
    gain = 2.0 * freedom * float(np.log(here / least))
    disagree = max(squares, gain) > _FAR**2 * priors.count
    if crossings.size < 2:
        return None, disagree
    own = int(np.argmin(np.abs(np.log(noises[crossings] / here))))
    others = [int(k) for j, k in enumerate(crossings) if j != own]
    step, noise, _ = places[min(others, key=lambda k: places[k][2])]
    for _ in range(_STEPS):  # each lowers the loss
        step, noise, _ = place(noise)
    point = p.copy()
    point[free] += step / size
    return np.clip(point, problem.lower, problem.upper), disagree


def _centres(problem: Problem, p: F64) -> F64:
    """Return a point with each parameter that has a prior at its centre."""
    centres = [
        value if q.prior is None or not q.prior.counts else q.prior.center
        for q, value in zip(problem.free, p, strict=True)
    ]
    return np.clip(np.array(centres, dtype=np.float64), problem.lower, problem.upper)


def values_of(problem: Problem, p: F64) -> str:
    """Return the values of the free parameters in words."""
    units = (f" {q.unit}" if q.unit not in (None, "1") else "" for q in problem.free)
    named = zip(problem.free, p, units, strict=True)
    return ", ".join(f"{q.name} = {value:.5g}{unit}" for q, value, unit in named)


@dataclass(frozen=True)
class Farther:
    """Effects at a distance of parameters without influence at an estimate.

    `points` are the nearest tested ones where a parameter has influence, by its name;
    `near` are those with influence in steps next to the estimate; `lower` has the
    parameters and cost of the best point if the cost is lower there.
    """

    points: Mapping[str, F64]
    near: frozenset[str] = frozenset()
    lower: tuple[F64, float] | None = None


def look_farther(fit: Fit, *, compares_costs: bool) -> Farther:
    """Test whether parameters without influence at an estimate have influence farther away.

    Derivatives do not show a parameter that acts in steps, such as a number of teeth, nor
    one that the search has moved to where nothing depends on it. Nor do they show the size
    of large parameters of which only ratios count, such as rates of very fast reactions:
    parameters that are not identifiable separately are scaled together, unless the estimator
    chose among them. A lower cost is only looked for with `compares_costs`: not if something
    other than the cost was minimised.
    """
    problem, evaluator, estimate, p = fit.problem, fit.evaluator, fit.estimate, fit.p
    if evaluator.jacobian_is_given(p):  # of a linear model: it is the same everywhere
        return Farther({})
    # Those that a bound holds are not in the analysis.
    model = fit.statistics.local
    indices, silent = model.moving, model.analysis.without_influence
    tried, columns = _placed(problem, p, indices[silent])
    scaled = np.empty((0, p.size))
    if compares_costs and estimate.draws is None:
        scaled = _scaled(fit)
    if not len(tried) and not len(scaled):
        return Farther({})
    residuals, least = evaluator.residuals(p), evaluator.cost(p)
    blur = _blur(evaluator, p)
    enough = max(_LOWER * fit.statistics.local.residual_variance, _RELATIVE * least)

    def changes(rows: F64) -> npt.NDArray[np.bool_]:
        """Return which rows differ; those where a simulation failed are NaN, and do not."""
        changed = np.linalg.norm(rows - residuals, axis=1)
        seen: npt.NDArray[np.bool_] = changed > blur
        return seen & (np.abs(_half_squares(rows) - least) > enough)

    rows, rows_scaled = np.split(evaluator.probe(np.vstack([tried, scaled])), [len(tried)])
    acts = changes(rows)
    if compares_costs:
        between, between_columns = _between(problem, p, tried, columns, acts)
        if len(between):
            seen = evaluator.probe(between)
            tried, columns = np.vstack([tried, between]), np.append(columns, between_columns)
            rows, acts = np.vstack([rows, seen]), np.append(acts, changes(seen))
            distances = np.abs(tried - p)[np.arange(columns.size), columns]
            nearest = np.argsort(distances, kind="stable")
            tried, columns = tried[nearest], columns[nearest]
            rows, acts = rows[nearest], acts[nearest]
    acting = [(int(j), point) for j, point in zip(columns[acts], tried[acts], strict=True)]
    points: dict[str, F64] = {}
    for j, point in acting:
        points.setdefault(fit.names[j], point)
    near = frozenset(
        fit.names[j] for j, q in acting if abs(q[j] - p[j]) <= _CLOSE * _size(problem, p, j)
    )
    if not compares_costs or not (acting or len(scaled)):
        return Farther(points, near)
    # The others have fitted what this one left.
    others = indices[~silent]
    jacobian = evaluator.jacobian(p)[:, others]
    followed = tried[acts]
    followed[:, others] += np.linalg.lstsq(jacobian, -rows[acts].T, rcond=None)[0].T
    followed = np.clip(followed, problem.lower, problem.upper)
    tried, rows = np.vstack([tried, scaled, followed]), np.vstack([rows, rows_scaled])
    if len(followed):
        rows = np.vstack([rows, evaluator.probe(followed)])
    costs = np.nan_to_num(_half_squares(rows), nan=np.inf)
    best = int(np.argmin(costs))
    # By this much the cost of a simulation may be wrong.
    enough = max(enough, float(np.linalg.norm(residuals)) * blur + 0.5 * blur**2)
    if costs[best] < least - enough:
        return Farther(points, near, (tried[best], float(costs[best])))
    return Farther(points, near)


def _half_squares(residuals: F64) -> F64:
    """Return half the sum of squares of each row; NaN where a simulation failed."""
    half_squares: F64 = 0.5 * np.sum(residuals**2, axis=1)
    return half_squares


def _blur(evaluator: Evaluator, p: F64) -> float:
    """Return the length of residual changes caused by simulation errors."""
    integration, sizes = evaluator.integration_error(p), evaluator.step_sizes
    length = 0.0 if integration is None else float(np.linalg.norm(integration))
    if sizes is not None:
        length += sizes.noise_or_rounding * float(np.sqrt(evaluator.residuals(p).size))
    return _SAFETY * length


def _moved(p: F64, values: Sequence[tuple[int, float]]) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points with one parameter, by its column, at a value; and their columns."""
    columns = np.array([j for j, _ in values], dtype=np.intp)
    points = np.tile(p, (len(values), 1))
    points[np.arange(len(values)), columns] = [value for _, value in values]
    return points, columns


def _placed(
    problem: Problem, p: F64, columns: npt.NDArray[np.intp]
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points with one parameter moved, the nearest first, and their columns."""
    places: list[tuple[int, float]] = []
    for j in map(int, columns):
        low, high = problem.lower[j], problem.upper[j]
        values = p[j] + (_FACTORS - 1.0) * _size(problem, p, j)
        if np.isfinite(high - low):
            values = np.append(values, low + _RANGE * (high - low))
        values = np.unique(np.clip(values, low, high))
        places += [(j, x) for x in values[np.argsort(np.abs(values - p[j]), kind="stable")]]
    return _moved(p, places)


def _between(
    problem: Problem, p: F64, tried: F64, moved: npt.NDArray[np.intp], acts: npt.NDArray[np.bool_]
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points between the last value without influence and the first with it."""
    places: list[tuple[int, float]] = []
    for j in map(int, np.unique(moved)):
        for side in (-1.0, 1.0):
            rows = np.flatnonzero((moved == j) & (side * (tried[:, j] - p[j]) > 0.0))
            first = int(np.argmax(acts[rows])) if acts[rows].any() else -1
            if first < 0 or abs(tried[rows[first], j] - p[j]) <= _CLOSE * _size(problem, p, j):
                continue
            silent = tried[rows[first - 1], j] if first else p[j]
            ends = np.linspace(silent, tried[rows[first], j], _BETWEEN + 2)
            places += [(j, x) for x in ends[1:-1]]
    return _moved(p, places)


def _size(problem: Problem, p: F64, column: int) -> float:
    return max(abs(float(p[column])), _SMALLEST * problem.free[column].scale)


def _scaled(fit: Fit) -> F64:
    """Return points with parameters scaled in ways that derivatives do not show, (k, n).

    All that are not identifiable separately are scaled by one factor, and each by another.
    """
    model, p = fit.statistics.local, fit.p
    indices, analysis = model.moving, model.analysis
    # Of the logarithms of the parameters.
    norms = analysis.column_norms * np.abs(p[indices])
    tangled = np.flatnonzero(analysis.involved & (norms > 0.0))
    if not tangled.size:
        return np.empty((0, p.size))
    null = analysis.right[tangled][:, analysis.rank :] / norms[tangled, np.newaxis]
    basis, values, _ = np.linalg.svd(null, full_matrices=False)
    basis = basis[:, values > _RELATIVE * values[0]]
    together = _DECADES[:, np.newaxis] * np.ones(tangled.size)
    count = _SPREAD * basis.shape[1]
    spread = np.random.default_rng(0).uniform(_DECADES[0], _DECADES[-1], (count, tangled.size))
    points = np.tile(p, (len(together) + count, 1))
    points[:, indices[tangled]] *= 10.0 ** (np.vstack([together, spread]) @ basis @ basis.T)
    return np.clip(points, fit.problem.lower, fit.problem.upper)


def acting_farther(fit: Fit, farther: Farther) -> VerifiedStatistics:
    """Return statistics that report which silent parameters have influence farther away."""
    identifiability = fit.statistics.identifiability
    if not farther.points or identifiability.jumps:
        return fit.statistics
    places = " and ".join(
        f"{name} acts at {name} = {point[fit.names.index(name)]:.4g}"
        for name, point in farther.points.items()
    )
    verdict = f"{identifiability.verdict} That is so next to these values only: {places}."
    identifiability = dataclasses.replace(identifiability, verdict=verdict)
    return dataclasses.replace(fit.statistics, identifiability=identifiability)


def farther_notes(fit: Fit, farther: Farther) -> Iterator[Finding]:
    """Note where the cost is lower because a silent parameter has influence there."""
    if farther.lower is not None:
        point, lower = farther.lower
        yield finding(
            "lower-cost-elsewhere",
            f"The cost is {lower:.6g} at {_moved_to(fit, point)}, but {fit.cost:.6g} here: this is"
            " not the minimum. Derivatives do not show the effect of a parameter that acts in"
            " steps or has no influence here, or of parameters of which only ratios count",
            "Start there, give several starts, or try values one by one with 'fixed = true'.",
        )


def _moved_to(fit: Fit, point: F64) -> str:
    """Return in words how a point differs from the estimate."""
    each = zip(fit.names, point, fit.p, strict=True)
    return ", ".join(f"{name} = {x:.6g}" for name, x, old in each if x != old)
