"""Functions that jump: ``floor``, ``ceil``, ``integer``, ``div``, ``mod``, ``rem``, ``sign``.

Outside ``noEvent``, when-equations and functions their jumps are events.

Source: Modelica language specification 3.6, section 3.7.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.values import Scalar
from fmident.compilers.embedded.frontend.refusal import Refusal

_NUMBERS: Mapping[str, Callable[..., float]] = {
    "floor": lambda x: float(math.floor(x)),
    "ceil": lambda x: float(math.ceil(x)),
    "integer": lambda x: math.floor(x),
    "div": lambda x, y: type(x)(math.trunc(x / y)),
    "mod": lambda x, y: x - math.floor(x / y) * y,
    "rem": lambda x, y: x - math.trunc(x / y) * y,
    "sign": lambda x: float((x > 0) - (x < 0)),
}
ARGUMENTS: Mapping[str, int] = {n: 2 if n in ("div", "mod", "rem") else 1 for n in _NUMBERS}
"""Name to the number of arguments."""


def jumping(name: str, arguments: Sequence[Scalar], hold: Callable[[Scalar], Scalar]) -> Scalar:
    """Return the value of such a function.

    Parameters
    ----------
    name
        One of :data:`ARGUMENTS`.
    arguments
        Scalars.
    hold
        Returns what stands for a value that jumps.
    """
    if any(isinstance(a, bool | str) for a in arguments):
        raise Refusal("type-error", f"an argument of '{name}' is not a number", hint="")
    if not any(v.is_symbolic(a) for a in arguments):
        try:
            return _NUMBERS[name](*arguments)
        except ZeroDivisionError:
            raise Refusal("division-by-zero", "a division by zero", hint="") from None
    x = arguments[0]
    match name:
        case "floor" | "integer":
            return hold(ca.floor(x))
        case "ceil":
            return hold(ca.ceil(x))
        case "sign":
            return hold(ca.sign(x))
    y = arguments[1]
    if name == "mod":
        return v.plain(x - hold(ca.floor(x / y)) * y)
    quotient = hold(_truncated(x / y))
    return quotient if name == "div" else v.plain(x - quotient * y)


def _truncated(x: Scalar) -> Scalar:
    return ca.if_else(x < 0, ca.ceil(x), ca.floor(x))
