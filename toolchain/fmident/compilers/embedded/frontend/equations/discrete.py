"""Discrete variables: assignment of equations to variables, and conditions of ``when``.

At an event every discrete variable has an explicit formula of held values and
continuous variables.

Source: Modelica language specification 3.6, sections 8.3.5 (when-equations) and 8.6
(initialization).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import casadi as ca

from fmident.compilers.embedded.frontend.equations.structure import maximum_matching
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import Events
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.syntax import expression_text
from fmident.compilers.embedded.frontend.refusal import Refusal

AMBIGUOUS = "write it as 'variable = expression', with the values before the event by 'pre'"


@dataclass
class Condition:
    """One element of a when-equation's condition; triggers when it becomes true."""

    symbol: v.SX
    before: v.SX
    value: Scalar


@dataclass
class DiscreteSolution:
    """Actions at an event: values of discrete variables, and of states after ``reinit``.

    `starts` are values of discrete variables before the start; `assigned` are those that
    when-equations give values to.
    """

    formulas: dict[str, Scalar] = field(default_factory=dict)
    conditions: list[Condition] = field(default_factory=list)
    reinits: dict[str, tuple[Scalar, sx.Span]] = field(default_factory=dict)
    starts: dict[str, Scalar] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)


def solve_discrete(
    equations: Sequence[ScalarEquation], lowering: Lowering, result: DiscreteSolution
) -> list[ScalarEquation]:
    """Find the formula of each discrete variable; return the equations that remain.

    `result` already has the values of when-equations and algorithm sections, and gains the rest.
    """
    events = lowering.state.events
    for name, one in events.discretes.items():
        if one.variable.free:
            result.formulas[name] = one.before
    free = [n for n in events.discretes if n not in result.formulas]
    index = {events.discretes[n].symbol.element_hash(): i for i, n in enumerate(free)}
    chosen, remaining = [], []
    for equation in equations:
        sides = ((equation.left, equation.right), (equation.right, equation.left))
        candidates = [
            index[a.element_hash()]
            for a, b in sides
            if v.is_symbolic(a)
            and a.is_symbolic()
            and a.element_hash() in index
            and events.is_discrete_time(b, lowering.state.time_invariant)
        ]
        if candidates:
            chosen.append((equation, candidates))
            continue
        if any(isinstance(side, bool) for side in (equation.left, equation.right)):
            raise Refusal(
                "type-error", f"a Boolean equation: {equation.text}", equation.span, AMBIGUOUS
            )
        remaining.append(equation)
    matching = maximum_matching([c for _, c in chosen], len(free))
    for k in matching.unmatched_unknowns:
        discrete = events.discretes[free[k]]
        raise Refusal(
            "discrete-variable",
            f"no equation gives the discrete variable '{free[k]}' its value",
            discrete.variable.span,
            AMBIGUOUS,
        )
    for k in matching.unmatched_equations:
        equation = chosen[k][0]
        raise Refusal(
            "discrete-variable",
            f"another equation already gives the discrete variable in '{equation.text}' its value",
            equation.span,
            "remove one of them",
        )
    for (equation, _), unknown in zip(chosen, matching.unknown_of, strict=True):
        assert unknown is not None
        name = free[unknown]
        symbol = events.discretes[name].symbol
        left = v.is_same(equation.left, symbol)
        result.formulas[name] = equation.right if left else equation.left
    return remaining


def acts_of(
    when: sx.Expression, span: sx.Span, lowering: Lowering, result: DiscreteSolution
) -> Scalar:
    """Return whether a ``when`` triggers: an element of its condition becomes true."""
    events = lowering.state.events
    elements = when.elements if isinstance(when, sx.Array) else (when,)
    acts: Scalar = False
    for element in elements:
        for value in v.flat(lowering.evaluate(element)):
            if isinstance(value, bool):
                continue  # it never becomes true
            if not v.is_symbolic(value):
                raise Refusal("type-error", "the condition of 'when' is not Boolean", span, "")
            if not events.is_discrete_time(value, lowering.state.time_invariant):
                raise Refusal(
                    "unsupported-when",
                    f"the condition '{expression_text(element)}' varies between events",
                    span,
                    "remove noEvent from it",
                )
            k = len(result.conditions)
            condition = Condition(ca.SX.sym(f"when{k}"), ca.SX.sym(f"pre(when{k})"), value)
            result.conditions.append(condition)
            rises = v.logical_and(value, v.logical_not(condition.before))
            # At the start only those act that say initial() themselves.
            at_start = bool(ca.is_equal(value, events.initial))
            acts = v.logical_or(acts, v.choose(events.initial, at_start, rises))
    return acts


def initial_values(
    equations: Sequence[ScalarEquation], events: Events, solution: DiscreteSolution
) -> list[ScalarEquation]:
    """Take the initial equations of discrete variables; return the others.

    ``pre(n) = value``, or ``n = value`` for n assigned in a when-equation, is n before the
    start.
    """
    remaining = []
    for equation in equations:
        for side, value in ((equation.left, equation.right), (equation.right, equation.left)):
            name = _initial_target(side, events)
            if name is None or name in solution.starts:
                continue
            one = events.discretes[name]
            of_before = bool(ca.is_equal(side, one.before))
            if not (of_before or one.variable.free or name in solution.assigned):
                raise Refusal(
                    "initial-equation",
                    f"the initial equation '{equation.text}' gives '{name}' a value, and an "
                    "equation gives it one at the start already",
                    equation.span,
                    f"remove it, or write 'pre({name})' where the value before the start is meant",
                )
            solution.starts[name] = value
            break
        else:
            remaining.append(equation)
    for name, one in events.discretes.items():
        if one.variable.free and name not in solution.starts:
            raise Refusal(
                "unsupported-initial-parameter",
                f"the parameter '{name}' has fixed=false, and no initial equation has the form "
                f"'{name} = expression'",
                one.variable.span,
                "solve the initial equation for it, or give it a value",
            )
    return remaining


def _initial_target(side: Scalar, events: Events) -> str | None:
    if not v.is_symbolic(side) or not side.is_symbolic():
        return None
    for name, discrete in events.discretes.items():
        if side.element_hash() in (
            discrete.symbol.element_hash(),
            discrete.before.element_hash(),
        ):
            return name
    return None


def in_order(events: Events, formulas: dict[str, Scalar]) -> list[str]:
    """Return the discrete variables in an order of evaluation."""
    hashes = {d.symbol.element_hash(): n for n, d in events.discretes.items()}
    needs = {
        name: [hashes[key] for key in v.symbols(value) if key in hashes]
        for name, value in formulas.items()
    }
    try:
        return [*TopologicalSorter(needs).static_order()]
    except CycleError as error:
        _, *loop = reversed(error.args[1])
        first = loop.index(min(loop, key=list(needs).index))
        loop = [*loop[first:], *loop[: first + 1]]
        raise Refusal(
            "discrete-loop",
            "a discrete variable needs its own value at the same event: "
            + " <- ".join(f"'{n}'" for n in loop),
            events.discretes[loop[0]].variable.span,
            "use the value before the event, 'pre(...)', somewhere",
        ) from None
