"""Linear equations with several right-hand sides."""

from __future__ import annotations

from typing import Any

from fmident.fmu.native_code.native import compiled


@compiled
def factorise(matrix: Any, pivots: Any, n: int) -> bool:
    """Factorise a matrix in rows, shape (n*n,), in place with partial pivoting; whether it can."""
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(matrix[i * n + k]) > abs(matrix[best * n + k]):
                best = i
        pivots[k] = best
        if matrix[best * n + k] == 0.0:
            return False
        if best != k:
            for j in range(n):
                matrix[k * n + j], matrix[best * n + j] = matrix[best * n + j], matrix[k * n + j]
        inverse = 1.0 / matrix[k * n + k]
        for i in range(k + 1, n):
            factor = matrix[i * n + k] * inverse
            matrix[i * n + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    matrix[i * n + j] -= factor * matrix[k * n + j]
    return True


@compiled
def solve(matrix: Any, pivots: Any, n: int, right: Any, begin: int) -> None:
    """Solve in place for the right-hand side at `begin`."""
    for k in range(n):
        other = pivots[k]
        right[begin + k], right[begin + other] = right[begin + other], right[begin + k]
    for i in range(1, n):
        total = right[begin + i]
        for j in range(i):
            total -= matrix[i * n + j] * right[begin + j]
        right[begin + i] = total
    for i in range(n - 1, -1, -1):
        total = right[begin + i]
        for j in range(i + 1, n):
            total -= matrix[i * n + j] * right[begin + j]
        right[begin + i] = total / matrix[i * n + i]
