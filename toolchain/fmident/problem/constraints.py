"""The constraints of a problem as functions of its searched parameters.

Constraints that need no estimator to keep them: they become bounds or dependent parameters.

A linear equality determines one of its parameters, which then follows from the others. A linear
inequality in a single parameter is a bound. What is left is for estimators that keep constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Diagnostic, ProblemError
from fmident.problem.dependent import Dependence, check_names, units_by_name, with_values
from fmident.problem.expressions import (
    Binary,
    Constraint,
    Expression,
    ExpressionError,
    Name,
    Node,
    Number,
    degree,
    unit_or_none,
)
from fmident.problem.jets import Jet, advised, check_sides, jet_of, value_of
from fmident.problem.model import Parameter, Problem, with_notes
from fmident.problem.search_space import SearchSpace
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_KEPT = "constraint_functions"

VIOLATED = 1e-6
"""Distance from where a constraint holds, in sizes of the parameters, from which it is violated."""


_INFEASIBLE = 2
"""SciPy's status of a linear programme that has no solution."""


_SLACK = 1e-12
"""Part of a range by which rounding may pass a bound."""


Notes = list[tuple[str, Diagnostic]]
"""Each with the name of the constraint that it is about."""

_SAME = 1e-9
"""Part of a row that is left without the rows before it, below which it says nothing new."""


@dataclass(frozen=True, eq=False)
class ConstraintJets:
    """The constraints at a point, with derivatives with respect to the searched parameters.

    A function is zero where an equality holds, and not negative where an inequality holds. It is
    the difference of the sides in SI units.

    Parameters
    ----------
    values
        Shape (k,).
    jacobian
        Shape (k, n).
    hessians
        Shape (k, n, n).
    """

    values: F64
    jacobian: F64
    hessians: F64


class Constraints:
    """The constraints of a problem.

    Parameters
    ----------
    problem
        With k constraints and n searched parameters.
    """

    def __init__(self, problem: Problem) -> None:
        self.items: tuple[Constraint, ...] = problem.constraints
        self._dependence = Dependence.of(problem)
        self._count = len(problem.free)
        self._sizes = np.array([abs(q.initial) or q.scale for q in problem.free])

    @classmethod
    def of(cls, problem: Problem) -> Constraints:
        """Return those of a problem, which are kept with it."""
        known = problem.__dict__.get(_KEPT)
        if known is None:
            known = problem.__dict__[_KEPT] = cls(problem)
        found: Constraints = known
        return found

    def __len__(self) -> int:
        return len(self.items)

    @property
    def equalities(self) -> npt.NDArray[np.bool_]:
        """Which are equalities, shape (k,)."""
        return np.array([c.equality for c in self.items], dtype=np.bool_)

    @property
    def affine(self) -> npt.NDArray[np.bool_]:
        """Which are affine functions of the searched parameters, shape (k,)."""
        degrees = self._dependence.degrees()
        return np.array(
            [max(degree(c.left, degrees), degree(c.right, degrees)) <= 1.0 for c in self.items],
            dtype=np.bool_,
        )

    def searched(self, constraint: Constraint, free: frozenset[str]) -> frozenset[str]:
        """Return the searched parameters on which a constraint depends, be it through others."""
        return self._dependence.sources(constraint.left, constraint.right) & free

    def values(self, p: F64) -> F64:
        """Return the functions at `p`, shape (k,); NaN where they are not defined."""
        if not self.items:
            return np.empty(0)
        si = self._dependence.values_in_si(p)
        return np.array([self._sign(c) * self._difference(c, si) for c in self.items])

    def at(self, p: F64) -> ConstraintJets:
        """Return the functions at `p` with their derivatives."""
        if not self.items:
            empty = np.empty((0, self._count))
            return ConstraintJets(np.empty(0), empty, np.empty((0, self._count, self._count)))
        jets = self._dependence.jets(p)
        with np.errstate(all="ignore"):  # not a number where an expression is not defined
            found = [self._jet(c, jets) for c in self.items]
        return ConstraintJets(
            np.array([jet.value for jet in found]),
            np.array([jet.gradient for jet in found]),
            np.array([jet.hessian for jet in found]),
        )

    def distances(self, p: F64) -> F64:
        """Return how far `p` is from where each function is zero, in sizes of the parameters.

        To first order, shape (k,); positive where an inequality holds, infinite where it is not
        defined and where it does not depend on the parameters and is violated.
        """
        found = self.at(p)
        sizes = np.maximum(np.abs(p), self._sizes)
        with np.errstate(all="ignore"):
            slopes = np.linalg.norm(found.jacobian * sizes, axis=1)
            distances = np.where(found.values == 0.0, 0.0, found.values / slopes)
        return np.where(np.isnan(found.values), -np.inf, distances)

    def violated(self, p: F64, tolerance: float = VIOLATED) -> npt.NDArray[np.bool_]:
        """Return which constraints do not hold at `p`, shape (k,)."""
        distances = self.distances(p)
        wrong: npt.NDArray[np.bool_] = np.where(
            self.equalities, np.abs(distances) > tolerance, distances < -tolerance
        )
        return wrong

    def scale(self, p: F64) -> F64:
        """Return what makes the functions distances in sizes of the parameters, shape (k,)."""
        found = self.at(p)
        sizes = np.maximum(np.abs(p), self._sizes)
        with np.errstate(all="ignore"):
            slopes = np.linalg.norm(found.jacobian * sizes, axis=1)
        usable = np.isfinite(slopes) & (slopes > 0.0)
        return np.where(usable, 1.0 / np.where(usable, slopes, 1.0), 1.0)

    def _sign(self, c: Constraint) -> float:
        return -1.0 if c.relation == "<=" else 1.0

    def _difference(self, c: Constraint, si: Mapping[str, float]) -> float:
        return value_of(c.left, si) - value_of(c.right, si)

    def _jet(self, c: Constraint, jets: Mapping[str, Jet]) -> Jet:
        left, right = jet_of(c.left, jets, self._count), jet_of(c.right, jets, self._count)
        return (left - right).scaled(self._sign(c))


