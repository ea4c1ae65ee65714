"""The built-in functions of Modelica that the subset contains."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.limits import check_size
from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import ArrayValue, Scalar, Value
from fmident.compilers.embedded.frontend.refusal import Refusal

_ELEMENTARY: Mapping[str, tuple[Callable[[float], float], Callable[[v.SX], v.SX]]] = {
    "sqrt": (math.sqrt, ca.sqrt),
    "sin": (math.sin, ca.sin),
    "cos": (math.cos, ca.cos),
    "tan": (math.tan, ca.tan),
    "asin": (math.asin, ca.asin),
    "acos": (math.acos, ca.acos),
    "atan": (math.atan, ca.atan),
    "sinh": (math.sinh, ca.sinh),
    "cosh": (math.cosh, ca.cosh),
    "tanh": (math.tanh, ca.tanh),
    "exp": (math.exp, ca.exp),
    "log": (math.log, ca.log),
    "log10": (math.log10, ca.log10),
    "abs": (abs, ca.fabs),
}
"""Function of a number, function of an expression. ``abs`` has no event: it is continuous."""


def elementary(name: str, argument: Scalar) -> Scalar:
    """Return an elementary function of a scalar."""
    if isinstance(argument, bool | str):
        raise Refusal("type-error", f"the argument of '{name}' is not a number", hint="")
    number, symbolic = _ELEMENTARY[name]
    if v.is_symbolic(argument):
        return v.plain(symbolic(argument))
    try:
        return number(argument)
    except (ValueError, OverflowError):
        raise Refusal(
            "not-finite", f"{name}({argument:g}) has no finite value", hint="correct the constants"
        ) from None


def _minimum(a: Scalar, b: Scalar) -> Scalar:
    if v.is_symbolic(a) or v.is_symbolic(b):
        return v.plain(ca.fmin(a, b))
    return min(a, b)


def _maximum(a: Scalar, b: Scalar) -> Scalar:
    if v.is_symbolic(a) or v.is_symbolic(b):
        return v.plain(ca.fmax(a, b))
    return max(a, b)


def _atan2(y: Scalar, x: Scalar) -> Scalar:
    if v.is_symbolic(y) or v.is_symbolic(x):
        return v.plain(ca.atan2(y, x))
    return math.atan2(y, x)


def _size(value: Value) -> int:
    number = v.plain(value)
    if isinstance(number, bool) or not isinstance(number, int | float) or number != int(number):
        raise Refusal(
            "unknown-size",
            "a size is not a constant integer",
            hint="give it by a literal, a constant or an Integer parameter",
        )
    return int(number)


def _array(value: Value, name: str, dimensions: int | None = None) -> ArrayValue:
    if not isinstance(value, np.ndarray) or (dimensions and value.ndim != dimensions):
        kind = {1: "a vector", 2: "a matrix"}.get(dimensions or 0, "an array")
        raise Refusal("shape-mismatch", f"the argument of '{name}' is not {kind}", hint="")
    return value


def _reduce(name: str, function: Callable[[Scalar, Scalar], Scalar], neutral: Scalar) -> Builtin:
    def reduction(arguments: Sequence[Value]) -> Value:
        (argument,) = arguments
        total = neutral
        for i, scalar in enumerate(v.flat(argument)):
            total = scalar if i == 0 else function(total, scalar)
        return total

    reduction.__name__ = name
    return reduction


def _extreme(name: str, function: Callable[[Scalar, Scalar], Scalar]) -> Builtin:
    def extreme(arguments: Sequence[Value]) -> Value:
        if len(arguments) == 2:
            return v.pairwise(function, arguments[0], arguments[1], f"'{name}'")
        scalars = v.flat(_array(arguments[0], name))
        if not scalars:
            raise Refusal("shape-mismatch", f"'{name}' of an empty array", hint="")
        result = scalars[0]
        for scalar in scalars[1:]:
            result = function(result, scalar)
        return result

    return extreme


def _cross(arguments: Sequence[Value]) -> Value:
    a, b = (_array(x, "cross", 1) for x in arguments)
    if len(a) != 3 or len(b) != 3:
        raise Refusal("shape-mismatch", "'cross' needs two vectors of three elements", hint="")

    def minor(i: int, j: int) -> Scalar:
        return v.subtract(v.multiply(a[i], b[j]), v.multiply(a[j], b[i]))

    return v.array([minor(1, 2), minor(2, 0), minor(0, 1)])


def _skew(arguments: Sequence[Value]) -> Value:
    a = _array(arguments[0], "skew", 1)
    if len(a) != 3:
        raise Refusal("shape-mismatch", "'skew' needs a vector of three elements", hint="")
    rows = [[0, v.negate(a[2]), a[1]], [a[2], 0, v.negate(a[0])], [v.negate(a[1]), a[0], 0]]
    return v.array([v.array(row) for row in rows])


def _transpose(arguments: Sequence[Value]) -> Value:
    return _array(arguments[0], "transpose", 2).T.copy()


def _identity(arguments: Sequence[Value]) -> Value:
    n = _size(arguments[0])
    check_size((n, n), "a matrix")
    return v.array([v.array([int(i == j) for j in range(n)]) for i in range(n)], (n, n))


def _diagonal(arguments: Sequence[Value]) -> Value:
    d = _array(arguments[0], "diagonal", 1)
    n = len(d)
    check_size((n, n), "a matrix")
    return v.array([v.array([d[i] if i == j else 0 for j in range(n)]) for i in range(n)])


def _fill(arguments: Sequence[Value]) -> Value:
    return v.filled(arguments[0], tuple(_size(n) for n in arguments[1:]))


def _zeros(arguments: Sequence[Value]) -> Value:
    return v.filled(0, tuple(_size(n) for n in arguments))


def _ones(arguments: Sequence[Value]) -> Value:
    return v.filled(1, tuple(_size(n) for n in arguments))


def _size_of(arguments: Sequence[Value]) -> Value:
    sizes = v.shape(arguments[0])
    if len(arguments) == 1:
        return v.array(list(sizes))
    dimension = _size(arguments[1])
    if not 1 <= dimension <= len(sizes):
        raise Refusal("shape-mismatch", f"'size' has no dimension {dimension} here", hint="")
    return sizes[dimension - 1]


def _ndims(arguments: Sequence[Value]) -> Value:
    return len(v.shape(arguments[0]))


def _scalar(arguments: Sequence[Value]) -> Value:
    elements = v.flat(arguments[0])
    if len(elements) != 1:
        raise Refusal("shape-mismatch", "the argument of 'scalar' has several elements", hint="")
    return elements[0]


def _vector(arguments: Sequence[Value]) -> Value:
    sizes = v.shape(arguments[0])
    if sum(n > 1 for n in sizes) > 1:
        raise Refusal("shape-mismatch", "the argument of 'vector' is a matrix", hint="")
    return v.array(v.flat(arguments[0]))


def _matrix(arguments: Sequence[Value]) -> Value:
    value = arguments[0]
    if not isinstance(value, np.ndarray):
        return v.array([v.array([value])])
    if value.ndim == 1:
        return value[:, np.newaxis].copy()
    if value.ndim == 2:
        return value
    raise Refusal(
        "shape-mismatch", "the argument of 'matrix' has more than two dimensions", hint=""
    )


def _outer_product(arguments: Sequence[Value]) -> Value:
    a, b = (_array(x, "outerProduct", 1) for x in arguments)
    return v.matrix_product(a[:, np.newaxis], b[np.newaxis, :])


def _symmetric(arguments: Sequence[Value]) -> Value:
    a = _array(arguments[0], "symmetric", 2)
    n = len(a)
    return v.array([v.array([a[min(i, j), max(i, j)] for j in range(n)]) for i in range(n)])


def _linspace(arguments: Sequence[Value]) -> Value:
    first, last, count = arguments[0], arguments[1], _size(arguments[2])
    if count < 2:
        raise Refusal("shape-mismatch", "'linspace' needs at least two points", hint="")
    check_size([count], "an array")
    step = v.divide(v.subtract(last, first), count - 1)
    return v.array([v.add(first, v.multiply(step, i)) for i in range(count)])


def _cat(arguments: Sequence[Value]) -> Value:
    dimension = _size(arguments[0])
    parts = [_array(x, "cat") for x in arguments[1:]]
    try:
        return np.concatenate(parts, axis=dimension - 1)
    except (ValueError, IndexError):
        raise Refusal(
            "shape-mismatch", "the arrays of 'cat' do not fit together", hint=""
        ) from None


def _promoted(value: Value, dimensions: int) -> ArrayValue:
    """Give a value further dimensions of size 1 behind its own (Modelica 3.6, section 10.4.2)."""
    array = value if isinstance(value, np.ndarray) else v.array([value])
    return array.reshape(array.shape + (1,) * (dimensions - array.ndim))


def concatenate_matrix(parts: Sequence[Value], layout: Literal["horizontal", "vertical"]) -> Value:
    """Return ``[a, b]`` or ``[a; b]``."""
    try:
        axis = 1 if layout == "horizontal" else 0
        most = max(2, *(len(v.shape(part)) for part in parts))
        return np.concatenate([_promoted(part, most) for part in parts], axis=axis)
    except ValueError:
        raise Refusal(
            "shape-mismatch", "the parts of a matrix do not fit together", hint=""
        ) from None


def _element_function(name: str) -> Builtin:
    def function(arguments: Sequence[Value]) -> Value:
        (argument,) = arguments
        return v.elementwise(lambda x: elementary(name, x), argument)

    return function


Builtin = Callable[[Sequence[Value]], Value]

BUILTINS: Mapping[str, tuple[Builtin, int, int]] = {
    **{name: (_element_function(name), 1, 1) for name in _ELEMENTARY},
    "atan2": (lambda a: v.pairwise(_atan2, a[0], a[1], "'atan2'"), 2, 2),
    "min": (_extreme("min", _minimum), 1, 2),
    "max": (_extreme("max", _maximum), 1, 2),
    "sum": (_reduce("sum", v.add, 0), 1, 1),
    "product": (_reduce("product", v.multiply, 1), 1, 1),
    "cross": (_cross, 2, 2),
    "skew": (_skew, 1, 1),
    "transpose": (_transpose, 1, 1),
    "identity": (_identity, 1, 1),
    "diagonal": (_diagonal, 1, 1),
    "zeros": (_zeros, 1, 99),
    "ones": (_ones, 1, 99),
    "fill": (_fill, 2, 99),
    "size": (_size_of, 1, 2),
    "ndims": (_ndims, 1, 1),
    "scalar": (_scalar, 1, 1),
    "vector": (_vector, 1, 1),
    "matrix": (_matrix, 1, 1),
    "outerProduct": (_outer_product, 2, 2),
    "symmetric": (_symmetric, 1, 1),
    "linspace": (_linspace, 3, 3),
    "cat": (_cat, 2, 99),
}
"""Name to function, least and greatest number of arguments."""
