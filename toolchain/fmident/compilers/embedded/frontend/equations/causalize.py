"""From equations to explicit formulas: aliases, matching, order, solution of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import casadi as ca

from fmident.compilers.embedded.frontend.equations.aliases import Alias, eliminate_aliases
from fmident.compilers.embedded.frontend.equations.blocks import (
    Iterations,
    SolvedBlock,
    Substitution,
    solve_blocks,
)
from fmident.compilers.embedded.frontend.equations.constraints import Constraint
from fmident.compilers.embedded.frontend.equations.demotion import Demotion, demote_states
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.equations.tearing import TornLoop
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.refusal import Refusal


@dataclass
class Solution:
    """Explicit formulas.

    Parameters
    ----------
    states
        Names of the states.
    aliases
        Variables that equal another one up to the sign.
    formulas
        Algebraic variables and derivatives (under the name of their symbol) as expressions of
        time, states, inputs, parameters and calculated parameters.
    demotions
        Variables under ``der`` that are not states.
    loops
        What is solved by iteration; its unknowns are their own formulas.
    constraints
        What binds the states to each other.
    blocks
        How all was solved, in this order.
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

    `time_invariant` are the hashes of the symbols of parameters and constants.

    Raises
    ------
    Refusal
        Unbalanced, structurally singular, higher index, a loop that cannot be solved.
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
    """Return whether an unknown is a variable with a ``start``, a guess of its value."""
    return name in unknowns.declared and unknowns.declared[name][0].start is not None


def _symbol(name: str, unknowns: Unknowns) -> v.SX:
    return unknowns.inputs[name] if name in unknowns.inputs else unknowns.variables[name]
