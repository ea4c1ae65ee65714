"""Intervals of parameters whose estimate lies on a bound: they begin there.

Without the bound, least squares would find ``p + d`` beyond it, with standard error ``e``. Of all
that is allowed, the bound has the least cost, and the likelihood ratio to it reaches its usual
threshold ``t^2`` at ``d + sqrt(d^2 + (t e)^2)`` inside. The threshold is that of an interval to
both sides, so that 95 % holds over all records, those with an estimate inside the bounds among them
(Feldman and Cousins, Physical Review D 57, 1998).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.distributions import student_quantile

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics import ParameterStatistics

Flags = npt.NDArray[np.bool_]
Found = TypeVar("Found", bound="ParameterStatistics")

_LEVEL = 0.95


def one_sided(
    problem: Problem,
    p: F64,
    held: Flags,
    found: Found,
    judge: Callable[[Flags], ParameterStatistics],
) -> Found:
    """Return statistics with an interval for each parameter on a bound.

    Parameters
    ----------
    problem
        With the bounds.
    p
        The estimate, shape (n,).
    held
        Which parameters lie on a bound, shape (n,).
    found
        Their intervals are NaN.
    judge
        Returns the statistics with these parameters held.
    """
    if not held.any():
        return found
    intervals = found.intervals.copy()
    for j in np.flatnonzero(held):
        alone = held.copy()
        alone[j] = False
        intervals[j] = _interval(problem, p, int(j), judge(alone))
    return dataclasses.replace(found, intervals=intervals)


def _interval(problem: Problem, p: F64, j: int, free: ParameterStatistics) -> tuple[float, float]:
    value, error = float(p[j]), float(free.standard_errors[j])
    inward = 1.0 if value - problem.lower[j] <= problem.upper[j] - value else -1.0
    if not np.isfinite(error):
        lost = bool(np.isinf(free.intervals[j]).all())
        reach = np.inf if lost else np.nan
    else:
        beyond = min(inward * float(free.remaining_step[j]), 0.0)
        half = student_quantile(0.5 * (1.0 + _LEVEL), float(free.freedoms[j])) * error
        # d + sqrt(d^2 + h^2), without the difference of numbers that are nearly equal
        reach = half * (half / (np.hypot(beyond, half) - beyond)) if half > 0.0 else 0.0
    if np.isnan(reach):
        return np.nan, np.nan
    other = value + inward * reach
    return (value, other) if inward > 0.0 else (other, value)
