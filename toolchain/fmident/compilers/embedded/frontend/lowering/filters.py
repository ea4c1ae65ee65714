"""Coefficients of the standard library's filters that it finds by loops which rumoca refuses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import Scalar, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

_HALF_POWER = 10 ** (-3 / 20)
"""The amplitude of -3 dB."""


def chebyshev(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return the denominator of a Chebyshev filter of the first kind at 1 rad/s.

    That is the constant of ``s + cr`` and the constants of ``s^2 + c1*s + c0``. The poles lie on
    an ellipse; the amplitude is ``1/sqrt(1 + (e*T(w))^2)``, T the Chebyshev polynomial, divided by
    its value at w = 0. So its frequency of -3 dB has a closed form.
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
