"""Graph algorithms on the incidence of equations and unknowns, without expressions.

Sources: maximum matching by augmenting paths (H. W. Kuhn, 1955), strong components (R.
Tarjan, 1972), the coarse decomposition (A. L. Dulmage and N. S. Mendelsohn, 1958).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

SHOWN = 6
"""Longest list of equations or variables in a message."""


@dataclass(frozen=True)
class Matching:
    """An assignment of unknowns to equations; ``None`` for unmatched ones."""

    unknown_of: tuple[int | None, ...]
    equation_of: tuple[int | None, ...]

    @property
    def unmatched_equations(self) -> tuple[int, ...]:
        """Equations without an unknown."""
        return tuple(i for i, u in enumerate(self.unknown_of) if u is None)

    @property
    def unmatched_unknowns(self) -> tuple[int, ...]:
        """Unknowns without an equation."""
        return tuple(j for j, e in enumerate(self.equation_of) if e is None)


def maximum_matching(incidence: Sequence[Sequence[int]], unknowns: int) -> Matching:
    """Match as many equations to unknowns as possible; preferred unknowns are listed first."""
    equation_of: list[int | None] = [None] * unknowns
    unknown_of: list[int | None] = [None] * len(incidence)
    for root in range(len(incidence)):
        # Breadth-first search for an augmenting path; no recursion, models can be large.
        parent: dict[int, int] = {}
        queue = [root]
        free: int | None = None
        while queue and free is None:
            equation = queue.pop(0)
            for unknown in incidence[equation]:
                if unknown in parent:
                    continue
                parent[unknown] = equation
                owner = equation_of[unknown]
                if owner is None:
                    free = unknown
                    break
                queue.append(owner)
        step = free
        while step is not None:
            equation = parent[step]
            previous = unknown_of[equation]
            unknown_of[equation], equation_of[step] = step, equation
            step = previous
    return Matching(tuple(unknown_of), tuple(equation_of))


def reachable_equations(
    incidence: Sequence[Sequence[int]], matching: Matching, start: int
) -> list[int]:
    """Return the equations of the overdetermined part that contains the equation `start`."""
    equations = [start]
    seen = {start}
    for equation in equations:
        for unknown in incidence[equation]:
            owner = matching.equation_of[unknown]
            if owner is not None and owner not in seen:
                seen.add(owner)
                equations.append(owner)
    return equations


def reachable_unknowns(
    incidence: Sequence[Sequence[int]], matching: Matching, start: int
) -> list[int]:
    """Return the unknowns of the underdetermined part that contains the unknown `start`."""
    users: dict[int, list[int]] = {}
    for equation, unknowns in enumerate(incidence):
        for unknown in unknowns:
            users.setdefault(unknown, []).append(equation)
    part = [start]
    seen = {start}
    for unknown in part:
        for equation in users.get(unknown, ()):
            other = matching.unknown_of[equation]
            if other is not None and other not in seen:
                seen.add(other)
                part.append(other)
    return part


def blocks(incidence: Sequence[Sequence[int]], matching: Matching) -> list[list[int]]:
    """Return the equations in an order of solution, with those of a loop in one block."""
    successors = [
        [e for u in unknowns if (e := matching.equation_of[u]) is not None and e != equation]
        for equation, unknowns in enumerate(incidence)
    ]
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    result: list[list[int]] = []
    for root in range(len(incidence)):
        if root in index:
            continue
        work: list[tuple[int, int]] = [(root, 0)]
        while work:
            node, position = work.pop()
            if position == 0:
                index[node] = low[node] = len(index)
                stack.append(node)
                on_stack.add(node)
            descend = False
            for i in range(position, len(successors[node])):
                other = successors[node][i]
                if other not in index:
                    work.append((node, i + 1))
                    work.append((other, 0))
                    descend = True
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            if descend:
                continue
            if low[node] == index[node]:
                component: list[int] = []
                while True:
                    other = stack.pop()
                    on_stack.discard(other)
                    component.append(other)
                    if other == node:
                        break
                result.append(sorted(component))
            if work:
                above = work[-1][0]
                low[above] = min(low[above], low[node])
    return result


def listed(items: Sequence[str]) -> str:
    """Return names or equations as a list for a message, without duplicates."""
    unique = list(dict.fromkeys(items))
    more = f", ... ({len(unique)} in all)" if len(unique) > SHOWN else ""
    return ", ".join(f"'{item}'" for item in unique[:SHOWN]) + more


def not_matched(
    equations: Sequence[ScalarEquation],
    residuals: Sequence[Scalar],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal:
    """Return why the system cannot be solved: higher index, unbalanced, or singular."""
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
    """Return a refusal if an equation constrains states instead of giving a derivative."""
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
