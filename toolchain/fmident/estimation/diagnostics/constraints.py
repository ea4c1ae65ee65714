"""Constraints that are active at the estimate, and their effect on its intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.result import ConstraintCheck
from fmident.findings import Finding, finding
from fmident.problem.constraints import VIOLATED, Constraints
from fmident.problem.dependent import Dependence
from fmident.problem.expressions import Constraint
from fmident.statistics import ParameterStatistics
from fmident.statistics.tangent import Region, Tangent, region_of, tangent_of
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.problem.model import Problem

Flags = npt.NDArray[np.bool_]
S = TypeVar("S", bound=ParameterStatistics)


@dataclass(frozen=True, eq=False)
class Active:
    """The k constraints at the estimate.

    `holding` are active and keep the estimate from lower costs, equalities included;
    `violated` are not satisfied; `slacks` are their values in SI units and `rows` their
    derivatives, shape (k, n). The parameters can move along `tangent`, without inequalities
    along `equal`.
    """

    holding: Flags
    violated: Flags
    slacks: F64
    rows: F64
    tangent: Tangent
    equal: Tangent


def active_constraints(
    problem: Problem, p: F64, held: Flags, gradient: F64 | None = None
) -> Active | None:
    """Return the constraints that hold at `p`; ``None`` for a problem without any.

    An inequality counts if it holds with equality and its multiplier is not negative:
    without it the cost would fall. `gradient` is that of the cost at `p`; without it every
    inequality that holds with equality counts. `held` marks parameters on a bound.
    """
    constraints = Constraints.of(problem)
    if not len(constraints):
        return None
    at, equal = constraints.at(p), constraints.equalities
    sizes = np.array([abs(x) or q.scale for q, x in zip(problem.free, p, strict=True)])
    holding = equal | (np.abs(constraints.distances(p)) <= VIOLATED)
    rows = at.jacobian
    scaled = rows * sizes
    norms = np.linalg.norm(scaled, axis=1)
    scaled = scaled / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis]
    while gradient is not None and bool((holding & ~equal).any()):
        chosen = np.flatnonzero(holding)
        descent = (gradient * sizes)[~held]
        multipliers = np.linalg.lstsq(scaled[np.ix_(chosen, ~held)].T, descent, rcond=None)[0]
        multipliers[equal[chosen]] = 0.0
        worst = int(np.argmin(multipliers))
        if multipliers[worst] >= 0.0:
            break
        holding[chosen[worst]] = False
    return Active(
        holding,
        constraints.violated(p),
        at.values,
        rows,
        tangent_of(rows[holding], sizes, held),
        tangent_of(rows[equal], sizes, held),
    )


def within_inequalities(
    problem: Problem,
    statistics: S,
    active: Active,
    p: F64,
    jacobian: F64,
    residuals: F64,
) -> tuple[S, Region | None]:
    """Return the statistics with intervals that satisfy the inequalities, and their region.

    The given statistics are those along the active constraints. `jacobian` and `residuals`
    are whitened. The region is ``None`` if no inequality is within reach.
    """
    unequal = ~Constraints.of(problem).equalities
    linear = statistics.linearisation
    if not unequal.any() or not np.isfinite(linear.noise) or linear.noise <= 0.0:
        return statistics, None
    columns = active.equal.basis[:, np.abs(active.equal.basis).any(axis=0)]
    slacks = np.where(active.holding, 0.0, active.slacks)[unequal]
    region = region_of(linear, jacobian, residuals, columns, active.rows[unequal], slacks)
    reach = region.reach(np.eye(p.size))
    if reach is None:
        return statistics, None
    intervals = statistics.intervals.copy()
    known = np.isfinite(statistics.standard_errors)
    intervals[known] = (p[:, np.newaxis] + reach)[known]
    return replace(statistics, intervals=intervals), region


def constraint_notes(problem: Problem, active: Active | None, narrowed: bool) -> list[Finding]:
    """Return notes on the constraints of an estimate."""
    if active is None:
        return []
    items, equal = Constraints.of(problem).items, Constraints.of(problem).equalities
    notes = []
    holding = [str(c) for c, h, e in zip(items, active.holding, equal, strict=True) if h and not e]
    if holding:
        notes.append(
            finding(
                "interval-cut",
                f"The constraint{'s' * (len(holding) > 1)} {listed(holding)}"
                f" hold{'s' * (len(holding) == 1)} the estimate: the standard errors are those of"
                " parameters that move along it; the intervals reach to its other side.",
            )
        )
    elif narrowed:
        text = "Inequalities cut the intervals short: they end where a constraint does."
        notes.append(finding("interval-cut", text))
    violated = [str(c) for c, v in zip(items, active.violated, strict=True) if v]
    if violated:
        text = f"Not kept: {listed(violated)}. The parameters and intervals do not hold."
        notes.append(finding("interval-cut", text))
    return notes


def constraint_checks(
    problem: Problem, active: Active | None, p: F64, held: Flags
) -> tuple[ConstraintCheck, ...]:
    """Return the constraints at the estimate for the result.

    They include those replaced by bounds and dependent parameters; `held` marks parameters
    on a bound.
    """
    checks: list[ConstraintCheck] = []
    if problem.kept:
        constraints = Constraints.of(replace(problem, constraints=problem.kept))
        at, equal = constraints.at(p), constraints.equalities
        near = np.abs(constraints.distances(p)) <= VIOLATED
        holding = equal | (near & (at.jacobian != 0.0)[:, held].any(axis=1))
        checks += _checks(problem, constraints, holding, constraints.violated(p), at.values)
    if active is not None:
        constraints = Constraints.of(problem)
        checks += _checks(problem, constraints, active.holding, active.violated, active.slacks)
    return tuple(checks)


def _checks(
    problem: Problem, found: Constraints, holding: Flags, violated: Flags, slacks: F64
) -> list[ConstraintCheck]:
    free = frozenset(q.name for q in problem.free)

    def names(c: Constraint) -> tuple[str, ...]:
        searched = found.searched(c, free)
        return tuple(q.name for q in problem.free if q.name in searched)

    return [
        ConstraintCheck(c.name, c.text, c.equality, bool(h), bool(v), float(s), names(c))
        for c, h, v, s in zip(found.items, holding, violated, slacks, strict=True)
    ]


def dependent_reach(
    problem: Problem, p: F64, region: Region | None
) -> dict[str, tuple[float, float]]:
    """Return the possible changes of dependent parameters, by name."""
    if region is None:
        return {}
    rows = Dependence.of(problem).derivatives(p)
    names = [q.name for q in problem.parameters if q.expression is not None]
    if not names:
        return {}
    reach = region.reach(np.array([rows[n] for n in names]))
    assert reach is not None  # some inequality is within reach of the parameters themselves
    return {n: (float(low), float(high)) for n, (low, high) in zip(names, reach, strict=True)}
