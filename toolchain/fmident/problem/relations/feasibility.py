"""Whether constraints make sense: names, units, contradictions, the initial point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import Diagnostic, ProblemError
from fmident.problem.relations.affine import AffineSystem
from fmident.problem.relations.constraint import Constraint
from fmident.problem.relations.constraints import Constraints
from fmident.problem.relations.dependent import Dependence, check_names, units_by_name
from fmident.problem.relations.dimensions import advised, check_sides
from fmident.problem.relations.jets import value_of
from fmident.problem.relations.reader import ExpressionError
from fmident.problem.search_space import SearchSpace
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.problem.model import Problem

Notes = list[tuple[str, Diagnostic]]
"""Each with the name of the constraint that it is about."""

_SAME = 1e-9
"""Part of a row that is left without the rows before it, below which it says nothing new."""


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
