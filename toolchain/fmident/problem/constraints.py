"""The constraints of a problem as functions of its searched parameters.

**Some need no estimator to keep them**: they become bounds or dependent parameters. A linear
equality determines one of its parameters, which then follows from the others. A linear inequality
in a single parameter is a bound. What is left is for estimators that keep constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Diagnostic, ProblemError
from fmident.problem.dependent import Dependence, check_names, finite, units_by_name, with_values
from fmident.problem.expressions import (
    Constraint,
    Expression,
    ExpressionError,
    Name,
    Node,
    Number,
    Operation,
    Units,
    advised,
    evaluated,
    value_of,
)
from fmident.problem.model import Parameter, Problem, SearchSpace, made_once, with_notes
from fmident.units import unit_or_none
from fmident.words import listed

VIOLATED = 1e-6
"""Distance from where a constraint holds, in sizes of the parameters, from which it is violated."""

_INFEASIBLE = 2
"""SciPy's status of a linear programme that has no solution."""

_SLACK = 1e-12
"""Part of a range by which rounding may pass a bound."""

Notes = list[tuple[str, Diagnostic]]
"""Each with the name of the constraint that it is about."""

_SAME = 1e-9
"""A row is redundant when less than this part of it is orthogonal to the rows before it."""


@dataclass(frozen=True, eq=False)
class ConstraintValues:
    """Values and derivatives of the constraint functions with respect to searched parameters.

    A function is the difference of the two sides in SI units. It is zero where an equality
    holds, and non-negative where an inequality holds. The shapes are (k,), (k, n) and (k,
    n, n).
    """

    values: F64
    jacobian: F64
    hessians: F64


class Constraints:
    """The k constraints of a problem with n searched parameters."""

    def __init__(self, problem: Problem) -> None:
        self.items: tuple[Constraint, ...] = problem.constraints
        self._dependence = Dependence.of(problem)
        self._count = len(problem.free)
        self._sizes = np.array([abs(q.initial) or q.scale for q in problem.free])

    @classmethod
    def of(cls, problem: Problem) -> Constraints:
        """Return the cached instance of a problem."""
        return made_once(problem, cls)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def equalities(self) -> npt.NDArray[np.bool_]:
        """Mask of the equalities, shape (k,)."""
        return np.array([c.equality for c in self.items], dtype=np.bool_)

    @property
    def affine(self) -> npt.NDArray[np.bool_]:
        """Mask of the constraints that are affine in the searched parameters, shape (k,)."""
        if not self.items:
            return np.empty(0, dtype=np.bool_)
        import casadi  # here: it takes 0.2 s, and few problems have constraints

        p, values = self._symbols()
        return np.array([casadi.is_linear(value, p) for value in values], dtype=np.bool_)

    def searched(self, constraint: Constraint, free: frozenset[str]) -> frozenset[str]:
        """Return the searched parameters on which a constraint depends, directly or indirectly."""
        return self._dependence.sources(constraint.left, constraint.right) & free

    def values(self, p: F64) -> F64:
        """Return the functions at `p`, shape (k,); NaN where undefined."""
        if not self.items:
            return np.empty(0)
        si = self._dependence.values_in_si(p)
        return np.array(
            [_sign(c) * (value_of(c.left, si) - value_of(c.right, si)) for c in self.items]
        )

    def at(self, p: F64) -> ConstraintValues:
        """Return the functions at `p` with their derivatives."""
        if not self.items:
            empty = np.empty((0, self._count))
            return ConstraintValues(np.empty(0), empty, np.empty((0, self._count, self._count)))
        jacobian, *hessians = map(finite, self._derivatives(p))
        return ConstraintValues(self.values(p), jacobian, np.array(hessians))

    @cached_property
    def _derivatives(self) -> Any:
        """The Jacobian of the functions, followed by the Hessian of each."""
        import casadi  # here: it takes 0.2 s, and few problems have constraints

        p, values = self._symbols()
        hessians = [casadi.hessian(value, p)[0] for value in values]
        jacobian = casadi.jacobian(casadi.vertcat(*values), p)
        return casadi.Function("constraints", [p], [jacobian, *hessians])

    def _symbols(self) -> tuple[Any, list[Any]]:
        """Return CasADi's symbols of the searched parameters, and the functions."""
        import casadi  # here: it takes 0.2 s, and few problems have constraints

        p, si = self._dependence.symbols()
        return p, [
            _sign(c) * (evaluated(c.left, si, casadi) - evaluated(c.right, si, casadi))
            for c in self.items
        ]

    def distances(self, p: F64) -> F64:
        """Return first-order distances from `p` to the zeros of the functions, shape (k,).

        They are in units of the parameter scales and positive where an inequality holds. They
        are infinite where the function is undefined, or violated and independent of the
        parameters.
        """
        values, slopes = self._values_and_slopes(p)
        with np.errstate(all="ignore"):
            distances = np.where(values == 0.0, 0.0, values / slopes)
        return np.where(np.isnan(values), -np.inf, distances)

    def violated(self, p: F64, tolerance: float = VIOLATED) -> npt.NDArray[np.bool_]:
        """Return the mask of the constraints violated at `p`, shape (k,)."""
        distances = self.distances(p)
        wrong: npt.NDArray[np.bool_] = np.where(
            self.equalities, np.abs(distances) > tolerance, distances < -tolerance
        )
        return wrong

    def scale(self, p: F64) -> F64:
        """Return the factors that convert function values to scaled distances, shape (k,)."""
        _, slopes = self._values_and_slopes(p)
        usable = np.isfinite(slopes) & (slopes > 0.0)
        return np.where(usable, 1.0 / np.where(usable, slopes, 1.0), 1.0)

    def _values_and_slopes(self, p: F64) -> tuple[F64, F64]:
        """Return the functions, and how much each changes with parameters of their size."""
        at = self.at(p)
        return at.values, np.linalg.norm(at.jacobian * np.maximum(np.abs(p), self._sizes), axis=1)


