"""Influence at a distance of parameters that have none at an estimate.

Derivatives do not show a parameter that acts in steps, such as a number of teeth, nor
one that the search has moved to where nothing depends on it. Nor do they show the size
of large parameters of which only ratios count, such as rates of very fast reactions:
parameters that are not identifiable separately are scaled together, unless the estimator
chose among them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.diagnostics import Fit
from fmident.estimation.diagnostics.jumps import LOWER, RELATIVE, half_squares
from fmident.evaluation import Evaluator

if TYPE_CHECKING:
    from fmident.problem.model import Problem


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
class DistantInfluence:
    """Effects at a distance of parameters without influence at an estimate.

    `points` are the nearest tested ones where a parameter has influence, by its name;
    `near` are those with influence in steps next to the estimate; `lower` has the
    parameters and cost of the best point if the cost is lower there.
    """

    points: Mapping[str, F64]
    near: frozenset[str] = frozenset()
    lower: tuple[F64, float] | None = None


def distant_influence(fit: Fit, *, compares_costs: bool) -> DistantInfluence:
    """Return where parameters without influence at an estimate have influence farther away.

    A lower cost is only looked for with `compares_costs`: not if something other than the cost was
    minimised.
    """
    problem, evaluator, estimate, p = fit.problem, fit.evaluator, fit.estimate, fit.p
    if evaluator.jacobian_is_given(p):  # of a linear model: it is the same everywhere
        return DistantInfluence({})
    # Those that a bound holds are not in the analysis.
    model = fit.statistics.local
    indices, silent = model.moving, model.analysis.without_influence
    tried, columns = _placed(problem, p, indices[silent])
    scaled = np.empty((0, p.size))
    if compares_costs and estimate.draws is None:
        scaled = _scaled(fit)
    if not len(tried) and not len(scaled):
        return DistantInfluence({})
    residuals, least = evaluator.residuals(p), evaluator.cost(p)
    blur = _blur(evaluator, p)
    enough = max(LOWER * fit.statistics.local.residual_variance, RELATIVE * least)

    def changes(rows: F64) -> npt.NDArray[np.bool_]:
        """Return which rows differ; those where a simulation failed are NaN, and do not."""
        changed = np.linalg.norm(rows - residuals, axis=1)
        seen: npt.NDArray[np.bool_] = changed > blur
        return seen & (np.abs(half_squares(rows) - least) > enough)

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
        return DistantInfluence(points, near)
    lower = _lower_cost(
        fit, np.vstack([tried, scaled]), np.vstack([rows, rows_scaled]), acts, enough
    )
    return DistantInfluence(points, near, lower)


def _lower_cost(
    fit: Fit, tried: F64, rows: F64, acts: npt.NDArray[np.bool_], enough: float
) -> tuple[F64, float] | None:
    """Return the parameters and cost of the best point; ``None`` if it is no better.

    `tried` have the residuals `rows`; the first ones, of which some have an influence (`acts`),
    are tried again with the other parameters refitted. `enough` is the least difference of costs.
    """
    problem, evaluator, p = fit.problem, fit.evaluator, fit.p
    residuals, least, blur = evaluator.residuals(p), evaluator.cost(p), _blur(evaluator, p)
    model = fit.statistics.local
    others = model.moving[~model.analysis.without_influence]
    # The others have fitted what this one left.
    jacobian, acting = evaluator.jacobian(p)[:, others], np.flatnonzero(acts)
    followed = tried[acting]
    followed[:, others] += np.linalg.lstsq(jacobian, -rows[acting].T, rcond=None)[0].T
    followed = np.clip(followed, problem.lower, problem.upper)
    if len(followed):
        tried, rows = np.vstack([tried, followed]), np.vstack([rows, evaluator.probe(followed)])
    costs = np.nan_to_num(half_squares(rows), nan=np.inf)
    best = int(np.argmin(costs))
    # By this much the cost of a simulation may be wrong.
    enough = max(enough, float(np.linalg.norm(residuals)) * blur + 0.5 * blur**2)
    return (tried[best], float(costs[best])) if costs[best] < least - enough else None


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
    basis = basis[:, values > RELATIVE * values[0]]
    together = _DECADES[:, np.newaxis] * np.ones(tangled.size)
    count = _SPREAD * basis.shape[1]
    spread = np.random.default_rng(0).uniform(_DECADES[0], _DECADES[-1], (count, tangled.size))
    points = np.tile(p, (len(together) + count, 1))
    points[:, indices[tangled]] *= 10.0 ** (np.vstack([together, spread]) @ basis @ basis.T)
    return np.clip(points, fit.problem.lower, fit.problem.upper)
