"""Functions of the Modelica Standard Library evaluated without their text, lookup tables first.

Sources of the slopes from which cubic curves are drawn: H. Akima, A new method of
interpolation and smooth curve fitting based on local procedures, J. ACM 17(4), 1970; C.
Ionita, Makima piecewise cubic interpolation, 2019 (modified weights); F. N. Fritsch and J.
Butland, A method for constructing local monotone piecewise cubic interpolants, SIAM J. Sci.
Stat. Comput. 5(2), 1984; M. Steffen, A simple method for monotonic interpolation in one
dimension, Astron. Astrophys. 239, 1990. The weights at the ends are those of the Modelica
Standard Library 4.0.0.

A time table changes its piece at time events. Until the next event the present piece is
extrapolated, so that what is integrated is smooth. Times that differ by rounding are one.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.values import (
    Scalar,
    TableValue,
    Value,
    absolute,
    compared,
)
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.reading.rewrites import (
    CHEBYSHEV,
    ERROR,
    FIRST_TRUE_INDEX,
    INTERPOLATE,
)
from fmident.compilers.embedded.frontend.refusal import OPENMODELICA, Refusal

MOST_CELLS = 5_000
"""Each evaluation looks at every cell of the columns that it needs."""
NO_NAME = ("", "NoName")

Kind: TypeAlias = Literal["time", "one"]

_WORDS: Mapping[str, str] = {
    "time": "time table",
    "one": "table of one variable",
}
LINEAR, CONSTANT = 1, 3
"""Literals of the library's enumeration ``Smoothness``; the others are in ``slopes``."""
HOLD: Final = 1
LAST_TWO: Final = 2
PERIODIC: Final = 3
NONE: Final = 4
"""Literals of the library's enumeration ``Extrapolation``."""

Curve = Callable[[Scalar], Scalar]
Selected = Callable[[Scalar], Scalar]


External = Callable[[sx.Call, Sequence[Value], Lowering], Value]

_PREFIX = "ModelicaStandardTables_Combi"


NEVER = 1.7976931348623157e308
"""The next time event where there is none, as in the library."""
ALWAYS, AT_DISCONTINUITIES = 1, 2
"""Literals of the library's enumeration ``TimeEvents``."""
_SLACK = 1e-14
"""Relative to the times involved."""


_HALF_POWER = 10 ** (-3 / 20)
"""The amplitude of -3 dB."""


def table_of(
    kind: Kind,
    file: Value,
    name: Value,
    cells: Value,
    columns: Value,
    smoothness: Value,
    extrapolation: Value,
    call: sx.Call,
    caller: Lowering,
    *,
    start: Scalar = 0.0,
    shift: Scalar = 0.0,
    time_events: Value = 1,
) -> TableValue:
    """Return a table, from the arguments of the library's C functions, after its checks."""
    if file not in NO_NAME or name not in NO_NAME:
        raise Refusal(
            "unsupported-table-file",
            "a table that is in a file",
            call.span,
            f"write its values into the parameter 'table'; or {OPENMODELICA}",
        )
    if not isinstance(cells, np.ndarray) or cells.ndim != 2:
        raise Refusal("shape-mismatch", "the values of a table are not a matrix", call.span, "")
    rows, width = cells.shape
    if cells.size > MOST_CELLS:
        raise Refusal(
            "too-large",
            f"a table of {rows} x {width} values, more than {MOST_CELLS} are refused",
            call.span,
        )
    if rows < 1 or width < 2:
        raise Refusal(
            "value", f"a {_WORDS[kind]} of {rows} x {width} values", call.span, "enlarge it"
        )
    places = tuple(_whole(c, call) for c in v.flat(columns))
    if any(not 1 <= c <= width for c in places):
        raise Refusal(
            "value",
            f"'columns' of a table of {width} columns is {list(places)}",
            call.span,
            f"give numbers from 2 to {width}",
        )
    settings = (_whole(smoothness, call), _whole(extrapolation, call))
    table = TableValue(kind, cells, places, *settings, start, shift, _whole(time_events, call))
    if table.smoothness not in (LINEAR, CONSTANT, *CURVES) or not 1 <= table.extrapolation <= 4:
        raise Refusal("value", "a smoothness or extrapolation that the library does not have")
    _check_order(table, call, caller)
    return table


def _whole(value: Value, call: sx.Call) -> int:
    if not v.is_number(value) or value != int(value):
        raise Refusal(
            "structural-parameter",
            "the columns and the kind of a table must be known when the model is compiled",
            call.span,
            "give them by literals or parameters that are not Real",
        )
    return int(value)