class AffineSystem:
    """The affine constraints of a problem as rows of numbers.

    Attributes
    ----------
    rows
        For each constraint its derivatives and, last, its value at zero, shape (n + 1,), so that
        it is ``row[:-1] @ p + row[-1]``; ``None`` where it is not affine.
    """

    def __init__(self, problem: Problem) -> None:
        found = Constraints.of(problem)
        at, affine = found.at(problem.initial), found.affine
        self._constraints = problem.constraints
        self._lower, self._upper = problem.lower, problem.upper
        self.rows: tuple[F64 | None, ...] = tuple(
            np.append(g, v - g @ problem.initial) if known and np.isfinite([v, *g]).all() else None
            for known, g, v in zip(affine, at.jacobian, at.values, strict=True)
        )

    @classmethod
    def of(cls, problem: Problem) -> AffineSystem:
        """Return that of a problem."""
        return cls(problem)

    def row(self, constraint: Constraint) -> F64 | None:
        """Return the row of one of the constraints."""
        return self.rows[[c is constraint for c in self._constraints].index(True)]

    def feasible(self, chosen: Sequence[Constraint]) -> bool:
        """Return whether a point inside the bounds keeps the chosen affine constraints."""
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
    problem = replace(
        problem,
        constraints=tuple(c for c in problem.constraints if c is not constraint),
        kept=(*problem.kept, constraint),
    )
    return with_notes(problem, (*others, Diagnostic("note", note, rule="constraint-eliminated")))


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


def check_constraints(problem: Problem) -> tuple[tuple[Constraint, ...], Notes]:
    """Return the constraints that say something, and what is to be said of them.

    Parameters
    ----------
    problem
        With the constraints as written.

    Raises
    ------
    fmident.errors.ProblemError
        Names that do not exist, dimensions that differ, contradictions; its key is the name of a
        constraint.
    """
    units = units_by_name(problem.parameters)
    for c in problem.constraints:
        try:
            check_names([c.left, c.right], c.written, units)
            check_sides(c.left, c.right, units, c.written)
        except ExpressionError as error:
            error.key = c.name
            advised(error, [c.left, c.right], units)
            raise
    notes: Notes = []
    kept = _not_constant(problem, notes)
    kept = _not_redundant(replace(problem, constraints=kept), notes)
    reduced = replace(problem, constraints=kept)
    _refuse_contradictions(reduced)
    notes += _initial_notes(reduced)
    return kept, notes


