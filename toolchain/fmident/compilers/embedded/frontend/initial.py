"""Start values of the states: attributes ``start`` and initial equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.equations.blocks import Substitution, solve_blocks
from fmident.compilers.embedded.frontend.equations.causalize import Solution
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal


def start_value(variable: sx.Variable, position: int, lowering: Lowering) -> Scalar:
    """Return the attribute ``start`` of one scalar; 0 when there is none."""
    if variable.start is None:
        return 0.0
    value = lowering.evaluate(variable.start)
    sizes = v.shape(value)
    if sizes and sizes != variable.shape:
        raise Refusal(
            "shape-mismatch",
            f"'start' of '{variable.name}' has the sizes {list(sizes)} instead of "
            f"{list(variable.shape)}",
            variable.span,
            "",
        )
    scalar = v.flat(value)[position if isinstance(value, np.ndarray) else 0]
    if isinstance(scalar, bool | str):
        raise Refusal(
            "type-error", f"'start' of '{variable.name}' is not a number", variable.span, ""
        )
    if not lowering.is_time_invariant(scalar):
        raise Refusal(
            "variability",
            f"'start' of '{variable.name}' depends on a variable",
            variable.start.span,
            "use parameters and constants only, or write an initial equation",
        )
    return scalar if v.is_symbolic(scalar) else float(scalar)


def is_fixed(variable: sx.Variable, position: int, lowering: Lowering) -> bool | None:
    """Return the attribute ``fixed`` of one scalar; ``None`` when it is not given."""
    if variable.fixed is None:
        return None
    scalars = v.flat(lowering.evaluate(variable.fixed))
    scalar = scalars[position if len(scalars) > 1 else 0]
    if not isinstance(scalar, bool):
        raise Refusal(
            "type-error",
            f"'fixed' of '{variable.name}' is not a constant Boolean",
            variable.span,
            "",
        )
    return scalar


def initial_states(
    solution: Solution,
    unknowns: Unknowns,
    equations: Sequence[ScalarEquation],
    substitution: Substitution,
    lowering: Lowering,
) -> tuple[list[Scalar], list[str]]:
    """Return the initial value of each state and the states that start by default.

    Parameters
    ----------
    solution
        The causalised model.
    unknowns
        Symbols.
    equations
        Initial equations.
    substitution
        Replaces algebraic variables and derivatives by formulas of states.
    lowering
        Evaluates attributes.
    """
    starts: dict[str, Scalar] = {}
    free: dict[str, v.SX] = {}
    for name in solution.states:
        variable, position = unknowns.declared[name]
        starts[name] = start_value(variable, position, lowering)
        if is_fixed(variable, position, lowering) is not True:
            free[name] = unknowns.variables[name]
    _check_fixed_others(solution, unknowns, lowering)
    replaced = substitution([e for q in equations for e in (q.left, q.right)])
    pairs = [
        ScalarEquation(replaced[2 * i], replaced[2 * i + 1], q.text, q.span)
        for i, q in enumerate(equations)
    ]
    targets = _determined(pairs, free)
    formulas = solve_blocks(pairs, targets, unknowns, ())
    known = Substitution()
    for name in solution.states:
        if name not in formulas:
            known.define(unknowns.variables[name], starts[name])
    values: dict[str, Scalar] = dict(starts)
    if formulas:
        names = list(formulas)
        values.update(zip(names, known([formulas[n] for n in names]), strict=True))
    return [values[n] for n in solution.states], [n for n in free if n not in formulas]


def _determined(pairs: Sequence[ScalarEquation], free: Mapping[str, v.SX]) -> dict[str, v.SX]:
    """Return the states that the initial equations determine; refuse when there is a choice."""
    names = {symbol.element_hash(): name for name, symbol in free.items()}
    touched: dict[str, v.SX] = {}
    for pair in pairs:
        residual = pair.residual
        found = [
            names[s.element_hash()]
            for s in (ca.symvar(residual) if v.is_symbolic(residual) else [])
            if s.element_hash() in names
        ]
        if not found:
            raise Refusal(
                "initial-equation",
                f"the initial equation '{pair.text}' determines no state: every state in it has "
                "fixed=true",
                pair.span,
                "remove it, or remove fixed=true",
            )
        # 'x = expression' determines x whatever else it contains.
        explicit = [n for n in found if any(_is(free[n], e) for e in (pair.left, pair.right))]
        for name in explicit[:1] or found:
            touched[name] = free[name]
    if len(touched) != len(pairs):
        raise Refusal(
            "initial-equation",
            f"{len(pairs)} initial equations for the {len(touched)} states "
            + ", ".join(f"'{n}'" for n in touched),
            pairs[0].span,
            "set fixed=true on the states that start at their 'start', so that as many states "
            "are free as there are initial equations",
        )
    return touched


def _is(symbol: v.SX, value: Scalar) -> bool:
    return v.is_symbolic(value) and bool(ca.is_equal(value, symbol))


def _check_fixed_others(solution: Solution, unknowns: Unknowns, lowering: Lowering) -> None:
    """Refuse ``fixed=true`` on variables that are not states: it is an initial equation."""
    for name in unknowns.variables:
        if name in solution.states:
            continue
        variable, position = unknowns.declared[name]
        if is_fixed(variable, position, lowering) is not True:
            continue
        alias = solution.aliases.get(name)
        if alias is not None and alias.representative in solution.states:
            other, where = unknowns.declared[alias.representative]
            mine = start_value(variable, position, lowering)
            theirs = start_value(other, where, lowering)
            same = _same_value(alias.sign * mine, theirs)
            if same and is_fixed(other, where, lowering):
                continue
        reason = next(
            (f": it follows from '{d.text}'" for d in solution.demotions if d.name == name), ""
        )
        raise Refusal(
            "fixed-algebraic",
            f"'{name}' has fixed=true, but it is not a state{reason}",
            variable.span,
            "put start and fixed=true on the states: "
            + (", ".join(f"'{s}'" for s in solution.states) or "there are none"),
        )


def _same_value(a: Scalar, b: Scalar) -> bool:
    if v.is_symbolic(a) and v.is_symbolic(b):
        return bool(ca.is_equal(a, b, 10))
    return not v.is_symbolic(a) and not v.is_symbolic(b) and a == b
