"""A column of a table as pieces of curves, each from its beginning to that of the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.tables.slopes import (
    CURVES,
    divided_differences,
    quotient,
)
from fmident.compilers.embedded.frontend.lowering.values import Scalar

LINEAR, CONSTANT = 1, 3
"""Literals of the library's enumeration ``Smoothness``; the others are in ``slopes``."""
HOLD: Final = 1
LAST_TWO: Final = 2
PERIODIC: Final = 3
NONE: Final = 4
"""Literals of the library's enumeration ``Extrapolation``."""

Curve = Callable[[Scalar], Scalar]
Selected = Callable[[Scalar], Scalar]


@dataclass(frozen=True)
class Pieces:
    """A function of one variable.

    Parameters
    ----------
    before
        Before the first beginning.
    pieces
        Beginning of each piece, and its curve.
    """

    before: Curve
    pieces: tuple[tuple[Scalar, Curve], ...]

    def __call__(self, u: Scalar, reached: Selected) -> Scalar:
        """Return the value at `u`; `reached` says whether it is at a beginning or behind it."""
        result = self.before(u)
        for begin, curve in self.pieces:
            result = v.choose(reached(begin), curve(u), result)
        return result


def line(x: Scalar, y: Scalar, slope: Scalar) -> Curve:
    """Return a line through a point."""
    return lambda u: y + slope * (u - x)


def _cubic(x: Scalar, y: Scalar, first: Scalar, second: Scalar, third: Scalar) -> Curve:
    def curve(u: Scalar) -> Scalar:
        w = u - x
        return y + ((third * w + second) * w + first) * w

    return curve


def pieces_of(
    x: Sequence[Scalar], y: Sequence[Scalar], smoothness: int, extrapolation: int
) -> Pieces:
    """Return the curve through points.

    Parameters
    ----------
    x, y
        Abscissae, which do not decrease, and ordinates.
    smoothness, extrapolation
        Literals of the library's enumerations. Where the curve repeats itself, the outer pieces
        go on; who evaluates it maps the variable to one period.
    """
    if len(x) == 1:
        return Pieces(line(x[0], y[0], 0.0), ())
    if len(x) == 2 and smoothness != CONSTANT:
        smoothness = LINEAR
    m = divided_differences(x, y)
    ends = [m[0], m[-1]]
    curves: list[Curve]
    if smoothness == CONSTANT:
        curves = [line(x[i], y[i], 0.0) for i in range(len(m))]
    elif smoothness == LINEAR:
        curves = [line(x[i], y[i], m[i]) for i in range(len(m))]
    else:
        s = CURVES[smoothness](x, m)
        ends = [s[0], s[-1]]
        curves = []
        for i, slope in enumerate(m):
            h = x[i + 1] - x[i]
            second = quotient(3 * slope - 2 * s[i] - s[i + 1], h)
            third = quotient(s[i] + s[i + 1] - 2 * slope, h * h)
            curves.append(_cubic(x[i], y[i], s[i], second, third))
    if extrapolation == PERIODIC:
        last = [(x[-1], line(x[-1], y[-1], 0.0))] if smoothness == CONSTANT else []
        return Pieces(curves[0], (*zip(x[1:-1], curves[1:], strict=True), *last))
    out = ends if extrapolation == LAST_TWO else [0.0, 0.0]
    first, last_one = line(x[0], y[0], out[0]), line(x[-1], y[-1], out[1])
    return Pieces(first, (*zip(x[:-1], curves, strict=True), (x[-1], last_one)))
