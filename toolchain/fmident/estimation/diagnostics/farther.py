"""Effects of parameters at a distance that derivatives at an estimate do not show."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.diagnostics.uncertainty import VerifiedStatistics
from fmident.evaluation import Evaluator
from fmident.findings import Finding, finding

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_FACTORS = np.array(
    [0.9, 1.1, 0.7, 1.3, 0.5, 1.5, 0.35, 2.5, 0.25, 5.0, 0.18, 10.0, 0.13, 100.0, 0.1, 0.03, 0.01]
)
"""Factors on the size of a parameter with which it is tried; none leads to 0."""

_RANGE = np.linspace(0.02, 0.98, 13)
"""Places between two bounds at which it is tried."""

_NEAR = 0.11
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

_LOWER = 0.02
"""By how much a cost must differ to matter; at the end of an interval it is 2 above the least."""

_RELATIVE = 1e-6
"""The same in relation to the cost."""


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


def look_farther(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    statistics: VerifiedStatistics,
    *,
    compares_costs: bool,
    scales: bool = True,
) -> Farther:
    """Test whether parameters without influence at an estimate have influence farther away.

    Derivatives do not show a parameter that acts in steps, such as a number of teeth, nor
    one that the search has moved to where nothing depends on it. Nor do they show the size
    of large parameters of which only ratios count, such as rates of very fast reactions:
    with `scales`, parameters that are not identifiable separately are scaled together. A
    lower cost is only looked for with `compares_costs`: not if something other than the
    cost was minimised.
    """
    if evaluator.jacobian_is_given(p):  # of a linear model: it is the same everywhere
        return Farther({})
    # Those on a bound are not in the analysis.
    linearisation = statistics.linearisation
    indices, silent = linearisation.kept, linearisation.analysis.without_influence
    tried, moved_columns = _placed(problem, p, indices[silent])
    scaled = np.empty((0, p.size))
    if compares_costs and scales:
        scaled = _scaled(problem, p, statistics)
    if not len(tried) and not len(scaled):
        return Farther({})
    residuals = evaluator.residuals(p)
    least = evaluator.cost(p)
    blur = _blur(evaluator, p)
    enough = max(_LOWER * statistics.residual_variance, _RELATIVE * least)
    there = evaluator.probe(np.vstack([tried, scaled]))
    costs = _costs(there)
    changed = np.linalg.norm(there - residuals, axis=1)  # NaN where a simulation failed
    acts = ((changed > blur) & (np.abs(costs - least) > enough))[: len(tried)]
    if compares_costs:
        between, columns = _between(problem, p, tried, moved_columns, acts)
        if len(between):
            seen = evaluator.probe(between)
            changed = np.linalg.norm(seen - residuals, axis=1)
            acts = np.append(acts, (changed > blur) & (np.abs(_costs(seen) - least) > enough))
            there = np.vstack([there[: len(tried)], seen, there[len(tried) :]])
            costs = _costs(there)
            tried, moved_columns = np.vstack([tried, between]), np.append(moved_columns, columns)
            nearest = np.argsort(
                np.abs(tried - p)[np.arange(moved_columns.size), moved_columns], kind="stable"
            )
            tried, moved_columns, acts = tried[nearest], moved_columns[nearest], acts[nearest]
            there[: nearest.size], costs[: nearest.size] = there[nearest], costs[nearest]
    acting_points: dict[str, F64] = {}
    for j, point in zip(moved_columns[acts], tried[acts], strict=True):
        acting_points.setdefault(problem.free[j].name, point)
    near = frozenset(
        problem.free[j].name
        for j, point in zip(moved_columns[acts], tried[acts], strict=True)
        if abs(point[j] - p[j]) <= _NEAR * _size(problem, p, j)
    )
    if not compares_costs or not (acts.any() or len(scaled)):
        return Farther(acting_points, near)
    # The others have fitted what this one left.
    others = indices[~silent]
    jacobian = evaluator.jacobian(p)[:, others]
    rows = there[: len(tried)][acts]
    steps = np.linalg.lstsq(jacobian, -rows.T, rcond=None)[0]
    followed = tried[acts]
    followed[:, others] += steps.T
    followed = np.clip(followed, problem.lower, problem.upper)
    tried = np.vstack([tried, scaled, followed])
    if len(followed):
        costs = np.append(costs, _costs(evaluator.probe(followed)))
    costs = np.nan_to_num(costs, nan=np.inf)
    best = int(np.argmin(costs))
    # By this much the cost of a simulation may be wrong.
    enough = max(enough, float(np.linalg.norm(residuals)) * blur + 0.5 * blur**2)
    lower = (tried[best], float(costs[best])) if costs[best] < least - enough else None
    return Farther(acting_points, near, lower)


def _costs(residuals: F64) -> F64:
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


def _placed(
    problem: Problem, p: F64, columns: npt.NDArray[np.intp]
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points with one parameter moved, the nearest first, and their columns."""
    points: list[F64] = []
    indices: list[int] = []
    for j in map(int, columns):
        low, high = problem.lower[j], problem.upper[j]
        values = p[j] + (_FACTORS - 1.0) * _size(problem, p, j)
        if np.isfinite(high - low):
            values = np.append(values, low + _RANGE * (high - low))
        values = np.unique(np.clip(values, low, high))
        for value in values[np.argsort(np.abs(values - p[j]), kind="stable")]:
            point = p.copy()
            point[j] = value
            points.append(point)
            indices.append(j)
    return np.array(points).reshape(-1, p.size), np.array(indices, dtype=np.intp)


