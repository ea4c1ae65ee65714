"""States that are not states: an equation gives them as a formula of others.

``phi_rel = flange_b.phi - flange_a.phi; w_rel = der(phi_rel)`` puts ``phi_rel`` under ``der``
although it follows from two states. Such a variable becomes algebraic, and its derivative is the
total derivative of its formula. This is index reduction (C. C. Pantelides, 1988, with a fixed
choice of dummy derivatives: S. E. Mattsson, G. Soderlind, 1993) for the case in which the choice
is valid everywhere: the formula is explicit, or linear with coefficients that do not vary.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.frontend.equations.blocks import incidence_of, solve_blocks
from fmident.compilers.embedded.frontend.equations.constraints import Constraint, constraint_of
from fmident.compilers.embedded.frontend.equations.structure import (
    maximum_matching,
    reachable_equations,
)
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_SELECT = {"never": 0, "avoid": 1, "default": 2, "prefer": 3, "always": 4}


@dataclass(frozen=True)
class Demotion:
    """A variable under ``der`` that became algebraic.

    Parameters
    ----------
    name
        The variable.
    text, span
        The equation that binds it.
    """

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
    """Reduce the index, in place.

    States that follow from others by a formula become algebraic variables. Other equations that
    bind states to each other are differentiated.

    Parameters
    ----------
    equations
        Gains the equation of each derivative.
    targets
        Gains each demoted variable.
    states
        Loses it.
    unknowns
        Symbols.
    time_invariant
        Hashes of the symbols of parameters and constants.

    Returns
    -------
    tuple
        What was demoted, and what was differentiated. When the system is still not solvable, the
        caller finds out.
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
            found = constraint_of(part, unknown, states, unknowns, time_invariant)
            if found is None or len(constraints) >= len(states):
                break
            constraints.append(found[0])
            equations[positions[0]] = found[1]
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
    """Order of preference for demotion: what is least wanted as a state first."""
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
