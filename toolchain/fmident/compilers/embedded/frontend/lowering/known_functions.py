"""Standard library functions that are evaluated without their Modelica text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import compare, symbolic_relation
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.scope import AssertValue
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.source.known_functions import (
    CHEBYSHEV,
    ERROR,
    FIRST_TRUE_INDEX,
    INTERPOLATE,
)
from fmident.compilers.embedded.frontend.refusal import Refusal

_HALF_POWER = 10 ** (-3 / 20)
"""The amplitude of -3 dB."""


def chebyshev(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return the denominator of a Chebyshev filter of the first kind at 1 rad/s.

    It consists of the constant of ``s + cr`` and those of ``s^2 + c1*s + c0``. The poles
    lie on an ellipse; the amplitude is ``1/sqrt(1 + (e*T(w))^2)``, with T the Chebyshev
    polynomial, divided by its value at w = 0, so that the -3 dB frequency has a closed
    form.
    """
    given: list[Value] = [*arguments, *(1, 0.5, True)[len(arguments) :]]
    order, ripple, normalized = given
    if not v.is_number(order) or not isinstance(normalized, bool) or v.shape(ripple):
        raise Refusal("structural-parameter", "the order of a filter varies", call.span, "")
    n = int(order)
    e_square = ca.SX(10) ** (v.multiply(ripple, 0.1)) - 1
    a = ca.asinh(1 / ca.sqrt(e_square)) / n
    factor: Scalar = ca.SX(1)
    if normalized:
        at_zero = 1 + e_square if n % 2 == 0 else 1
        factor = ca.cosh(ca.acosh(ca.sqrt((at_zero / _HALF_POWER**2 - 1) / e_square)) / n)
    angles = [((2 * i - 1) / 2 if n % 2 == 0 else i) * math.pi / n for i in range(1, n // 2 + 1)]
    squares = [ca.cosh(a) ** 2 - math.cos(w) ** 2 for w in angles]
    constants = [v.plain(s / factor**2) for s in squares]
    slopes = [v.plain(2 * ca.sinh(a) * math.cos(w) / factor) for w in angles]
    first = [v.plain(ca.sinh(a) / factor)] if n % 2 else []
    return [v.array(first), v.array(constants), v.array(slopes)]


def _interpolate(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Interpolate linearly between points, and extrapolate linearly beyond them.

    The library function's second output, the index of the interval, is not returned.
    """
    x, y, at = arguments[:3]
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray) or x.shape != y.shape:
        raise Refusal("shape-mismatch", f"'{call.name}' needs two vectors of one size", call.span)
    if x.ndim != 1 or len(x) == 0:
        raise Refusal("shape-mismatch", f"'{call.name}' needs a vector of points", call.span)
    if len(x) == 1:
        return [y[0]]
    result: Value = _line(x, y, 0, at)
    for i in range(len(x) - 1):
        _expect_increasing(call, v.subtract(x[i + 1], x[i]), caller)
        if i > 0:
            behind = _compared(">=", at, x[i])
            result = v.choose_value(behind, _line(x, y, i, at), result)
    return [result]


def _line(x: v.ArrayValue, y: v.ArrayValue, i: int, at: Value) -> Scalar:
    slope = v.divide(v.subtract(y[i + 1], y[i]), v.subtract(x[i + 1], x[i]))
    return v.add(y[i], v.multiply(slope, v.subtract(at, x[i])))


def _compared(operator: str, left: Scalar, right: Scalar) -> Scalar:
    if v.is_symbolic(left) or v.is_symbolic(right):
        return symbolic_relation(operator, left, right)
    return compare(operator, left, right)


def _expect_increasing(call: sx.Call, step: Scalar, caller: Lowering) -> None:
    message = f"the abscissas of '{call.name}' must increase"
    if not v.is_symbolic(step):
        if step <= 0:
            raise Refusal("value", message, call.span, "correct the table")
        return
    holds = v.logical_or(v.logical_not(caller.guard), _compared(">", step, 0.0))
    caller.state.assertions.append(AssertValue(holds, message, False, call.span))


def _first_true_index(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return the index of the first true element; 0 if there is none."""
    index: Value = 0
    elements = v.flat(arguments[0])
    for place, element in reversed(list(enumerate(elements, start=1))):
        index = v.choose_value(element, place, index)
    return [index]


def _is_equal(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return whether two matrices have equal sizes and differ by at most `eps`."""
    left, right = arguments[:2]
    eps = arguments[2] if len(arguments) > 2 else 0
    equal: Scalar = v.shape(left) == v.shape(right)
    if equal:
        for a, b in zip(v.flat(left), v.flat(right), strict=True):
            equal = v.logical_and(equal, _compared("<=", _absolute(v.subtract(a, b)), eps))
    return [equal]


def _time_table(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return ``Sources.TimeTable``'s results at an event: line, next event and row.

    The starting row of the library's search only saves time, and is ignored.
    """
    table, offset, start, t, last, eps, shift = arguments
    if not isinstance(table, np.ndarray) or len(table) == 0:
        raise Refusal("shape-mismatch", "a time table without values", call.span, "fill it")
    slack = v.multiply(eps, _absolute(t))
    at = v.subtract(v.add(t, slack), shift)
    never = v.subtract(t, slack)
    x, y = table[:, 0], table[:, 1]
    rows = len(x)
    if rows < 2:
        result: Value = v.array([0.0, v.add(offset, y[0]), never, last])
    else:
        result = _line_of(x, y, rows, eps, offset, shift, never)
        for i in range(rows - 1, 0, -1):
            comes = v.add(shift, x[i - 1])
            line = _line_of(x, y, max(i, 2), eps, offset, shift, comes)
            result = v.choose_value(_compared("<", at, x[i - 1]), line, result)
    waiting = v.array([0.0, offset, start, last])
    early = _compared("<", v.add(t, slack), start)
    return v.flat(v.choose_value(early, waiting, result))


def _line_of(
    x: v.ArrayValue,
    y: v.ArrayValue,
    row: int,
    eps: Value,
    offset: Scalar,
    shift: Scalar,
    following: Scalar,
) -> v.ArrayValue:
    """Return slope and offset of the line that ends at a row, the next event, and the row."""
    length = v.subtract(x[row - 1], x[row - 2])
    short = _compared("<=", length, v.multiply(eps, _absolute(x[row - 1])))
    slope: Scalar = 0.0
    if short is not True:
        rise = v.subtract(y[row - 1], y[row - 2])
        slope = v.choose(short, 0.0, v.divide(rise, v.choose(short, 1.0, length)))
    height = v.choose(short, y[row - 1], v.subtract(y[row - 2], v.multiply(slope, x[row - 2])))
    b = v.subtract(v.add(offset, height), v.multiply(slope, shift))
    return v.array([slope, b, following, row])


def _absolute(value: Scalar) -> Scalar:
    return ca.fabs(value) if v.is_symbolic(value) else abs(value)


def _error(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Fail where the call is reached."""
    text = arguments[0] if arguments and isinstance(arguments[0], str) else "an error"
    if caller.guard is True:
        raise Refusal("value", text, call.span, "correct the values that lead to this error")
    reached = v.logical_not(caller.guard)
    caller.state.assertions.append(AssertValue(reached, text, False, call.span))
    return []


IS_EQUAL = "Modelica.Math.Matrices.isEqual"
TIME_TABLE = "Modelica.Blocks.Sources.TimeTable.getInterpolationCoefficients"

KnownFunction = Callable[[sx.Call, Sequence[Value], Lowering], "list[Value]"]

KNOWN: Mapping[str, KnownFunction] = {
    INTERPOLATE: _interpolate,
    FIRST_TRUE_INDEX: _first_true_index,
    CHEBYSHEV: chebyshev,
    IS_EQUAL: _is_equal,
    TIME_TABLE: _time_table,
    ERROR: _error,
}
