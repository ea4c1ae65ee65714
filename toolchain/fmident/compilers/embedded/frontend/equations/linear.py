"""Symbolic solution of small linear systems by elimination with pivoting.

Constant pivots are chosen while the model is compiled. A pivot that depends on variables is
chosen when the code runs: rows are exchanged by conditional expressions, which is partial
pivoting without branches (G. H. Golub, C. F. Van Loan, Matrix Computations, section 3.4).
"""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar


class SingularMatrixError(Exception):
    """The matrix is singular whatever the values of its symbols."""


def _is_zero(entry: Scalar) -> bool:
    return not v.is_symbolic(entry) and entry == 0


def solve(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """Return x with ``matrix @ x = right``.

    Parameters
    ----------
    matrix
        n rows of n numbers or CasADi scalars.
    right
        n numbers or CasADi scalars.

    Raises
    ------
    SingularMatrixError
        When no non-zero pivot is left.
    """
    n = len(right)
    rows = [[*map(v.plain, row), v.plain(b)] for row, b in zip(matrix, right, strict=True)]
    columns = list(range(n))
    for k in range(n):
        _bring_pivot(rows, columns, k)
        pivot = rows[k][columns[k]]
        for i in range(k + 1, n):
            entry = rows[i][columns[k]]
            if _is_zero(entry):
                continue
            factor = v.plain(entry / pivot)
            rows[i][columns[k]] = 0
            for j in (*columns[k + 1 :], n):
                if not _is_zero(rows[k][j]):
                    rows[i][j] = v.plain(rows[i][j] - factor * rows[k][j])
    solution: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        total = rows[k][n]
        for j in columns[k + 1 :]:
            if not _is_zero(rows[k][j]):
                total = total - rows[k][j] * solution[j]
        solution[columns[k]] = v.plain(total / rows[k][columns[k]])
    return solution


def _bring_pivot(rows: list[list[Scalar]], columns: list[int], k: int) -> None:
    """Exchange rows and columns so that a good pivot is at step `k`."""
    place = _numeric_pivot(rows, columns, k)
    if place is not None:
        i, j = place
        rows[k], rows[i] = rows[i], rows[k]
        columns[k], columns[j] = columns[j], columns[k]
        return
    n = len(rows)
    counts = [(sum(not _is_zero(rows[i][columns[j]]) for i in range(k, n)), j) for j in range(k, n)]
    candidates = [item for item in counts if item[0] > 0]
    if len(candidates) < len(counts):
        raise SingularMatrixError
    _, j = min(candidates)
    columns[k], columns[j] = columns[j], columns[k]
    _choose_when_simulated(rows, columns, k)


def _numeric_pivot(rows: list[list[Scalar]], columns: list[int], k: int) -> tuple[int, int] | None:
    """Return the row and the place of the column of a number that is a good pivot.

    Only a column of numbers lets the pivot be judged now: the largest of the column, in the row
    with the fewest entries.
    """
    n = len(rows)
    best: tuple[int, int, int] | None = None
    for i in range(k, n):
        filled = sum(not _is_zero(rows[i][columns[j]]) for j in range(k, n))
        for j in range(k, n):
            column = [rows[r][columns[j]] for r in range(k, n)]
            entry = column[i - k]
            if any(v.is_symbolic(x) for x in column) or entry == 0:
                continue
            largest = max(abs(float(x)) for x in column)
            if abs(entry) == largest and (best is None or filled < best[0]):
                best = (filled, i, j)
    return None if best is None else best[1:]


def _choose_when_simulated(rows: list[list[Scalar]], columns: list[int], k: int) -> None:
    """Let the simulation exchange rows, so that the largest of column `k` is the pivot."""
    n = len(rows)
    column = columns[k]
    order = sorted(range(k, n), key=lambda i: _is_zero(rows[i][column]))
    rows[k:] = [rows[i] for i in order]
    for i in range(k + 1, n):
        if _is_zero(rows[i][column]):
            continue
        larger = ca.fabs(rows[i][column]) > ca.fabs(rows[k][column])
        for m in (*columns[k:], n):
            first, second = rows[k][m], rows[i][m]
            if _is_zero(first) and _is_zero(second):
                continue
            rows[k][m] = v.choose(larger, second, first)
            rows[i][m] = v.choose(larger, first, second)
