"""Slopes at the points of a table from which cubic curves are drawn.

Sources: H. Akima, A new method of interpolation and smooth curve fitting based on local
procedures, J. ACM 17(4), 1970; C. Ionita, Makima piecewise cubic interpolation, 2019 (modified
weights); F. N. Fritsch and J. Butland, A method for constructing local monotone piecewise cubic
interpolants, SIAM J. Sci. Stat. Comput. 5(2), 1984; M. Steffen, A simple method for monotonic
interpolation in one dimension, Astron. Astrophys. 239, 1990. The weights at the ends are those of
the Modelica Standard Library 4.0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.relations import compare, symbolic_relation
from fmident.compilers.embedded.frontend.lowering.values import Scalar


def compared(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Return a relation of scalars, known or not."""
    if v.is_symbolic(left) or v.is_symbolic(right):
        return symbolic_relation(operator, left, right)
    return compare(operator, left, right)


def absolute(value: Scalar) -> Scalar:
    """Return the absolute value."""
    return ca.fabs(value) if v.is_symbolic(value) else abs(value)


def quotient(numerator: Scalar, denominator: Scalar, otherwise: Scalar = 0.0) -> Scalar:
    """Return a quotient; `otherwise` where the denominator is zero."""
    zero = compared("==", denominator, 0.0)
    if zero is True:
        return otherwise
    return v.choose(zero, otherwise, numerator / v.choose(zero, 1.0, denominator))


def divided_differences(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """Return the slopes of the lines between the points; 0 between two at one place."""
    return [quotient(y[i + 1] - y[i], x[i + 1] - x[i]) for i in range(len(x) - 1)]


def _extended(m: list[Scalar]) -> list[Scalar]:
    """Return the slopes with two more at each end, on a parabola through the outer points."""
    return [
        3 * m[0] - 2 * m[1],
        2 * m[0] - m[1],
        *m,
        2 * m[-1] - m[-2],
        3 * m[-1] - 2 * m[-2],
    ]


def akima(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return Akima's slopes."""
    d = _extended(m)
    result = []
    for i in range(len(x)):
        right, left = absolute(d[i + 3] - d[i + 2]), absolute(d[i + 1] - d[i])
        mean = 0.5 * d[i + 1] + 0.5 * d[i + 2]
        result.append(quotient(right * d[i + 1] + left * d[i + 2], left + right, mean))
    return result


def modified_akima(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return Akima's slopes with weights that avoid overshoot on flat parts."""
    d = _extended(m)
    result = []
    for i in range(len(x)):
        right = absolute(d[i + 3] - d[i + 2]) + 0.5 * absolute(d[i + 3] + d[i + 2])
        left = absolute(d[i + 1] - d[i]) + 0.5 * absolute(d[i + 1] + d[i])
        result.append(quotient(right * d[i + 1] + left * d[i + 2], left + right))
    return result


def _monotone(
    x: Sequence[Scalar],
    m: list[Scalar],
    inner: Callable[[Scalar, Scalar, Scalar, Scalar], Scalar],
) -> list[Scalar]:
    result = [m[0]]
    for i in range(len(m) - 1):
        one_way = compared(">", m[i] * m[i + 1], 0.0)
        slope = inner(m[i], m[i + 1], x[i + 1] - x[i], x[i + 2] - x[i + 1])
        result.append(v.choose(one_way, slope, 0.0))
    return [*result, m[-1]]


def fritsch_butland(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return weighted harmonic means, which keep the curve monotone."""

    def mean(m0: Scalar, m1: Scalar, h0: Scalar, h1: Scalar) -> Scalar:
        return quotient(3 * (h0 + h1) * m0 * m1, (h0 + 2 * h1) * m1 + (h1 + 2 * h0) * m0)

    return _monotone(x, m, mean)


def steffen(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return slopes of parabolas through three points, limited to keep the curve monotone."""

    def limited(m0: Scalar, m1: Scalar, h0: Scalar, h1: Scalar) -> Scalar:
        slope = quotient(m0 * h1 + m1 * h0, h0 + h1)
        a0, a1 = absolute(m0), absolute(m1)
        least = v.choose(compared("<", a0, a1), a0, a1)
        sign = v.choose(compared(">", m0, 0.0), 2.0, -2.0)
        steep = compared(">", 0.5 * absolute(slope), least)
        return v.choose(steep, sign * least, slope)

    return _monotone(x, m, limited)


CURVES: Mapping[int, Callable[[Sequence[Scalar], list[Scalar]], list[Scalar]]] = {
    2: akima,
    4: fritsch_butland,
    5: steffen,
    6: modified_akima,
}
"""By the place of the literal in the library's enumeration ``Smoothness``."""
