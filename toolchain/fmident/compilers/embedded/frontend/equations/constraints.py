"""Constraints between states that cannot be solved for one of them.

Such an equation is differentiated until the system determines all derivatives (C. C.
Pantelides, 1988). All states remain states, so that no choice among them has to be made
or changed during the motion; the differentiated equations become constraints onto which
the integrator projects after each step (E. Eich, Convergence results for a coordinate
projection method, 1993).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.equations.blocks import Substitution, solve_blocks
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_SMALLEST_PIVOT = 1e-8
"""Relative to the largest element of its row."""


@dataclass(frozen=True)
class Constraint:
    """An expression of time, states and parameters that is zero for consistent states."""

    residual: Scalar
    text: str
    span: sx.Span


def constraint_of(
    part: Sequence[ScalarEquation],
    inner: Mapping[str, v.SX],
    states: Sequence[str],
    unknowns: Unknowns,
    time_invariant: frozenset[int],
) -> tuple[Constraint, ScalarEquation] | None:
    """Return the constraint given by equations, and the first of them differentiated.

    `part` is one equation and those that determine its unknowns, `inner`. ``None`` if the
    constraint has no state, or contains inputs or values that change at events.
    """
    first, *others = part
    try:
        formulas = solve_blocks(others, inner, unknowns, ())
    except Refusal:
        return None
    known = Substitution()
    for name, formula in formulas.items():
        known.define(inner[name], formula)
    (residual,) = known([first.residual])
    if not v.is_symbolic(residual):
        return None
    bound = {unknowns.variables[s].element_hash(): s for s in states}
    rate: Scalar = 0
    has_state = False
    for symbol in ca.symvar(residual):
        key = symbol.element_hash()
        if key in bound:
            has_state = True
            rate = rate + ca.jacobian(residual, symbol) * unknowns.derivatives[bound[key]]
        elif key == unknowns.time.element_hash():
            rate = rate + ca.jacobian(residual, symbol)
        elif key not in time_invariant:
            return None
    if not has_state or not v.is_symbolic(v.plain(rate)):
        return None
    text = f"der({first.text})"
    return (
        Constraint(residual, first.text, first.span),
        ScalarEquation(v.plain(rate), 0, text, first.span),
    )


def determined_by(
    constraints: Sequence[Scalar],
    free: Mapping[str, v.SX],
    preferred: Sequence[str],
    point: Mapping[int, float],
) -> list[str]:
    """Return the states that the constraints determine at the start.

    These are as many as constraints, if a choice is possible at `point`, which has values
    by symbol hash. `free` states may change, the `preferred` ones first.
    """
    names = sorted(free, key=lambda n: n not in preferred)
    if not names or not constraints:
        return []
    stacked = ca.SX(ca.vertcat(*constraints))
    matrix = ca.jacobian(stacked, ca.vertcat(*(free[n] for n in names)))
    symbols = ca.symvar(matrix)
    values = [point.get(s.element_hash(), 0.0) for s in symbols]
    function = ca.Function("matrix", [ca.SX(ca.vertcat(*symbols))], [ca.densify(matrix)])
    rows = np.array(function(values), dtype=float).reshape(len(constraints), len(names))
    chosen: list[str] = []
    split = sum(n in preferred for n in names)
    open_rows = list(range(len(constraints)))
    for group in (range(split), range(split, len(names))):
        columns = list(group)
        while open_rows and columns:
            block = np.abs(rows[np.ix_(open_rows, columns)])
            i, j = np.unravel_index(int(np.argmax(block)), block.shape)
            row, column = open_rows[int(i)], columns[int(j)]
            scale = float(np.max(np.abs(rows[row]), initial=0.0))
            if not block[i, j] > _SMALLEST_PIVOT * max(scale, 1e-300) or not np.isfinite(scale):
                break
            chosen.append(names[column])
            open_rows.remove(row)
            columns.remove(column)
            for other in open_rows:
                rows[other] -= rows[row] * (rows[other, column] / rows[row, column])
    return chosen
