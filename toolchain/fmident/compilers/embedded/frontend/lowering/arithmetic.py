"""Arithmetic operators of scalars and arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.intrinsics import BUILTINS
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.refusal import Refusal

_PAIRWISE: Mapping[str, Callable[[Scalar, Scalar], Scalar]] = {
    "+": v.add,
    "-": v.subtract,
    ".+": v.add,
    ".-": v.subtract,
    ".*": v.multiply,
    "./": v.divide,
    ".^": v.power,
}


def is_arithmetic(operator: str) -> bool:
    """Return whether `operator` is handled by :func:`arithmetic`."""
    return operator in _PAIRWISE or operator in ("*", "/", "^")


def arithmetic(operator: str, left: Value, right: Value) -> Value:
    """Return ``left operator right``.

    Raises
    ------
    Refusal
        When the sizes or types do not fit.
    """
    if operator in _PAIRWISE:
        function = _PAIRWISE[operator]
        if operator.startswith("."):
            left, right = _broadcast(left, right)
        if isinstance(left, str) and isinstance(right, str) and operator == "+":
            return left + right
        return v.pairwise(function, left, right, f"'{operator}'")
    if operator == "*":
        return v.matrix_product(left, right)
    if operator == "^":
        return _power(left, right)
    if isinstance(right, np.ndarray):
        raise Refusal("shape-mismatch", "a division by an array", hint="use './'")
    return v.elementwise(lambda a: v.divide(a, right), left)


def _power(left: Value, right: Value) -> Value:
    if isinstance(left, np.ndarray):
        if left.ndim != 2 or left.shape[0] != left.shape[1] or not isinstance(right, int):
            raise Refusal(
                "shape-mismatch",
                "'^' of an array needs a square matrix and an integer",
                hint="'.^' works element by element",
            )
        result: Value = BUILTINS["identity"][0]([left.shape[0]])
        for _ in range(right):
            result = v.matrix_product(result, left)
        return result
    if isinstance(right, np.ndarray):
        raise Refusal("shape-mismatch", "an array as exponent", hint="use '.^'")
    return v.power(left, right)


def _broadcast(left: Value, right: Value) -> tuple[Value, Value]:
    if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
        return left, v.filled(right, left.shape)
    if isinstance(right, np.ndarray) and not isinstance(left, np.ndarray):
        return v.filled(left, right.shape), right
    return left, right