def _between(
    problem: Problem, p: F64, tried: F64, moved: npt.NDArray[np.intp], acts: npt.NDArray[np.bool_]
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points between the last value without influence and the first with it."""
    points: list[F64] = []
    columns: list[int] = []
    for j in np.unique(moved):
        for side in (-1.0, 1.0):
            rows = np.flatnonzero((moved == j) & (side * (tried[:, j] - p[j]) > 0.0))
            first = int(np.argmax(acts[rows])) if acts[rows].any() else -1
            if first < 0 or abs(tried[rows[first], j] - p[j]) <= _NEAR * _size(problem, p, int(j)):
                continue
            silent = tried[rows[first - 1], j] if first else p[j]
            for value in np.linspace(silent, tried[rows[first], j], _BETWEEN + 2)[1:-1]:
                point = p.copy()
                point[j] = value
                points.append(point)
                columns.append(int(j))
    return np.array(points).reshape(-1, p.size), np.array(columns, dtype=np.intp)


def _size(problem: Problem, p: F64, column: int) -> float:
    return max(abs(float(p[column])), _SMALLEST * problem.free[column].scale)


def _scaled(problem: Problem, p: F64, statistics: VerifiedStatistics) -> F64:
    """Return points with parameters scaled in ways that derivatives do not show, (k, n).

    All that are not identifiable separately are scaled by one factor, and each by another.
    """
    indices, analysis = statistics.linearisation.kept, statistics.linearisation.analysis
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
    return np.clip(points, problem.lower, problem.upper)


def acting_farther(
    problem: Problem, statistics: VerifiedStatistics, farther: Farther
) -> VerifiedStatistics:
    """Return statistics that report which silent parameters have influence farther away."""
    identifiability = statistics.identifiability
    if not farther.points or identifiability.jumps:
        return statistics
    names = [q.name for q in problem.free]
    listed = " and ".join(
        f"{name} acts at {name} = {point[names.index(name)]:.4g}"
        for name, point in farther.points.items()
    )
    verdict = f"{identifiability.verdict} That is so next to these values only: {listed}."
    identifiability = dataclasses.replace(identifiability, verdict=verdict)
    return dataclasses.replace(statistics, identifiability=identifiability)


def farther_notes(problem: Problem, p: F64, cost: float, farther: Farther) -> list[Finding]:
    """Return a note if the cost is lower where a silent parameter has influence."""
    if farther.lower is None:
        return []
    point, lower = farther.lower
    return [
        finding(
            "lower-cost-elsewhere",
            f"The cost is {lower:.6g} at {moved_to(problem, p, point)}, but {cost:.6g} here: this"
            " is not the minimum. Derivatives do not show the effect of a parameter that acts in"
            " steps or has no influence here, or of parameters of which only ratios count",
            "Start there, give several starts, or try values one by one with 'fixed = true'.",
        )
    ]


def moved_to(problem: Problem, p: F64, point: F64) -> str:
    """Return in words how a point differs from the estimate."""
    return ", ".join(
        f"{q.name} = {x:.6g}" for q, x, old in zip(problem.free, point, p, strict=True) if x != old
    )
