"""Graph algorithms on the incidence of equations and unknowns; knows no expressions.

Sources: maximum matching by augmenting paths (H. W. Kuhn, 1955), strong components (R. Tarjan,
1972), the coarse decomposition (A. L. Dulmage and N. S. Mendelsohn, 1958).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Matching:
    """An assignment of unknowns to equations.

    Parameters
    ----------
    unknown_of
        For each equation: its unknown, or ``None``.
    equation_of
        For each unknown: its equation, or ``None``.
    """

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
    """Match as many equations to unknowns as possible.

    Parameters
    ----------
    incidence
        For each equation the unknowns in it, preferred ones first.
    unknowns
        Number of unknowns.
    """
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
    found = [start]
    seen = {start}
    for equation in found:
        for unknown in incidence[equation]:
            owner = matching.equation_of[unknown]
            if owner is not None and owner not in seen:
                seen.add(owner)
                found.append(owner)
    return found


def reachable_unknowns(
    incidence: Sequence[Sequence[int]], matching: Matching, start: int
) -> list[int]:
    """Return the unknowns of the underdetermined part that contains the unknown `start`."""
    users: dict[int, list[int]] = {}
    for equation, unknowns in enumerate(incidence):
        for unknown in unknowns:
            users.setdefault(unknown, []).append(equation)
    found = [start]
    seen = {start}
    for unknown in found:
        for equation in users.get(unknown, ()):
            other = matching.unknown_of[equation]
            if other is not None and other not in seen:
                seen.add(other)
                found.append(other)
    return found


def blocks(incidence: Sequence[Sequence[int]], matching: Matching) -> list[list[int]]:
    """Return the equations in an order in which they can be solved, loops together.

    Every equation must be matched. Tarjan's algorithm yields each block after the blocks
    that it needs.
    """
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
