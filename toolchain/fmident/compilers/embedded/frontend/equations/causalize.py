"""From equations to explicit formulas, with index reduction.

``phi_rel = flange_b.phi - flange_a.phi; w_rel = der(phi_rel)`` puts ``phi_rel`` under
``der`` although it is a function of two states. Such a variable becomes algebraic, and
its derivative is the total derivative of its formula. This is index reduction (C. C.
Pantelides, 1988, with a fixed choice of dummy derivatives: S. E. Mattsson, G.
Soderlind, 1993) for the case in which the choice is valid everywhere: the formula is
explicit, or linear with constant coefficients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import casadi as ca

from fmident.compilers.embedded.frontend.equations.blocks import (
    Iterations,
    SolvedBlock,
    Substitution,
    TornLoop,
    incidence_of,
    solve_blocks,
)
from fmident.compilers.embedded.frontend.equations.constraints import Constraint, constraint_of
from fmident.compilers.embedded.frontend.equations.structure import (
    maximum_matching,
    reachable_equations,
)
from fmident.compilers.embedded.frontend.equations.system import (
    Alias,
    ScalarEquation,
    Unknowns,
    eliminate_aliases,
)
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_SELECT = {"never": 0, "avoid": 1, "default": 2, "prefer": 3, "always": 4}


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
        symbol = _symbol(alias.representative, unknowns)
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
    replaced = substitution([e for q in remaining for e in (q.left, q.right)])
    pairs = [
        ScalarEquation(replaced[2 * i], replaced[2 * i + 1], q.text, q.span)
        for i, q in enumerate(remaining)
    ]
    solution.demotions, solution.constraints = demote_states(
        pairs, targets, states, unknowns, time_invariant
    )
    iterations = Iterations(lambda name: has_start(name, unknowns), solution.loops, solution.blocks)
    solution.formulas = solve_blocks(pairs, targets, unknowns, states, iterations=iterations)
    return solution


def has_start(name: str, unknowns: Unknowns) -> bool:
    """Return whether an unknown is a variable whose ``start`` is a guess of its value."""
    return name in unknowns.declared and unknowns.declared[name][0].start is not None


def _symbol(name: str, unknowns: Unknowns) -> v.SX:
    return unknowns.inputs[name] if name in unknowns.inputs else unknowns.variables[name]


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
        incidence = [incidence_of(q.residual, targets) for q in equations]
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
    """Return the first equation that contains `symbol`."""
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
    used = {
        s.element_hash() for q in part if v.is_symbolic(q.residual) for s in ca.symvar(q.residual)
    }
    bound = [s for s in states if unknowns.variables[s].element_hash() in used]
    for name in sorted(bound, key=lambda s: _rank(s, part, unknowns)):
        try:
            formulas = solve_blocks(
                part,
                {**inner, name: unknowns.variables[name]},
                unknowns,
                (),
                varying=_varying(unknowns),
            )
        except Refusal:
            continue
        others = [s for s in states if s != name]
        rate = _total_derivative(formulas[name], others, unknowns)
        if rate is not None:
            return name, rate
    return None


def _rank(
    name: str, part: Sequence[ScalarEquation], unknowns: Unknowns
) -> tuple[int, bool, bool, bool, int]:
    """Return the sort key for demotion: the least useful state first."""
    variable, _ = unknowns.declared[name]
    fixed = isinstance(variable.fixed, sx.Boolean) and variable.fixed.value
    defined = any(
        v.is_symbolic(side) and ca.is_equal(side, unknowns.variables[name])
        for q in part
        for side in (q.left, q.right)
    )
    order = -list(unknowns.variables).index(name)
    started = variable.start is not None
    return _SELECT.get(variable.state_select, 2), fixed, started, not defined, order


def _varying(unknowns: Unknowns) -> frozenset[int]:
    symbols = [
        unknowns.time,
        *unknowns.inputs.values(),
        *unknowns.variables.values(),
        *unknowns.derivatives.values(),
    ]
    return frozenset(s.element_hash() for s in symbols)


def _total_derivative(formula: Scalar, states: Sequence[str], unknowns: Unknowns) -> Scalar | None:
    """Return d formula/dt; ``None`` when it would need the derivative of an input."""
    if not v.is_symbolic(formula):
        return 0
    known = {unknowns.variables[s].element_hash(): s for s in states}
    total: Scalar = 0
    for symbol in ca.symvar(formula):
        key = symbol.element_hash()
        if key == unknowns.time.element_hash():
            total = total + ca.jacobian(formula, symbol)
        elif key in known:
            rate = unknowns.derivatives[known[key]]
            total = total + ca.jacobian(formula, symbol) * rate
        elif key in _varying(unknowns):
            return None
    return v.plain(total)
