"""From equations to explicit formulas, with index reduction.

``phi_rel = flange_b.phi - flange_a.phi; w_rel = der(phi_rel)`` puts ``phi_rel`` under
``der`` although it is a function of two states. Such a variable becomes algebraic, and
its derivative is the total derivative of its formula. This is index reduction (C. C.
Pantelides, 1988, with a fixed choice of dummy derivatives: S. E. Mattsson, G.
Soderlind, 1993) for the case in which the choice is valid everywhere: the formula is
explicit, or linear with constant coefficients.

A constraint between states that cannot be solved for one of them is differentiated until the
system determines all derivatives (C. C. Pantelides, 1988). All states remain states, so that
no choice among them has to be made or changed during the motion; the differentiated equations
become constraints onto which the integrator projects after each step (E. Eich, Convergence
results for a coordinate projection method, 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.equations.blocks import (
    Iterations,
    SolvedBlock,
    TornLoop,
    incidence_of,
    solve_blocks,
)
from fmident.compilers.embedded.frontend.equations.structure import (
    maximum_matching,
    reachable_equations,
)
from fmident.compilers.embedded.frontend.equations.system import (
    Alias,
    ScalarEquation,
    Substitution,
    Unknowns,
    eliminate_aliases,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_SELECT = {"never": 0, "avoid": 1, "default": 2, "prefer": 3, "always": 4}


_SMALLEST_PIVOT = 1e-8
"""Relative to the largest element of its row."""


@dataclass
class Solution:
    """Explicit formulas of a model.

    `formulas` give algebraic variables and derivatives (by the name of their symbol) in
    terms of time, states, inputs, parameters and calculated parameters; the unknowns of
    `loops` are their own formulas. `demotions` are variables under ``der`` that are not
    states, `constraints` those between states. `blocks` says how all was solved, in order.
    """

    states: list[str]
    aliases: dict[str, Alias]
    formulas: dict[str, Scalar] = field(default_factory=dict)
    demotions: list[Demotion] = field(default_factory=list)
    loops: list[TornLoop] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    blocks: list[SolvedBlock] = field(default_factory=list)


def causalize(
    equations: Sequence[ScalarEquation], unknowns: Unknowns, time_invariant: frozenset[int]
) -> Solution:
    """Solve the equations for derivatives and algebraic variables.

    `time_invariant` are the hashes of symbols of parameters and constants. Raises `Refusal`
    if the system is unbalanced, singular, of higher index, or has a loop that cannot be
    solved.
    """
    aliases, remaining = eliminate_aliases(equations, unknowns)
    substitution = Substitution()
    for name, alias in aliases.items():
        symbol = unknowns.symbol(alias.representative)
        substitution.define(unknowns.variables[name], alias.sign * symbol)
    states: list[str] = []
    for name in unknowns.variables:
        if name not in unknowns.derivatives:
            continue
        alias = aliases.get(name, Alias(name, 1))
        if alias.representative in unknowns.inputs:
            raise Refusal(
                "unsupported-der-input",
                f"'der({name})', and '{name}' equals the input '{alias.representative}'",
                unknowns.derivative_spans[name],
                "make the derivative an input of its own",
            )
        if alias.representative not in states:
            states.append(alias.representative)
    order = {name: i for i, name in enumerate(unknowns.variables)}
    states.sort(key=order.__getitem__)
    targets: dict[str, v.SX] = {}
    for name in states:
        if name not in unknowns.derivatives:
            unknowns.derivatives[name] = ca.SX.sym(f"der({name})")
        targets[f"der({name})"] = unknowns.derivatives[name]
    for name, symbol in list(unknowns.derivatives.items()):
        if name in aliases:
            alias = aliases[name]
            substitution.define(symbol, alias.sign * unknowns.derivatives[alias.representative])
    for name, symbol in unknowns.variables.items():
        if name not in aliases and name not in states:
            targets[name] = symbol
    solution = Solution(states, aliases)
    unknowns.prescribed = _prescribed(unknowns, substitution, remaining)
    pairs = substitution.in_equations(remaining)
    solution.demotions, solution.constraints = demote_states(
        pairs, targets, states, unknowns, time_invariant
    )
    iterations = Iterations(lambda name: has_start(name, unknowns), solution.loops, solution.blocks)
    formulas = solve_blocks(pairs, targets, unknowns, states, iterations=iterations)
    values = Substitution()
    for one in unknowns.prescribed:
        values.define(one.symbol, one.value)
    solution.formulas = dict(zip(formulas, values(list(formulas.values())), strict=True))
    solution.loops[:] = [loop.replaced(values) for loop in solution.loops]
    return solution


def _prescribed(
    unknowns: Unknowns, aliases: Substitution, equations: Sequence[ScalarEquation]
) -> list[v.Prescribed]:
    """Return the values that inputs, time and parameters prescribe, free of `aliases`.

    They may do so through `equations`, such as that of a gain. The symbols of other values join
    `aliases`: they are replaced by their values in the equations.
    """
    if not unknowns.prescribed:
        return []
    free = {s.element_hash() for s in unknowns.variables.values()}
    explicit = _explicit(aliases.in_equations(equations), free)
    result: list[v.Prescribed] = []
    for one in unknowns.prescribed:  # a rate comes before what it is the rate of
        value, rate = explicit(aliases([one.value, one.rate]))
        if free & v.symbols(value, rate).keys():
            aliases.define(one.symbol, value)
        else:
            result.append(v.Prescribed(one.symbol, value, rate))
    return result


def _explicit(equations: Sequence[ScalarEquation], free: Set[int]) -> Substitution:
    """Return the values of unknowns in `free` that single equations give without unknowns."""
    sides = [pair for q in equations for pair in ((q.left, q.right), (q.right, q.left))]
    pending = [(a, b) for a, b in sides if v.is_symbolic(a) and a.is_symbolic()]
    pending = [(a, b) for a, b in pending if a.element_hash() in free]
    result = Substitution()
    while known := [(a, b) for a, b in pending if not free & v.symbols(b).keys()]:
        for symbol, value in known:
            result.define(symbol, value)
        symbols = {symbol.element_hash() for symbol, _ in known}
        pending = [(a, b) for a, b in pending if a.element_hash() not in symbols]
        pending = [
            (a, b) for (a, _), b in zip(pending, result([b for _, b in pending]), strict=True)
        ]
    return result


def has_start(name: str, unknowns: Unknowns) -> bool:
    """Return whether an unknown is a variable whose ``start`` is a guess of its value."""
    return name in unknowns.declared and unknowns.declared[name][0].start is not None


@dataclass(frozen=True)
class Demotion:
    """A variable under ``der`` that became algebraic, and the equation that determines it."""

    name: str
    text: str
    span: sx.Span


def demote_states(
    equations: list[ScalarEquation],
    targets: dict[str, v.SX],
    states: list[str],
    unknowns: Unknowns,
    time_invariant: frozenset[int],
) -> tuple[list[Demotion], list[Constraint]]:
    """Reduce the index in place; return what was demoted and what was differentiated.

    States that are functions of others move from `states` to `targets`, and `equations`
    gains their derivatives. Other constraints are differentiated. The caller checks
    solvability.
    """
    done: list[Demotion] = []
    constraints: list[Constraint] = []
    while states:
        names = list(targets)
        incidence = incidence_of(equations, targets)
        matching = maximum_matching(incidence, len(names))
        if len(equations) != len(names) or not matching.unmatched_equations:
            break
        positions = reachable_equations(incidence, matching, matching.unmatched_equations[0])
        part = [equations[i] for i in positions]
        inner = [names[j] for i in positions if (j := matching.unknown_of[i]) is not None]
        unknown = {n: targets[n] for n in inner}
        demotion = _demote(part, unknown, states, unknowns)
        if demotion is None:
            pair = constraint_of(part, unknown, states, unknowns, time_invariant)
            if pair is None or len(constraints) >= len(states):
                break
            constraints.append(pair[0])
            equations[positions[0]] = pair[1]
            continue
        name, rate = demotion
        states.remove(name)
        targets[name] = unknowns.variables[name]
        symbol = unknowns.derivatives[name]
        source = _containing(part, unknowns.variables[name])
        text = f"der({source.text})"
        equations.append(ScalarEquation(symbol, rate, text, source.span))
        done.append(Demotion(name, source.text, source.span))
    return done, constraints


def _containing(part: Sequence[ScalarEquation], symbol: v.SX) -> ScalarEquation:
    for equation in part:
        if v.is_symbolic(equation.residual) and ca.depends_on(equation.residual, symbol):
            return equation
    return part[0]


def _demote(
    part: Sequence[ScalarEquation],
    inner: Mapping[str, v.SX],
    states: Sequence[str],
    unknowns: Unknowns,
) -> tuple[str, Scalar] | None:
    """Return a state that the equations of `part` give as a formula, and its derivative."""
    used = v.symbols(*(q.residual for q in part))
    bound = [s for s in states if unknowns.variables[s].element_hash() in used]
    varying = _varying(unknowns)
    for name in sorted(bound, key=lambda s: _rank(s, part, unknowns)):
        try:
            formulas = solve_blocks(
                part,
                {**inner, name: unknowns.variables[name]},
                unknowns,
                (),
                varying=varying,
            )
        except Refusal:
            continue
        others = [s for s in states if s != name]
        rate = total_derivative(formulas[name], others, unknowns, lambda key: key not in varying)
        if rate is not None:
            return name, rate
    return None


def _rank(
    name: str, part: Sequence[ScalarEquation], unknowns: Unknowns
) -> tuple[int, bool, bool, bool, int]:
    """Return the sort key for demotion: the least useful state first."""
    variable, _ = unknowns.declared[name]
    fixed = isinstance(variable.fixed, sx.Boolean) and variable.fixed.value
    symbol = unknowns.variables[name]
    defined = any(v.is_same(side, symbol) for q in part for side in (q.left, q.right))
    order = -list(unknowns.variables).index(name)
    started = variable.start is not None
    return _SELECT.get(variable.state_select, 2), fixed, started, not defined, order


def _varying(unknowns: Unknowns) -> frozenset[int]:
    symbols = [
        unknowns.time,
        *unknowns.inputs.values(),
        *unknowns.variables.values(),
        *unknowns.derivatives.values(),
        *(one.symbol for one in unknowns.prescribed),
    ]
    return frozenset(s.element_hash() for s in symbols)


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
    bound = {unknowns.variables[s].element_hash() for s in states}
    rate = total_derivative(residual, states, unknowns, time_invariant.__contains__)
    if not v.is_symbolic(rate) or not bound & v.symbols(residual).keys():
        return None
    return (
        Constraint(residual, first.text, first.span),
        ScalarEquation(rate, 0, f"der({first.text})", first.span),
    )


def total_derivative(
    expression: Scalar,
    states: Sequence[str],
    unknowns: Unknowns,
    is_constant: Callable[[int], bool],
) -> Scalar | None:
    """Return d expression/dt; ``None`` if it contains another symbol that is not constant."""
    rates = {unknowns.variables[s].element_hash(): unknowns.derivatives[s] for s in states}
    rates[unknowns.time.element_hash()] = 1
    rates |= {one.symbol.element_hash(): one.rate for one in unknowns.prescribed}
    total: Scalar = 0
    for key, symbol in v.symbols(expression).items():
        if key in rates:
            total = total + ca.jacobian(expression, symbol) * rates[key]
        elif not is_constant(key):
            return None
    return v.plain(total)


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
    rows = v.numbers(matrix, point)
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
