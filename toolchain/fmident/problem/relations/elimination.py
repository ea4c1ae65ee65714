"""Constraints that need no estimator to keep them: they become bounds or dependent parameters.

A linear equality determines one of its parameters, which then follows from the others. A linear
inequality in a single parameter is a bound. What is left is for estimators that keep constraints.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.errors import Diagnostic
from fmident.problem.relations.affine import AffineSystem
from fmident.problem.relations.constraint import Constraint
from fmident.problem.relations.dependent import with_values
from fmident.problem.relations.expression import Expression, unit_or_none
from fmident.problem.relations.tree import Binary, Name, Node, Number

if TYPE_CHECKING:
    from fmident.problem.model import Parameter, Problem

_SLACK = 1e-12
"""Part of a range by which rounding may pass a bound."""


def simplified(problem: Problem) -> Problem:
    """Return the problem without the constraints that bounds and dependent parameters can keep.

    Parameters
    ----------
    problem
        With the values of what it holds: of a stage, those that it starts from.

    Returns
    -------
    Problem
        With the constraints that are left, and a note on each that is gone.
    """
    while True:
        system = AffineSystem.of(problem)
        for constraint in problem.constraints:
            row = system.row(constraint)
            if row is None:
                continue
            following = (_eliminated if constraint.equality else _as_bound)(
                problem, constraint, row
            )
            if following is not None:
                problem = following
                break
        else:
            return problem


def _without(problem: Problem, constraint: Constraint, note: str) -> Problem:
    others = (n for n in problem.notes if not n.message.startswith(constraint.not_kept))
    return replace(
        problem,
        constraints=tuple(c for c in problem.constraints if c is not constraint),
        kept=(*problem.kept, constraint),
        notes=(*others, Diagnostic("note", note, rule="constraint-eliminated")),
    )


def _eliminated(problem: Problem, constraint: Constraint, row: F64) -> Problem | None:
    """Let one parameter of an equality follow from the others; ``None`` where bounds forbid it."""
    slopes, free = row[:-1], problem.free
    involved = [int(j) for j in np.flatnonzero(slopes)]
    if len(involved) < 2:
        return None
    # Of those that can be computed best, the last one, as people write it.
    order = sorted(involved, key=lambda j: (-abs(slopes[j]) * free[j].scale, -j))
    for j in order:
        others = {i: -float(slopes[i] / slopes[j]) for i in involved if i != j}
        constant = -float(row[-1] / slopes[j])
        low, high = _range(problem, others, constant)
        q = free[j]
        slack = _SLACK * max(abs(low), abs(high)) if np.isfinite([low, high]).all() else 0.0
        fits = low >= q.lower - slack and high <= q.upper + slack
        changed = problem.parameters
        if not fits:
            if len(others) > 1:
                continue
            ((i, slope),) = others.items()
            narrowed = _narrowed(free[i], slope, constant, q.lower, q.upper)
            if narrowed is None:
                continue
            changed = tuple(narrowed if p.name == narrowed.name else p for p in changed)
        tree = _tree(problem, q, others, constant)
        followed = replace(
            q,
            expression=Expression(constraint.text, tree),
            lower=-np.inf,
            upper=np.inf,
            scaling="linear",
            step=None,
        )
        changed = tuple(followed if p.name == q.name else p for p in changed)
        note = f"the constraint {constraint} gives '{q.name}', which is not searched"
        return _without(replace(problem, parameters=with_values(changed)), constraint, note)
    return None


def _as_bound(problem: Problem, constraint: Constraint, row: F64) -> Problem | None:
    """Turn an inequality in one parameter into a bound; drop one that bounds keep anyway."""
    slopes = {int(j): float(row[j]) for j in np.flatnonzero(row[:-1])}
    low, _ = _range(problem, slopes, float(row[-1]))
    if low >= 0.0:
        return _without(problem, constraint, f"the bounds keep the constraint {constraint} anyway")
    if len(slopes) != 1:
        return None
    ((j, slope),) = slopes.items()
    q = problem.free[j]
    narrowed = _narrowed(q, slope, float(row[-1]), 0.0, np.inf)
    if narrowed is None:
        return None
    parameters = tuple(narrowed if p.name == q.name else p for p in problem.parameters)
    note = f"the constraint {constraint} is a bound of '{q.name}'"
    return _without(replace(problem, parameters=with_values(parameters)), constraint, note)


def _range(problem: Problem, slopes: dict[int, float], constant: float) -> tuple[float, float]:
    """Return the least and greatest value of an affine function inside the bounds."""
    low = high = constant
    for j, slope in slopes.items():
        q = problem.free[j]
        ends = sorted((slope * q.lower, slope * q.upper))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _narrowed(
    q: Parameter, slope: float, constant: float, lower: float, upper: float
) -> Parameter | None:
    """Return a parameter with bounds that keep ``slope * q + constant`` between two values.

    ``None`` where nothing is left between them.
    """
    ends = sorted(((lower - constant) / slope, (upper - constant) / slope))
    low, high = max(q.lower, ends[0]), min(q.upper, ends[1])
    if not low < high:
        return None
    return replace(q, lower=low, upper=high, initial=min(max(q.initial, low), high))


def _tree(problem: Problem, q: Parameter, slopes: dict[int, float], constant: float) -> Node:
    """Return ``q`` in SI units as a sum of the others in SI units."""
    own = unit_or_none(q.unit)
    factor, offset = (1.0, 0.0) if own is None else (own.factor, own.offset)
    total = factor * constant + offset
    terms: list[tuple[float, str]] = []
    for i, slope in slopes.items():
        other = problem.free[i]
        unit = unit_or_none(other.unit)
        size, shift = (1.0, 0.0) if unit is None else (unit.factor, unit.offset)
        terms.append((slope * factor / size, other.name))
        total -= slope * factor / size * shift
    tree: Node = Number(total)
    for slope, name in terms:
        operator = "+" if slope > 0.0 else "-"
        part: Node = Name(name)
        if abs(slope) != 1.0:
            part = Binary("*", Number(abs(slope)), part)
        tree = Binary(operator, tree, part)
    return tree
