"""Lookup tables of the Modelica Standard Library: the meaning of its external functions.

A lookup table as the library's external functions see it, and its checks.

Slopes at the points of a table from which cubic curves are drawn.

Sources: H. Akima, A new method of interpolation and smooth curve fitting based on local
procedures, J. ACM 17(4), 1970; C. Ionita, Makima piecewise cubic interpolation, 2019 (modified
weights); F. N. Fritsch and J. Butland, A method for constructing local monotone piecewise cubic
interpolants, SIAM J. Sci. Stat. Comput. 5(2), 1984; M. Steffen, A simple method for monotonic
interpolation in one dimension, Astron. Astrophys. 239, 1990. The weights at the ends are those of
the Modelica Standard Library 4.0.0.

Lookup and time tables of the standard library: values, events, external functions by name.

A time table changes its piece at time events. Until the next event the present piece is
extrapolated, so that what is integrated is smooth. Times that differ by rounding are one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import casadi as ca
import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.events import compare, symbolic_relation
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.scope import AssertValue
from fmident.compilers.embedded.frontend.lowering.values import Scalar, TableValue, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import OPENMODELICA, Refusal

MOST_CELLS = 5_000
"""Each evaluation looks at every cell of the columns that it needs."""
NO_NAME = ("", "NoName")

Kind: TypeAlias = Literal["time", "one"]

_WORDS: Mapping[str, str] = {
    "time": "time table",
    "one": "table of one variable",
}
NO_EXTRAPOLATION = 4


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


@dataclass(frozen=True)
class Given:
    """Constructor arguments of a table's external object, in the order of the C functions."""

    kind: Kind
    file: Value
    name: Value
    cells: Value
    columns: Value
    smoothness: Value
    extrapolation: Value
    start: Scalar = 0.0
    shift: Scalar = 0.0
    time_events: Value = 1


def table_of(given: Given, call: sx.Call, caller: Lowering) -> TableValue:
    """Return a table after the library's checks."""
    if given.file not in NO_NAME or given.name not in NO_NAME:
        raise Refusal(
            "unsupported-table-file",
            "a table that is in a file",
            call.span,
            f"write its values into the parameter 'table'; or {OPENMODELICA}",
        )
    cells = given.cells
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
            "value", f"a {_WORDS[given.kind]} of {rows} x {width} values", call.span, "enlarge it"
        )
    columns = [_whole(c, call) for c in v.flat(given.columns)]
    if any(not 1 <= c <= width for c in columns):
        raise Refusal(
            "value",
            f"'columns' of a table of {width} columns is {columns}",
            call.span,
            f"give numbers from 2 to {width}",
        )
    smoothness, extrapolation = _whole(given.smoothness, call), _whole(given.extrapolation, call)
    table = TableValue(
        given.kind,
        cells,
        tuple(columns),
        smoothness,
        extrapolation,
        given.start,
        given.shift,
        _whole(given.time_events, call),
    )
    if smoothness not in (LINEAR, CONSTANT, *CURVES) or not 1 <= extrapolation <= 4:
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


def abscissae(table: TableValue) -> list[Scalar]:
    """Return the first column."""
    return list(table.cells[:, 0])


def _check_order(table: TableValue, call: sx.Call, caller: Lowering) -> None:
    """Expect increasing abscissae; those of a linear time table may repeat."""
    repeats = table.kind == "time" and table.smoothness not in CURVES
    word = "must not decrease" if repeats else "must increase"
    message = f"the abscissas of a {_WORDS[table.kind]} {word}"
    x = abscissae(table)
    for a, b in pairwise(x):
        _expect(compared("<=" if repeats else "<", a, b), message, call, caller)
    if table.extrapolation == PERIODIC and len(x) > 1:
        longer = compared("<", x[0], x[-1])
        _expect(longer, "the period of a table must be positive", call, caller)


def _expect(holds: Scalar, message: str, call: sx.Call, caller: Lowering) -> None:
    if holds is True:
        return
    if holds is False:
        raise Refusal("value", message, call.span, "correct the table")
    caller.state.assertions.append(AssertValue(holds, message, False, call.span))


def expect_inside(
    table: TableValue, u: Scalar, x: Sequence[Scalar], call: sx.Call, caller: Lowering
) -> None:
    """Add the assert of a table without extrapolation."""
    if table.extrapolation != NO_EXTRAPOLATION or len(x) == 1:
        return
    inside = v.logical_and(compared(">=", u, x[0]), compared("<=", u, x[-1]))
    holds = v.logical_or(v.logical_not(caller.guard), inside)
    if holds is not True:
        message = f"a {_WORDS[table.kind]} without extrapolation is left"
        caller.state.assertions.append(AssertValue(holds, message, False, call.span))


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