def _abscissae(table: TableValue) -> list[Scalar]:
    return list(table.cells[:, 0])


def _check_order(table: TableValue, call: sx.Call, caller: Lowering) -> None:
    """Expect increasing abscissae; those of a linear time table may repeat."""
    repeats = table.kind == "time" and table.smoothness not in CURVES
    word = "must not decrease" if repeats else "must increase"
    message = f"the abscissas of a {_WORDS[table.kind]} {word}"
    x = _abscissae(table)
    for a, b in pairwise(x):
        expect(compared("<=" if repeats else "<", a, b), message, call, caller)
    if table.extrapolation == PERIODIC and len(x) > 1:
        longer = compared("<", x[0], x[-1])
        expect(longer, "the period of a table must be positive", call, caller)


def expect(holds: Scalar, message: str, call: sx.Call, caller: Lowering) -> None:
    """Refuse a table for which a condition does not hold; assert one that depends on values."""
    if holds is False:
        raise Refusal("value", message, call.span, "correct the table")
    caller.require(holds, message)


def _expect_inside(table: TableValue, u: Scalar, x: Sequence[Scalar], caller: Lowering) -> None:
    if table.extrapolation != NONE or len(x) == 1:
        return
    inside = v.logical_and(compared(">=", u, x[0]), compared("<=", u, x[-1]))
    caller.require(inside, f"a {_WORDS[table.kind]} without extrapolation is left")


@dataclass(frozen=True)
class Pieces:
    """A piecewise function: the curve before the first piece, then start and curve of each."""

    before: Curve
    pieces: tuple[tuple[Scalar, Curve], ...]

    def __call__(self, u: Scalar, reached: Selected) -> Scalar:
        """Return the value at `u`; `reached` says whether `u` is at or after a beginning."""
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
    """Return the interpolating curve through points with non-decreasing abscissae.

    For periodic extrapolation the caller maps the variable to one period.
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


def quotient(numerator: Scalar, denominator: Scalar, otherwise: Scalar = 0.0) -> Scalar:
    """Return a quotient; `otherwise` where the denominator is zero."""
    zero = compared("==", denominator, 0.0)
    if zero is True:
        return otherwise
    return v.choose(zero, otherwise, numerator / v.choose(zero, 1.0, denominator))


def divided_differences(x: Sequence[Scalar], y: Sequence[Scalar]) -> list[Scalar]:
    """Return the slopes of the lines between points; 0 between coincident points."""
    return [quotient(y[i + 1] - y[i], x[i + 1] - x[i]) for i in range(len(x) - 1)]


def akima(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return Akima's slopes."""
    return _weighted(m, lambda a, b: absolute(b - a), otherwise=lambda a, b: 0.5 * a + 0.5 * b)


def modified_akima(x: Sequence[Scalar], m: list[Scalar]) -> list[Scalar]:
    """Return Akima's slopes, with weights that avoid overshoot on flat parts."""
    return _weighted(
        m, lambda a, b: absolute(b - a) + 0.5 * absolute(b + a), otherwise=lambda a, b: 0.0
    )


def _weighted(
    m: list[Scalar],
    weight: Callable[[Scalar, Scalar], Scalar],
    otherwise: Callable[[Scalar, Scalar], Scalar],
) -> list[Scalar]:
    """Return weighted means of adjacent slopes; `otherwise` where both weights are zero."""
    # With two more slopes at each end, on a parabola through the outer points.
    before = [3 * m[0] - 2 * m[1], 2 * m[0] - m[1]]
    d = [*before, *m, 2 * m[-1] - m[-2], 3 * m[-1] - 2 * m[-2]]
    result = []
    for i in range(len(m) + 1):
        right, left = weight(d[i + 2], d[i + 3]), weight(d[i], d[i + 1])
        mean = right * d[i + 1] + left * d[i + 2]
        result.append(quotient(mean, left + right, otherwise(d[i + 1], d[i + 2])))
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