def _not_constant(problem: Problem, notes: Notes) -> tuple[Constraint, ...]:
    """Return the constraints on searched parameters; refuse others that do not hold."""
    found = Constraints.of(problem)
    free = frozenset(q.name for q in problem.free)
    wrong = found.violated(problem.initial)
    at = found.at(problem.initial)
    silent = found.affine & ~at.jacobian.any(axis=1)  # such as a - a = 0
    kept = []
    for c, violated, value, same in zip(problem.constraints, wrong, at.values, silent, strict=True):
        if found.searched(c, free) and not same:
            kept.append(c)
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
    return tuple(kept)


def _is_rounding(c: Constraint, value: float, problem: Problem) -> bool:
    """Return whether the sides differ by rounding only."""
    si = Dependence.of(problem).values_in_si(problem.initial)
    return abs(value) <= 1e-9 * max(abs(value_of(c.left, si)), abs(value_of(c.right, si)))


def _not_redundant(problem: Problem, notes: Notes) -> tuple[Constraint, ...]:
    """Return the constraints without affine equalities that follow from others before them."""
    system = AffineSystem.of(problem)
    kept: list[Constraint] = []
    basis = np.empty((0, len(problem.free)))
    rows: list[F64] = []
    for c, row in zip(problem.constraints, system.rows, strict=True):
        if row is None or not c.equality:
            kept.append(c)
            continue
        unit = row[:-1] / np.linalg.norm(row[:-1])
        left = unit - basis.T @ (basis @ unit)
        if np.linalg.norm(left) > _SAME:
            basis = np.vstack([basis, left / np.linalg.norm(left)])
            rows.append(row)
            kept.append(c)
            continue
        shares = np.linalg.lstsq(np.array(rows)[:, :-1].T, row[:-1], rcond=None)[0]
        others = [k for k in kept if k.equality and system.row(k) is not None]
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
            key=kept[-1].name,
        )
    return tuple(kept)


def _refuse_contradictions(problem: Problem) -> None:
    """Refuse affine constraints that no point inside the bounds keeps.

    Raises
    ------
    ProblemError
        Naming a smallest set of them: without any of it the others can be kept.
    """
    system = AffineSystem.of(problem)
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
    """Name the constraints that do not hold at the initial point, and where all of them do."""
    found = Constraints.of(problem)
    wrong = np.flatnonzero(found.violated(problem.initial))
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
    """Return the point nearest to `p` in the search space that keeps all constraints and bounds.

    Parameters
    ----------
    problem
        With constraints.
    p
        Searched parameters, shape (n,).

    Returns
    -------
    numpy.ndarray or None
        ``None`` where none is found.
    """
    from scipy import optimize  # here, since it is slow to import and seldom needed

    minimize: Any = optimize.minimize
    found, space = Constraints.of(problem), SearchSpace.of(problem)
    if not found.violated(p).any():
        return p
    z0 = np.clip(space.from_physical(p), space.lower, space.upper)
    scale = found.scale(space.to_physical(z0))
    size = np.where(space.log, 1.0, np.maximum(np.abs(z0), 1.0))

    def part(chosen: npt.NDArray[np.bool_]) -> dict[str, Any]:
        def values(z: F64) -> F64:
            return np.asarray((found.values(space.to_physical(z)) * scale)[chosen])

        def slopes(z: F64) -> F64:
            x = space.to_physical(z)
            rows = found.at(x).jacobian * space.derivative(x) * scale[:, np.newaxis]
            return np.asarray(rows[chosen])

        return {"fun": values, "jac": slopes}

    parts: Any = [
        {"type": kind, **part(chosen)}
        for kind, chosen in (("eq", found.equalities), ("ineq", ~found.equalities))
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
        near = np.clip(space.to_physical(np.asarray(ended.x)), problem.lower, problem.upper)
        kept = bool(np.isfinite(near).all()) and not found.violated(near).any()
    return near if kept else None


def _note(message: str) -> Diagnostic:
    return Diagnostic("note", message, rule="constraint-without-effect")