def compared(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """Return a relation of scalars, known or symbolic."""
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
    """Return the slopes of the lines between points; 0 between coincident points."""
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
    """Return Akima's slopes, with weights that avoid overshoot on flat parts."""
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


def _time_table(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    file, name, cells, _, _, start, columns, _, smoothness, extrapolation, *rest = given
    shift, events = (rest[0], rest[1]) if len(rest) > 1 else (start, 1)
    return table_of(
        Given("time", file, name, cells, columns, smoothness, extrapolation, start, shift, events),
        call,
        caller,
    )


def _table_1d(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    file, name, cells, _, _, columns, _, smoothness, extrapolation, *_ = given
    return table_of(
        Given("one", file, name, cells, columns, smoothness, extrapolation), call, caller
    )


def _table(value: Value, kind: str, call: sx.Call) -> TableValue:
    if not isinstance(value, TableValue) or value.kind != kind:
        raise Refusal("type-error", f"'{call.name}' without a table", call.span, "")
    return value


def _column(value: Value, call: sx.Call) -> int:
    if not v.is_number(value):
        raise Refusal("type-error", f"the column of '{call.name}' varies", call.span, "")
    return int(value)


def _value_1d(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    table, column, u = given
    return value_of_one(_table(table, "one", call), _column(column, call), u, call, caller)


def _value_at_time(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    table, column, t, following, before = given
    return value_at_time(
        _table(table, "time", call), _column(column, call), t, following, before, call, caller
    )


def _next(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
    table, t = given
    return next_event(_table(table, "time", call), t)


def _end(kind: str, place: int) -> External:
    def end(call: sx.Call, given: Sequence[Value], caller: Lowering) -> Value:
        return abscissae(_table(given[0], kind, call))[place]

    return end


EXTERNAL: Mapping[str, External] = {
    f"{_PREFIX}{name}": function
    for name, function in {
        "TimeTable_init2": _time_table,
        "TimeTable_init3": _time_table,
        "TimeTable_getValue": _value_at_time,
        "TimeTable_nextTimeEvent": _next,
        "TimeTable_minimumTime": _end("time", 0),
        "TimeTable_maximumTime": _end("time", -1),
        "Table1D_init2": _table_1d,
        "Table1D_init3": _table_1d,
        "Table1D_getValue": _value_1d,
        "Table1D_minimumAbscissa": _end("one", 0),
        "Table1D_maximumAbscissa": _end("one", -1),
    }.items()
}


def value_of_one(
    table: TableValue, column: int, u: Scalar, call: sx.Call, caller: Lowering
) -> Scalar:
    """Return the value of a table of one variable."""
    x, y = abscissae(table), _ordinates(table, column, call)
    expect_inside(table, u, x, call, caller)
    if table.extrapolation == PERIODIC and len(x) > 1:
        u = _in_period(u, x)
    curve = pieces_of(x, y, table.smoothness, table.extrapolation)
    return curve(u, lambda begin: compared(">=", u, begin))


def _ordinates(table: TableValue, column: int, call: sx.Call) -> list[Scalar]:
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
        self.x = abscissae(table)
        x = self.x
        sizes = (t, table.shift, x[0], x[-1])
        self.slack = _SLACK * sum(absolute(s) for s in sizes)
        self.repeats = table.extrapolation == PERIODIC and len(x) > 1
        self.period = x[-1] - x[0] if self.repeats else 0.0

    def periods(self, t: Scalar) -> Scalar:
        """Return the number of periods that have passed at a time."""
        return ca.floor(ca.SX(t + self.slack - self.table.shift - self.x[0]) / self.period)

    def shifted(self, x: Scalar, periods: Scalar) -> Scalar:
        """Return the time of an abscissa in a given period."""
        return (
            x + periods * self.period + self.table.shift if self.repeats else x + self.table.shift
        )

    def reached(self, time: Scalar) -> Scalar:
        """Return whether the current time is at or after `time`."""
        return compared(">=", self.t + self.slack, time)


def value_at_time(
    table: TableValue,
    column: int,
    t: Scalar,
    following: Scalar,
    before: Scalar,
    call: sx.Call,
    caller: Lowering,
) -> Scalar:
    """Return output `column` of a time table at time `t`.

    `following` is the next time event, and `before` that before the current event; they are
    equal between events.
    """
    clock = _Clock(table, t)
    expect_inside(table, t - table.shift, clock.x, call, caller)
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

    y = _ordinates(table, column, call)
    curve = pieces_of(clock.x, y, table.smoothness, table.extrapolation)
    value = curve(t - table.shift - periods * clock.period, reached)
    started = v.logical_and(clock.reached(table.start), v.logical_not(ahead(table.start)))
    return v.choose(started, value, 0.0)


def next_event(table: TableValue, t: Scalar) -> Scalar:
    """Return the next time event after a time, or :data:`NEVER`.

    Events are the start, the first and last abscissae, and others that the table's setting
    demands; a periodic table has them in each period.
    """
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