def _sign(c: Constraint) -> float:
    return -1.0 if c.relation == "<=" else 1.0


class AffineSystem:
    """Affine constraints of a problem as rows of coefficients.

    A row has the derivatives of a constraint followed by its value at zero, shape (n + 1,),
    so that it is ``row[:-1] @ p + row[-1]``; it is ``None`` if the constraint is not
    affine.
    """

    def __init__(self, problem: Problem) -> None:
        constraints = Constraints.of(problem)
        at, affine = constraints.at(problem.initial), constraints.affine
        self._constraints = problem.constraints
        self._lower, self._upper = problem.lower, problem.upper
        self.rows: tuple[F64 | None, ...] = tuple(
            np.append(g, v - g @ problem.initial) if known and np.isfinite([v, *g]).all() else None
            for known, g, v in zip(affine, at.jacobian, at.values, strict=True)
        )

    def row(self, constraint: Constraint) -> F64 | None:
        """Return the row of a constraint."""
        return self.rows[[c is constraint for c in self._constraints].index(True)]

    def feasible(self, chosen: Sequence[Constraint]) -> bool:
        """Return whether a point within the bounds satisfies the chosen affine constraints."""
        from scipy.optimize import linprog  # here, since it is slow to import and seldom needed

        rows = {c: self.row(c) for c in chosen}
        scaled = [(c, r / np.linalg.norm(r[:-1])) for c, r in rows.items() if r is not None]
        equal = [r for c, r in scaled if c.equality]
        least = [r for c, r in scaled if not c.equality]
        ended = linprog(
            np.zeros(self._lower.size),
            A_ub=-np.array(least)[:, :-1] if least else None,
            b_ub=np.array(least)[:, -1] if least else None,
            A_eq=np.array(equal)[:, :-1] if equal else None,
            b_eq=-np.array(equal)[:, -1] if equal else None,
            bounds=list(zip(self._lower, self._upper, strict=True)),
        )
        return int(ended.status) != _INFEASIBLE


def simplified(problem: Problem) -> Problem:
    """Return the problem without the constraints that bounds and dependent parameters replace.

    It has a note on each constraint removed. `problem` has the values of the parameters
    that are held; for a stage, those it starts from.
    """
    while True:
        system = AffineSystem(problem)
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
    problem = replace(
        problem,
        constraints=tuple(c for c in problem.constraints if c is not constraint),
        eliminated=(*problem.eliminated, constraint),
    )
    return with_notes(problem, (*others, Diagnostic("note", note, rule="constraint-eliminated")))


