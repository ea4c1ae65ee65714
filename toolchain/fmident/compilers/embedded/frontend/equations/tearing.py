"""Tearing: which unknowns of an algebraic loop are iterated, and which follow from them.

Source: the greedy choice of the unknown that occurs most, with causalisation after each
(F. E. Cellier, E. Kofman, Continuous System Simulation, 2006, section 7.6). An equation gives an
unknown only where its coefficient is a number, so that nothing is divided by what may become zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from fmident.compilers.embedded.frontend.equations.system import ScalarEquation
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar


@dataclass(frozen=True)
class TornLoop:
    """An algebraic loop that is solved while the model is simulated.

    Parameters
    ----------
    names
        Unknowns of the iteration.
    symbols
        Theirs.
    equations
        As many, which are left when all other unknowns are replaced; they may contain symbols
        of earlier blocks.
    """

    names: tuple[str, ...]
    symbols: tuple[v.SX, ...]
    equations: tuple[ScalarEquation, ...]


@dataclass(frozen=True)
class Tearing:
    """A way to solve a loop.

    Parameters
    ----------
    order
        Pairs of an equation and the unknown that it gives, in the order of evaluation.
    torn
        Unknowns of the iteration.
    rest
        Equations that are left for them.
    """

    order: tuple[tuple[int, int], ...]
    torn: tuple[int, ...]
    rest: tuple[int, ...]


def tear(matrix: v.SX, preferred: Sequence[bool], jumps: Sequence[frozenset[int]]) -> Tearing:
    """Choose what is iterated.

    Parameters
    ----------
    matrix
        Jacobian of the equations, shape (n, n), sparse.
    preferred
        Unknowns that are iterated rather than others, such as those with a ``start``; n.
    jumps
        For each equation, the unknowns with which it jumps, none of which it gives; n.
    """
    rows: list[set[int]] = [set() for _ in preferred]
    given: list[set[int]] = [set() for _ in preferred]
    users: list[set[int]] = [set() for _ in preferred]
    for i, j in zip(*matrix.sparsity().get_triplet(), strict=True):
        entry = v.plain(matrix[i, j])
        if not v.is_symbolic(entry) and entry == 0:
            continue
        rows[i].add(j)
        users[j].add(i)
        if not v.is_symbolic(entry) and j not in jumps[i]:
            given[i].add(j)
    for i, jumping in enumerate(jumps):
        for j in jumping:
            rows[i].add(j)
            users[j].add(i)
    order: list[tuple[int, int]] = []
    torn: list[int] = []
    open_rows, unknown = set(range(len(rows))), set(range(len(rows)))

    def settle(j: int) -> None:
        unknown.discard(j)
        for i in users[j]:
            rows[i].discard(j)

    while unknown:
        ready = [i for i in sorted(open_rows) if len(rows[i]) == 1 and rows[i] <= given[i]]
        if ready:
            i = ready[0]
            (j,) = rows[i]
            order.append((i, j))
            open_rows.discard(i)
        else:
            j = max(
                sorted(unknown),
                key=lambda k: (preferred[k], len(users[k] & open_rows), -_ways(k, users, given)),
            )
            torn.append(j)
        settle(j)
    return Tearing(tuple(order), tuple(torn), tuple(sorted(open_rows)))


def _ways(unknown: int, users: Sequence[set[int]], given: Sequence[set[int]]) -> int:
    """Return the number of equations that could give an unknown."""
    return sum(unknown in given[i] for i in users[unknown])


def given_by(equation: Scalar, symbol: v.SX, coefficient: Scalar) -> Scalar:
    """Return the value of `symbol` for which a residual is zero, where its coefficient is known."""
    rest = ca.substitute(ca.SX(equation), symbol, ca.SX(0.0))
    return v.plain(-rest / coefficient)
