"""Linear equations with several right-hand sides."""

from __future__ import annotations

from typing import Any

from fmident.fmu.native_code.native import compiled


@compiled
def _pivot(rows: Any, k: int, n: int, width: int) -> bool:
    """Move the largest element of a column to row k; return whether it is not zero."""
    best, most = k, abs(rows[k, k])
    for i in range(k + 1, n):
        size = abs(rows[i, k])
        if size > most:
            best, most = i, size
    if best != k:
        for j in range(k, width):
            element = rows[k, j]
            rows[k, j] = rows[best, j]
            rows[best, j] = element
    return bool(most != 0.0)


@compiled
def eliminate(rows: Any, n: int, width: int) -> bool:
    """Solve linear equations by elimination with partial pivoting; return success.

    Beside the matrix, `rows` has right-hand sides, shape (n, width), which become
    solutions.
    """
    for k in range(n):
        if not _pivot(rows, k, n, width):
            return False
        inverse = 1.0 / rows[k, k]
        for i in range(k + 1, n):
            factor = rows[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, width):
                    rows[i, j] -= factor * rows[k, j]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / rows[k, k]
        for j in range(n, width):
            rows[k, j] *= inverse
        for i in range(k):
            factor = rows[i, k]
            if factor != 0.0:
                for j in range(n, width):
                    rows[i, j] -= factor * rows[k, j]
    return True