def _eliminated(problem: Problem, constraint: Constraint, row: F64) -> Problem | None:
    """Make one parameter of an equality dependent; ``None`` if the bounds do not allow it."""
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
    """Turn an inequality in one parameter into a bound; drop it if the bounds imply it."""
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

    It is ``None`` if the range is empty.
    """
    ends = sorted(((lower - constant) / slope, (upper - constant) / slope))
    low, high = max(q.lower, ends[0]), min(q.upper, ends[1])
    if not low < high:
        return None
    return replace(q, lower=low, upper=high, initial=min(max(q.initial, low), high))


def _tree(problem: Problem, q: Parameter, slopes: dict[int, float], constant: float) -> Node:
    """Return ``q`` in SI units as a linear expression of the others in SI units."""
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
            part = Operation("*", (Number(abs(slope)), part))
        tree = Operation(operator, (tree, part))
    return tree


def check_constraints(problem: Problem) -> tuple[tuple[Constraint, ...], Notes]:
    """Return the constraints that are not redundant, and notes on the others.

    Raises `ProblemError`, whose key is the name of a constraint, for unknown names,
    different dimensions and contradictions.
    """
    units = units_by_name(problem.parameters)
    for c in problem.constraints:
        try:
            check_names([c.left, c.right], c.written, units)
            Units(units, c.written).same(c.left, c.right, c.right.position, "compared with")
        except ExpressionError as error:
            error.key = c.name
            advised(error, [c.left, c.right], units)
            raise
    notes: Notes = []
    remaining = _not_constant(problem, notes)
    remaining = _not_redundant(replace(problem, constraints=remaining), notes)
    reduced = replace(problem, constraints=remaining)
    _refuse_contradictions(reduced)
    notes += _initial_notes(reduced)
    return remaining, notes


def _not_constant(problem: Problem, notes: Notes) -> tuple[Constraint, ...]:
    """Return the constraints on searched parameters; reject constant ones that are violated."""
    constraints = Constraints.of(problem)
    free = frozenset(q.name for q in problem.free)
    wrong = constraints.violated(problem.initial)
    at = constraints.at(problem.initial)
    silent = constraints.affine & ~at.jacobian.any(axis=1)  # such as a - a = 0
    remaining = []
    for c, violated, value, same in zip(problem.constraints, wrong, at.values, silent, strict=True):
        if constraints.searched(c, free) and not same:
            remaining.append(c)
        elif not np.isfinite(value) or (violated and not _is_rounding(c, value, problem)):
            raise ProblemError(
                f"the constraint {c} does not hold, and depends on no searched parameter",
                hint="correct the values of its parameters, or remove 'fixed = true' from one",
                key=c.name,
            )
        else:
            notes.append(
                (
                    c.name,
                    _note(f"the constraint {c} holds always: it depends on no searched parameter"),
                )
            )
    return tuple(remaining)


def _is_rounding(c: Constraint, value: float, problem: Problem) -> bool:
    si = Dependence.of(problem).values_in_si(problem.initial)
    return abs(value) <= 1e-9 * max(abs(value_of(c.left, si)), abs(value_of(c.right, si)))


def _not_redundant(problem: Problem, notes: Notes) -> tuple[Constraint, ...]:
    """Return the constraints without affine equalities implied by earlier ones."""
    system = AffineSystem(problem)
    remaining: list[Constraint] = []
    basis = np.empty((0, len(problem.free)))
    rows: list[F64] = []
    for c, row in zip(problem.constraints, system.rows, strict=True):
        if row is None or not c.equality:
            remaining.append(c)
            continue
        unit = row[:-1] / np.linalg.norm(row[:-1])
        left = unit - basis.T @ (basis @ unit)
        if np.linalg.norm(left) > _SAME:
            basis = np.vstack([basis, left / np.linalg.norm(left)])
            rows.append(row)
            remaining.append(c)
            continue
        shares = np.linalg.lstsq(np.array(rows)[:, :-1].T, row[:-1], rcond=None)[0]
        others = [k for k in remaining if k.equality and system.row(k) is not None]
        named = [str(k) for k, share in zip(others, shares, strict=True) if abs(share) > _SAME]
        constant = float(shares @ np.array(rows)[:, -1])
        size = float(np.abs(shares) @ np.abs(np.array(rows)[:, -1])) + abs(row[-1])
        if abs(constant - row[-1]) > _SAME * max(size, 1e-300):
            raise ProblemError(
                f"the constraint {c} contradicts {listed(named)}",
                hint="remove one of them, or correct its numbers",
                key=c.name,
            )
        notes.append((c.name, _note(f"the constraint {c} follows from {listed(named)}")))
    count = len(basis)
    if count and count >= len(problem.free):
        raise ProblemError(
            f"{count} equality constraints for {count} searched parameters leave nothing to search",
            hint="remove a constraint, or fix the parameters that it determines",
            key=remaining[-1].name,
        )
    return tuple(remaining)


def _refuse_contradictions(problem: Problem) -> None:
    """Raise `ProblemError` if no point within the bounds satisfies all affine constraints.

    The error names a minimal set: without any one of it the others can be satisfied.
    """
    system = AffineSystem(problem)
    chosen = [c for c in problem.constraints if system.row(c) is not None]
    if not chosen or system.feasible(chosen):
        return
    for c in list(chosen):  # the deletion filter of Chinneck (Feasibility and Infeasibility, 2008)
        rest = [k for k in chosen if k is not c]
        if not system.feasible(rest):
            chosen = rest
    names = [str(c) for c in chosen]
    bounds = f" inside the bounds of {listed(_bounded(problem, chosen))}"
    raise ProblemError(
        f"the constraint {names[0]} cannot hold{bounds}"
        if len(names) == 1
        else f"the constraints {listed(names)} contradict each other{bounds}",
        hint="remove or correct one of them, or widen the bounds",
        key=chosen[-1].name,
    )


def _bounded(problem: Problem, chosen: Sequence[Constraint]) -> list[str]:
    found, free = Constraints.of(problem), frozenset(q.name for q in problem.free)
    used = frozenset().union(*(found.searched(c, free) for c in chosen))
    return [f"'{q.name}'" for q in problem.free if q.name in used]


def _initial_notes(problem: Problem) -> Notes:
    """Note the constraints violated at the initial point, and a point that satisfies all."""
    constraints = Constraints.of(problem)
    wrong = np.flatnonzero(constraints.violated(problem.initial))
    if not wrong.size:
        return []
    near = nearest_feasible(problem, problem.initial)
    if near is None:
        advice = (
            "no values were found that keep all constraints: they may contradict each other, or"
            " the initial values are too far away"
        )
    else:
        values = ", ".join(
            f"{q.name} = {x:.4g}" + (f" {q.unit}" if q.unit not in (None, "1") else "")
            for q, x, old in zip(problem.free, near, problem.initial, strict=True)
            if abs(x - old) > 1e-9 * max(abs(x), q.scale)
        )
        advice = f"the search begins at the nearest values that keep all: {values}"
    return [
        (
            problem.constraints[k].name,
            Diagnostic(
                "warning" if near is None else "note",
                f"{problem.constraints[k].not_kept}; {advice}",
                rule="constraint-violated-at-start",
            ),
        )
        for k in wrong
    ]


def nearest_feasible(problem: Problem, p: F64) -> F64 | None:
    """Return the feasible point closest to `p` in the search space.

    `p` are the searched parameters, shape (n,). The point satisfies all constraints and
    bounds; it is ``None`` if none is found.
    """
    from scipy import optimize  # here, since it is slow to import and seldom needed

    minimize: Any = optimize.minimize
    constraints, space = Constraints.of(problem), SearchSpace.of(problem)
    if not constraints.violated(p).any():
        return p
    z0 = np.clip(space.from_physical(p), space.lower, space.upper)
    scale = constraints.scale(space.to_physical(z0))
    size = np.where(space.log, 1.0, np.maximum(np.abs(z0), 1.0))

    def part(chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
        def values(z: F64) -> F64:
            return np.asarray((constraints.values(space.to_physical(z)) * scale)[chosen])

        def slopes(z: F64) -> F64:
            x = space.to_physical(z)
            rows = constraints.at(x).jacobian * space.derivative(x) * scale[:, np.newaxis]
            return np.asarray(rows[chosen])

        return {"fun": values, "jac": slopes}

    parts: Any = [
        {"type": kind, **part(chosen)}
        for kind, chosen in (("eq", constraints.equalities), ("ineq", ~constraints.equalities))
        if chosen.any()
    ]
    options: Any = {"maxiter": 200, "ftol": 1e-14}
    with np.errstate(all="ignore"):
        ended = minimize(
            lambda z: 0.5 * float(np.sum(((z - z0) / size) ** 2)),
            z0,
            jac=lambda z: (z - z0) / size**2,
            bounds=list(zip(space.lower, space.upper, strict=True)),
            constraints=parts,
            method="SLSQP",
            options=options,
        )
        near = space.bounded(np.asarray(ended.x))
        feasible = bool(np.isfinite(near).all()) and not constraints.violated(near).any()
    return near if feasible else None


def _note(message: str) -> Diagnostic:
    return Diagnostic("note", message, rule="constraint-without-effect")
