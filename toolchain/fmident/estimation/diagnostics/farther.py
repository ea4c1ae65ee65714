"""What parameters do farther away that have no influence at an estimate."""

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

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_SHARES = (-0.1, 0.1, -0.3, 0.3, -0.5, 0.5, -0.9, 0.9)
"""Distances relative to the size of a parameter at which it is tried, by size; none leads to 0."""

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
    """What parameters do farther away that have no influence at an estimate.

    Parameters
    ----------
    points
        For each parameter that acts, by name: the nearest point that was tried at which it does.
    lower
        Parameters and cost of the best point, if the cost is lower there, or ``None``.
    """

    points: Mapping[str, F64]
    lower: tuple[F64, float] | None = None


def look_farther(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    statistics: VerifiedStatistics,
    *,
    compares_costs: bool,
) -> Farther:
    """Look whether parameters without influence at an estimate act farther away.

    Derivatives see nothing of a parameter that acts in steps, such as a number of teeth, nor of
    one that the search has led to where nothing depends on it.

    Parameters
    ----------
    problem, evaluator
        Of the run.
    p
        The estimate, shape (n,).
    statistics
        At `p`.
    compares_costs
        Whether a lower cost is looked for: not where another than the cost was minimised.
    """
    if evaluator.jacobian_is_given(p):  # of a linear model: it is the same everywhere
        return Farther({})
    # Those on a bound are not in the analysis.
    linearisation = statistics.linearisation
    kept, silent = linearisation.kept, linearisation.analysis.without_influence
    tried, moved = _placed(problem, p, kept[silent])
    if not tried.size:
        return Farther({})
    residuals = evaluator.residuals(p)
    least = evaluator.cost(p)
    blur = _blur(evaluator, p)
    enough = max(_LOWER * statistics.residual_variance, _RELATIVE * least)
    there = evaluator.probe(tried)
    costs = _costs(there)
    changed = np.linalg.norm(there - residuals, axis=1)  # NaN where a simulation failed
    acts = (changed > blur) & (np.abs(costs - least) > enough)
    found: dict[str, F64] = {}
    for j, point in zip(moved[acts], tried[acts], strict=True):
        found.setdefault(problem.free[j].name, point)
    if not compares_costs or not acts.any():
        return Farther(found)
    # The others have fitted what this one left.
    others = kept[~silent]
    jacobian = evaluator.jacobian(p)[:, others]
    steps = np.linalg.lstsq(jacobian, -there[acts].T, rcond=None)[0]
    followed = tried[acts]
    followed[:, others] += steps.T
    followed = np.clip(followed, problem.lower, problem.upper)
    tried = np.vstack([tried, followed])
    costs = np.nan_to_num(np.append(costs, _costs(evaluator.probe(followed))), nan=np.inf)
    best = int(np.argmin(costs))
    # By this much the cost of a simulation may be wrong.
    enough = max(enough, float(np.linalg.norm(residuals)) * blur + 0.5 * blur**2)
    lower = (tried[best], float(costs[best])) if costs[best] < least - enough else None
    return Farther(found, lower)


def _costs(residuals: F64) -> F64:
    """Return half the sum of squares of each row; NaN where a simulation failed."""
    found: F64 = 0.5 * np.sum(residuals**2, axis=1)
    return found


def _blur(evaluator: Evaluator, p: F64) -> float:
    """Return a length of changes of the residuals that a simulation makes by itself."""
    integration, sizes = evaluator.integration_error(p), evaluator.step_sizes
    length = 0.0 if integration is None else float(np.linalg.norm(integration))
    if sizes is not None:
        length += sizes.noise_or_rounding * float(np.sqrt(evaluator.residuals(p).size))
    return _SAFETY * length


def _placed(
    problem: Problem, p: F64, columns: npt.NDArray[np.intp]
) -> tuple[F64, npt.NDArray[np.intp]]:
    """Return points with one parameter moved, the nearest first, and the columns of these."""
    points: list[F64] = []
    moved: list[int] = []
    for j in map(int, columns):
        size = max(abs(float(p[j])), _SMALLEST * problem.free[j].scale)
        for share in _SHARES:
            point = p.copy()
            point[j] = np.clip(p[j] + share * size, problem.lower[j], problem.upper[j])
            points.append(point)
            moved.append(j)
    return np.array(points), np.array(moved, dtype=np.intp)


def acting_farther(
    problem: Problem, statistics: VerifiedStatistics, farther: Farther
) -> VerifiedStatistics:
    """Return the statistics with a verdict that says which silent parameters act farther away.

    Parameters
    ----------
    problem
        Of the run.
    statistics
        At the estimate.
    farther
        What was seen.
    """
    judged = statistics.identifiability
    if not farther.points or judged.jumps:
        return statistics
    names = [q.name for q in problem.free]
    shown = " and ".join(
        f"{name} acts at {name} = {point[names.index(name)]:.4g}"
        for name, point in farther.points.items()
    )
    verdict = f"{judged.verdict} That is so next to these values only: {shown}."
    judged = dataclasses.replace(judged, verdict=verdict)
    return dataclasses.replace(statistics, identifiability=judged)


def farther_notes(problem: Problem, p: F64, cost: float, farther: Farther) -> list[str]:
    """Return that the cost is lower where a parameter acts that is silent at the estimate.

    Parameters
    ----------
    problem
        Of the run.
    p
        The estimate, shape (n,).
    cost
        There.
    farther
        What was seen.
    """
    if farther.lower is None:
        return []
    point, lower = farther.lower
    return [
        f"The cost is {lower:.6g} at {moved_to(problem, p, point)} in place of {cost:.6g} here:"
        " this is not the minimum. No derivative shows a parameter that acts in steps, or not at"
        " all where it is: start there, give several starts, or try its values one by one"
        " with 'fixed = true'."
    ]


def moved_to(problem: Problem, p: F64, point: F64) -> str:
    """Return in words where a point differs from the estimate.

    Parameters
    ----------
    problem
        Of the run.
    p, point
        The estimate and the point, shape (n,) each.
    """
    return ", ".join(
        f"{q.name} = {x:.6g}" for q, x, old in zip(problem.free, point, p, strict=True) if x != old
    )