def _time_table(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    file, name, cells, _, _, start, columns, _, smoothness, extrapolation, *rest = given
    shift, events = (rest[0], rest[1]) if len(rest) > 1 else (start, 1)
    given_table = (file, name, cells, columns, smoothness, extrapolation)
    times = {"start": start, "shift": shift, "time_events": events}
    return table_of("time", *given_table, call, caller, **times)


def _table_1d(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    file, name, cells, _, _, columns, _, smoothness, extrapolation, *_ = given
    given_table = (file, name, cells, columns, smoothness, extrapolation)
    return table_of("one", *given_table, call, caller)


def _table(value: Value, kind: str, call: sx.Call) -> TableValue:
    if not isinstance(value, TableValue) or value.kind != kind:
        raise Refusal("type-error", f"'{call.name}' without a table", call.span, "")
    return value


def _end(kind: str, place: int) -> External:
    def end(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
        return _abscissae(_table(given[0], kind, call))[place]

    return end


def value_of_one(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    """Return the value of a table of one variable, given the table, its column and the variable."""
    table, u = _table(given[0], "one", call), given[2]
    x, y = _abscissae(table), _ordinates(table, given[1], call)
    _expect_inside(table, u, x, caller)
    if table.extrapolation == PERIODIC and len(x) > 1:
        u = _in_period(u, x)
    curve = pieces_of(x, y, table.smoothness, table.extrapolation)
    return curve(u, lambda begin: compared(">=", u, begin))


def _ordinates(table: TableValue, column: Value, call: sx.Call) -> list[Scalar]:
    if not v.is_number(column):
        raise Refusal("type-error", f"the column of '{call.name}' varies", call.span, "")
    column = int(column)
    if not 1 <= column <= len(table.columns):
        raise Refusal("value", f"a table has no output {column}", call.span, "")
    return list(table.cells[:, table.columns[column - 1] - 1])


def _in_period(u: Scalar, x: Sequence[Scalar]) -> Scalar:
    """Map the variable to the first period, which includes both ends."""
    period = x[-1] - x[0]
    passed = ca.SX(u - x[-1]) / period
    missing = ca.SX(u - x[0]) / period
    periods = v.choose(
        compared(">", u, x[-1]),
        ca.ceil(passed),
        v.choose(compared("<", u, x[0]), ca.floor(missing), 0.0),
    )
    return v.plain(ca.SX(u - periods * period))


class _Clock:
    """Times of one time table, at the (scaled) time `t`."""

    def __init__(self, table: TableValue, t: Scalar) -> None:
        self.table = table
        self.t = t
        self.x = _abscissae(table)
        x = self.x
        sizes = (t, table.shift, x[0], x[-1])
        self.slack = _SLACK * sum(absolute(s) for s in sizes)
        self.repeats = table.extrapolation == PERIODIC and len(x) > 1
        self.period = x[-1] - x[0] if self.repeats else 0.0

    def periods(self, t: Scalar) -> Scalar:
        return ca.floor(ca.SX(t + self.slack - self.table.shift - self.x[0]) / self.period)

    def shifted(self, x: Scalar, periods: Scalar) -> Scalar:
        return (
            x + periods * self.period + self.table.shift if self.repeats else x + self.table.shift
        )

    def reached(self, time: Scalar) -> Scalar:
        return compared(">=", self.t + self.slack, time)


def value_at_time(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    """Return an output of a time table.

    `given` are the table, the column, the time, the next time event, and that before the
    current event; the last two are equal between events.
    """
    table, t, following, before = _table(given[0], "time", call), *given[2:]
    clock = _Clock(table, t)
    _expect_inside(table, t - table.shift, clock.x, caller)
    waiting = compared("==", following, before)

    def ahead(time: Scalar) -> Scalar:
        """Return whether a time has reached an event that has not happened yet."""
        return v.logical_and(waiting, compared(">=", time, following - clock.slack))

    periods: Scalar = 0.0
    if clock.repeats:
        begun = ca.SX(following - clock.slack - table.shift - clock.x[0]) / clock.period
        periods = clock.periods(t)
        periods = v.choose(waiting, ca.fmin(periods, ca.ceil(begun) - 1), periods)

    def reached(begin: Scalar) -> Scalar:
        time = clock.shifted(begin, periods)
        return v.logical_and(clock.reached(time), v.logical_not(ahead(time)))

    y = _ordinates(table, given[1], call)
    curve = pieces_of(clock.x, y, table.smoothness, table.extrapolation)
    value = curve(t - table.shift - periods * clock.period, reached)
    started = v.logical_and(clock.reached(table.start), v.logical_not(ahead(table.start)))
    return v.choose(started, value, 0.0)


def next_event(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    """Return the next time event of a table after a time, or :data:`NEVER`.

    Events are the start, the first and last abscissae, and others that the table's setting
    demands; a periodic table has them in each period.
    """
    table, t = _table(given[0], "time", call), given[1]
    clock = _Clock(table, t)
    result: Scalar = NEVER
    if len(clock.x) > 1:
        periods = clock.periods(t) if clock.repeats else 0.0
        if clock.repeats:
            result = clock.shifted(clock.x[-1], periods + 1)
        for x, is_event in reversed(list(_events(clock))):
            time = clock.shifted(x, periods)
            comes = v.logical_and(is_event, v.logical_not(clock.reached(time)))
            result = v.choose(comes, time, result)
    return v.choose(clock.reached(table.start), result, table.start)


def _events(clock: _Clock) -> Iterator[tuple[Scalar, Scalar]]:
    """Yield abscissae, each with whether it is an event."""
    x, kind = clock.x, clock.table.time_events
    if not clock.repeats:
        yield x[0], True
    for a, b in pairwise(x[1:]):
        if kind == ALWAYS:
            yield a, True
        elif kind == AT_DISCONTINUITIES:
            yield a, compared("==", a, b)
    yield x[-1], True


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
        increases = compared(">", v.subtract(x[i + 1], x[i]), 0.0)
        expect(increases, f"the abscissas of '{call.name}' must increase", call, caller)
        if i > 0:
            behind = compared(">=", at, x[i])
            result = v.choose_value(behind, _line(x, y, i, at), result)
    return [result]


def _line(x: v.ArrayValue, y: v.ArrayValue, i: int, at: Value) -> Scalar:
    slope = v.divide(v.subtract(y[i + 1], y[i]), v.subtract(x[i + 1], x[i]))
    return v.add(y[i], v.multiply(slope, v.subtract(at, x[i])))


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
            equal = v.logical_and(equal, compared("<=", absolute(v.subtract(a, b)), eps))
    return [equal]


def _line_at_event(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    """Return ``Sources.TimeTable``'s results at an event: line, next event and row.

    The starting row of the library's search only saves time, and is ignored.
    """
    table, offset, start, t, last, eps, shift = arguments
    if not isinstance(table, np.ndarray) or len(table) == 0:
        raise Refusal("shape-mismatch", "a time table without values", call.span, "fill it")
    slack = v.multiply(eps, absolute(t))
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
            result = v.choose_value(compared("<", at, x[i - 1]), line, result)
    waiting = v.array([0.0, offset, start, last])
    early = compared("<", v.add(t, slack), start)
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
    short = compared("<=", length, v.multiply(eps, absolute(x[row - 1])))
    slope: Scalar = 0.0
    if short is not True:
        rise = v.subtract(y[row - 1], y[row - 2])
        slope = v.choose(short, 0.0, v.divide(rise, v.choose(short, 1.0, length)))
    height = v.choose(short, y[row - 1], v.subtract(y[row - 2], v.multiply(slope, x[row - 2])))
    b = v.subtract(v.add(offset, height), v.multiply(slope, shift))
    return v.array([slope, b, following, row])


def _error(call: sx.Call, arguments: Sequence[Value], caller: Lowering) -> list[Value]:
    text = arguments[0] if arguments and isinstance(arguments[0], str) else "an error"
    if caller.guard is True:
        raise Refusal("value", text, call.span, "correct the values that lead to this error")
    caller.require(False, text)
    return []


EXTERNAL: Mapping[str, External] = {
    f"{_PREFIX}{name}": function
    for name, function in {
        "TimeTable_init2": _time_table,
        "TimeTable_init3": _time_table,
        "TimeTable_getValue": value_at_time,
        "TimeTable_nextTimeEvent": next_event,
        "TimeTable_minimumTime": _end("time", 0),
        "TimeTable_maximumTime": _end("time", -1),
        "Table1D_init2": _table_1d,
        "Table1D_init3": _table_1d,
        "Table1D_getValue": value_of_one,
        "Table1D_minimumAbscissa": _end("one", 0),
        "Table1D_maximumAbscissa": _end("one", -1),
    }.items()
}

IS_EQUAL = "Modelica.Math.Matrices.isEqual"
TIME_TABLE = "Modelica.Blocks.Sources.TimeTable.getInterpolationCoefficients"

KnownFunction = Callable[[sx.Call, Sequence[Value], Lowering], "list[Value]"]

KNOWN: Mapping[str, KnownFunction] = {
    INTERPOLATE: _interpolate,
    FIRST_TRUE_INDEX: _first_true_index,
    CHEBYSHEV: chebyshev,
    IS_EQUAL: _is_equal,
    TIME_TABLE: _line_at_event,
    ERROR: _error,
}
