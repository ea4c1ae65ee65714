"""Graph algorithms on the incidence of equations and unknowns, without expressions.

Sources: maximum matching by augmenting paths (H. W. Kuhn, 1955), strong components (R.
Tarjan, 1972), the coarse decomposition (A. L. Dulmage and N. S. Mendelsohn, 1958).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.frontend.equations.system import ScalarEquation, Unknowns
from fmident.compilers.embedded.frontend.lowering import values as v
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
    return _reachable(incidence, matching.equation_of, start)


def reachable_unknowns(
    incidence: Sequence[Sequence[int]], matching: Matching, start: int
) -> list[int]:
    """Return the unknowns of the underdetermined part that contains the unknown `start`."""
    users: list[list[int]] = [[] for _ in matching.equation_of]
    for equation, unknowns in enumerate(incidence):
        for unknown in unknowns:
            users[unknown].append(equation)
    return _reachable(users, matching.unknown_of, start)


def _reachable(
    neighbours: Sequence[Sequence[int]], partner: Sequence[int | None], start: int
) -> list[int]:
    """Return what is reached from `start` over the partners of neighbours, itself included."""
    part = dict.fromkeys([start])
    waiting = [start]
    for one in waiting:
        for neighbour in neighbours[one]:
            other = partner[neighbour]
            if other is not None and other not in part:
                part[other] = None
                waiting.append(other)
    return waiting


def blocks(incidence: Sequence[Sequence[int]], matching: Matching) -> list[list[int]]:
    """Return the equations in an order of solution, with those of a loop in one block."""
    rows = [i for i, unknowns in enumerate(incidence) for _ in unknowns]
    owners = [matching.equation_of[j] for unknowns in incidence for j in unknowns]
    columns = [owner for owner in owners if owner is not None]  # all are matched
    n = len(incidence)
    # Of a matrix with a full diagonal these are the strong components.
    _, order, ends = ca.Sparsity.triplet(n, n, columns, rows).scc()
    return [sorted(order[a:b]) for a, b in itertools.pairwise(ends)]


def listed(items: Sequence[str]) -> str:
    """Return names or equations as a list for a message, without duplicates."""
    unique = list(dict.fromkeys(items))
    more = f", ... ({len(unique)} in all)" if len(unique) > SHOWN else ""
    return ", ".join(f"'{item}'" for item in unique[:SHOWN]) + more


def not_matched(
    equations: Sequence[ScalarEquation],
    incidence: Sequence[Sequence[int]],
    matching: Matching,
    names: Sequence[str],
    unknowns: Unknowns,
    states: Sequence[str],
) -> Refusal:
    """Return why the system cannot be solved: higher index, unbalanced, or singular."""
    surplus = len(equations) - len(names)
    if matching.unmatched_equations:
        start = matching.unmatched_equations[0]
        part = [equations[i] for i in reachable_equations(incidence, matching, start)]
        if surplus == 0 and (refusal := _higher_index(part, unknowns, states)) is not None:
            return refusal
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
    part: Sequence[ScalarEquation], unknowns: Unknowns, states: Sequence[str]
) -> Refusal | None:
    """Return a refusal if equations constrain states instead of giving a derivative."""
    used = v.symbols(*(q.residual for q in part))
    bound = [s for s in states if unknowns.variables[s].element_hash() in used]
    inputs = [name for name, symbol in unknowns.inputs.items() if symbol.element_hash() in used]
    if not bound:
        return None
    also = f", and contains the input {listed(inputs)}" if inputs else ""
    return Refusal(
        "higher-index",
        f"the model has a higher index: {listed([q.text for q in part])} constrains "
        f"{listed(bound)}, which are under der(){also}; some of these equations would have to "
        "be differentiated",
        part[0].span,
        "choose other states so that no equation binds them to each other or to inputs; else "
        "compile this class with OpenModelica: --compiler openmodelica",
    )
