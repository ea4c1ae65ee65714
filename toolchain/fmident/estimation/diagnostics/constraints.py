"""Bounds and constraints at the estimate, and their effect on its intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64, Flags
from fmident.estimation.comparisons import ResidualCheck
from fmident.estimation.diagnostics import Fit
from fmident.estimation.result import ConstraintCheck
from fmident.problem.constraints import VIOLATED, Constraints
from fmident.problem.expressions import Constraint
from fmident.statistics.feasible_set import FeasibleSet
from fmident.statistics.local_model import LocalModel

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimate
    from fmident.problem.model import Problem


_HIDDEN = 0.7
"""Part of the residuals that may be left without the bounds, where these hide the fit."""

_ON_BOUND = 1e-9
"""Distance from a bound, relative to the width between both, at which a parameter is on it."""


@dataclass(frozen=True, eq=False)
class Active:
    """The k constraints at the estimate.

    `holding` are active and keep the estimate from lower costs, equalities included;
    `violated` are not satisfied; `slacks` are their values in SI units.
    """

    holding: Flags
    violated: Flags
    slacks: F64


def feasible_set(
    problem: Problem, p: F64, estimate: Estimate | None = None, *, bounded: bool = True
) -> FeasibleSet:
    """Return bounds and constraints around `p`, the inequalities of constraints last.

    Members of base parameters are where they are by choice: their bounds do not count.
    """
    slacks = np.concatenate([p - problem.lower, problem.upper - p])
    rows = np.vstack([np.eye(p.size), -np.eye(p.size)])
    bounds = np.column_stack([problem.lower, problem.upper])
    low, high = _at_bounds(problem, p)
    slacks[np.concatenate([low, high])] = 0.0
    counts = np.isfinite(slacks) & bounded
    if estimate is not None and estimate.base:
        alone = [c.leading for c in estimate.base if len(c.members) == 1]
        counts &= np.tile(np.isin(np.arange(p.size), alone), 2)
    rows, slacks = rows[counts], slacks[counts]
    constraints = Constraints.of(problem)
    if not len(constraints):
        return FeasibleSet(np.empty((0, p.size)), rows, slacks, bounds)
    at, equal = constraints.at(p), constraints.equalities
    near = np.abs(constraints.distances(p)) <= VIOLATED
    if not bounded:
        return FeasibleSet.everything(p.size, at.jacobian[equal])
    left = np.where(near, 0.0, np.maximum(at.values, 0.0))
    return FeasibleSet(
        at.jacobian[equal],
        np.vstack([rows, at.jacobian[~equal]]),
        np.concatenate([slacks, left[~equal]]),
        bounds,
    )


def active_constraints(problem: Problem, p: F64, model: LocalModel | None = None) -> Active | None:
    """Return the constraints that hold at `p`; ``None`` for a problem without any.

    Without a local model every inequality counts that holds with equality.
    """
    constraints = Constraints.of(problem)
    if not len(constraints):
        return None
    equal = constraints.equalities
    holding = equal | (np.abs(constraints.distances(p)) <= VIOLATED)
    if model is not None:
        holding[~equal] = False
        if count := min(model.holds.size, int(np.count_nonzero(~equal))):
            holding[~equal] = model.holds[-count:]
    return Active(holding, constraints.violated(p), constraints.at(p).values)


def constraint_checks(fit: Fit) -> tuple[ConstraintCheck, ...]:
    """Return the constraints at the estimate for the result.

    They include those replaced by bounds and dependent parameters.
    """
    problem, active, p = fit.problem, fit.active, fit.p
    checks: list[ConstraintCheck] = []
    if problem.eliminated:
        constraints = Constraints.of(replace(problem, constraints=problem.eliminated))
        at, equal = constraints.at(p), constraints.equalities
        near = np.abs(constraints.distances(p)) <= VIOLATED
        holding = equal | (near & (at.jacobian != 0.0)[:, fit.at_bound].any(axis=1))
        checks += _checks(problem, constraints, holding, constraints.violated(p), at.values)
    if active is not None:
        constraints = Constraints.of(problem)
        checks += _checks(problem, constraints, active.holding, active.violated, active.slacks)
    return tuple(checks)


def _checks(
    problem: Problem, constraints: Constraints, holding: Flags, violated: Flags, slacks: F64
) -> list[ConstraintCheck]:
    free = frozenset(q.name for q in problem.free)

    def names(c: Constraint) -> tuple[str, ...]:
        searched = constraints.searched(c, free)
        return tuple(q.name for q in problem.free if q.name in searched)

    return [
        ConstraintCheck(c.name, c.text, c.equality, bool(h), bool(v), float(s), names(c))
        for c, h, v, s in zip(constraints.items, holding, violated, slacks, strict=True)
    ]


def parameters_at_bound(problem: Problem, p: F64) -> Flags:
    """Return which free parameters lie on a bound, shape (n,)."""
    low, high = _at_bounds(problem, p)
    return low | high


def _at_bounds(problem: Problem, p: F64) -> tuple[Flags, Flags]:
    """Return which free parameters lie on their lower and their upper bounds, shape (n,)."""
    lower, upper = problem.lower, problem.upper
    with np.errstate(invalid="ignore"):
        width = np.where(np.isfinite(upper - lower), upper - lower, np.abs(p))
    slack = _ON_BOUND * width
    return p <= lower + slack, p >= upper - slack


def with_hiding_bounds(fit: Fit, check: ResidualCheck) -> ResidualCheck:
    """Return the check of the residuals with the bounds that prevent a fit, instead of delays."""
    jacobian, residuals = fit.statistics.local.jacobian, fit.residuals
    if jacobian.shape != (residuals.size, fit.p.size):
        return check
    left, names = left_beyond_bounds(fit.problem, fit.p, fit.at_bound, jacobian, residuals)
    smallest = min((d.left for d in check.delays), default=1.0)
    if not left < min(_HIDDEN, smallest):
        return check
    return replace(check, delays=(), hiding_bounds=names)


def left_beyond_bounds(
    problem: Problem, p: F64, held: Flags, jacobian: F64, residuals: F64
) -> tuple[float, tuple[str, ...]]:
    """Return the residuals that would remain without the bounds, and the bounds that matter.

    By the derivatives at the estimate: nothing is simulated beyond a bound. The root mean
    square of those whitened residuals is relative to the present one, and the names are
    those of parameters that would cross their bounds; NaN and nothing if no bound holds one
    back.
    """
    size = float(np.linalg.norm(residuals))
    outward = np.where(p - problem.lower <= problem.upper - p, -1.0, 1.0)
    released = held.copy()
    while released.any() and size > 0.0:
        moving = released | ~held
        norms = np.linalg.norm(jacobian, axis=0)
        used = np.flatnonzero(moving & (norms > 0.0))
        step = np.zeros(p.size)
        scaled = jacobian[:, used] / norms[used]
        step[used] = np.linalg.lstsq(scaled, -residuals, rcond=1e-6)[0] / norms[used]
        back = released & ~(step * outward > 0.0)
        if not back.any():
            left = float(np.linalg.norm(residuals + jacobian @ step)) / size
            names = tuple(q.name for q, out in zip(problem.free, released, strict=True) if out)
            return left, names
        released &= ~back
    return float("nan"), ()
