"""Functions of the standard library that are evaluated without their text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.relations import compare, symbolic_relation
from fmident.compilers.embedded.frontend.lowering.scope import AssertValue
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.source.known_functions import INTERPOLATE
from fmident.compilers.embedded.frontend.refusal import Refusal


def _interpolate(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return the ordinate on the straight lines through points; beyond them the outer lines go on.

    The index of the interval, the second output of the library's function, is not returned; nor
    does it matter at which interval the search begins.
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


KnownFunction = Callable[[sx.Call, Sequence[Value], Lowering], "list[Value]"]

KNOWN: Mapping[str, KnownFunction] = {INTERPOLATE: _interpolate}
