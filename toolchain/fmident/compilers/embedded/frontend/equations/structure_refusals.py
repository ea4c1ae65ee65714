"""Why a system of equations has no solution: too many, too few, singular, higher index."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.equations.structure import (
    Matching,
    reachable_equations,
    reachable_unknowns,
)
from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

SHOWN = 6
"""Longest list of equations or variables in a message."""


def listed(items: Sequence[str]) -> str:
    """Return names or equations for a message, each once."""
    shown = list(dict.fromkeys(items))
    more = f", ... ({len(shown)} in all)" if len(shown) > SHOWN else ""
    return ", ".join(f"'{item}'" for item in shown[:SHOWN]) + more


def not_matched(
    equations: Sequence[ScalarEquation],
    residuals: Sequence[Scalar],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal:
    """Say why the system cannot be solved: higher index, too many, too few, or singular."""
    if matching.unmatched_equations and states:
        refusal = _higher_index(equations, residuals, incidence, matching, names, unknowns, states)
        if refusal is not None:
            return refusal
    surplus = len(equations) - len(names)
    if matching.unmatched_equations:
        start = matching.unmatched_equations[0]
        part = [equations[i] for i in reachable_equations(incidence, matching, start)]
        if surplus > 0:
            return Refusal(
                "too-many-equations",
                f"too many equations, by {surplus}: one of {listed([q.text for q in part])} "
                "is too many",
                part[0].span,
                "remove an equation, or declare a variable for it",
            )
    if matching.unmatched_unknowns:
        start = matching.unmatched_unknowns[0]
        free = [names[j] for j in reachable_unknowns(incidence, matching, start)]
        if surplus < 0:
            return Refusal(
                "too-few-equations",
                f"too few equations, by {-surplus}: nothing determines one of {listed(free)}",
                _declared_at(free[0], unknowns),
                "add an equation, or declare the variable an input or a parameter",
            )
        part = [equations[i] for i in matching.unmatched_equations]
        return Refusal(
            "structurally-singular",
            f"the equations do not determine the variables: nothing determines {listed(free)}, "
            f"and {listed([q.text for q in part])} contradicts or repeats others",
            part[0].span,
            "correct the equations",
        )
    raise AssertionError("called for a perfect matching")


def _declared_at(name: str, unknowns: Unknowns) -> sx.Span:
    plain = name[4:-1] if name.startswith("der(") else name
    declared = unknowns.declared.get(plain)
    return declared[0].span if declared else sx.NOWHERE


def _higher_index(
    equations: Sequence[ScalarEquation],
    residuals: Sequence[Scalar],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal | None:
    """Return a refusal when an equation constrains states instead of giving a derivative."""
    if len(equations) != len(names):
        return None
    start = matching.unmatched_equations[0]
    part = reachable_equations(incidence, matching, start)
    used = {
        s.element_hash()
        for i in part
        if v.is_symbolic(residuals[i])
        for s in ca.symvar(residuals[i])
    }
    bound = [s for s in states if unknowns.variables[s].element_hash() in used]
    inputs = [name for name, symbol in unknowns.inputs.items() if symbol.element_hash() in used]
    if not bound:
        return None
    also = f", and contains the input {listed(inputs)}" if inputs else ""
    return Refusal(
        "higher-index",
        f"the model has a higher index: {listed([equations[i].text for i in part])} constrains "
        f"{listed(bound)}, which are under der(){also}; some of these equations would have to "
        "be differentiated",
        equations[start].span,
        "choose other states so that no equation binds them to each other or to inputs; else "
        "compile this class with OpenModelica: --compiler openmodelica",
    )
