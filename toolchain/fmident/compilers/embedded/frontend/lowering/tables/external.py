"""Lookup and time tables of the standard library: values, events, external functions by name.

A time table changes its piece at time events. Until the next event the present piece is
extrapolated, so that what is integrated is smooth. Times that differ by rounding are one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

import casadi as ca

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.tables.pieces import PERIODIC, pieces_of
from fmident.compilers.embedded.frontend.lowering.tables.slopes import absolute, compared
from fmident.compilers.embedded.frontend.lowering.tables.table import (
    Given,
    abscissae,
    expect_inside,
    table_of,
)
from fmident.compilers.embedded.frontend.lowering.values import Scalar, TableValue, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

External = Callable[[sx.Call, Sequence[Value], Lowering], Value]

_PREFIX = "ModelicaStandardTables_Combi"


NEVER = 1.7976931348623157e308
"""The next time event where there is none, as in the library."""
ALWAYS, AT_DISCONTINUITIES = 1, 2
"""Literals of the library's enumeration ``TimeEvents``."""
_SLACK = 1e-14
"""Relative to the times involved."""


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
    found = pieces_of(x, y, table.smoothness, table.extrapolation)
    return found(u, lambda begin: compared(">=", u, begin))


def _ordinates(table: TableValue, column: int, call: sx.Call) -> list[Scalar]:
    if not 1 <= column <= len(table.columns):
        raise Refusal("value", f"a table has no output {column}", call.span, "")
    return list(table.cells[:, table.columns[column - 1] - 1])


def _in_period(u: Scalar, x: Sequence[Scalar]) -> Scalar:
    """Return the variable in the first period, whose both ends belong to it."""
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
    """Times of one time table.

    Parameters
    ----------
    table
        The table.
    t
        The (scaled) time.
    """

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
        """Return how many periods have passed at a time."""
        return ca.floor(ca.SX(t + self.slack - self.table.shift - self.x[0]) / self.period)

    def shifted(self, x: Scalar, periods: Scalar) -> Scalar:
        """Return the time at which an abscissa is, in a period."""
        return (
            x + periods * self.period + self.table.shift if self.repeats else x + self.table.shift
        )

    def reached(self, time: Scalar) -> Scalar:
        """Return whether the time is at another one or behind it."""
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
    """Return the value of a time table.

    Parameters
    ----------
    table, column
        The table and which of its outputs.
    t
        The time.
    following, before
        The next time event, and what it was before the present event; equal between events.
    call, caller
        For messages and asserts.
    """
    clock = _Clock(table, t)
    expect_inside(table, t - table.shift, clock.x, call, caller)
    waiting = compared("==", following, before)

    def ahead(time: Scalar) -> Scalar:
        """Return whether a time is that of an event that has not happened, or later."""
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
    found = pieces_of(clock.x, y, table.smoothness, table.extrapolation)
    value = found(t - table.shift - periods * clock.period, reached)
    started = v.logical_and(clock.reached(table.start), v.logical_not(ahead(table.start)))
    return v.choose(started, value, 0.0)


def next_event(table: TableValue, t: Scalar) -> Scalar:
    """Return the next time event behind a time, :data:`NEVER` if there is none.

    The events are the start, the first and the last abscissa, and those between that the table
    asks for; a table that repeats itself has them in each period.
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
    """Yield abscissae and whether they are events."""
    x, kind = clock.x, clock.table.time_events
    if not clock.repeats:
        yield x[0], True
    for a, b in pairwise(x[1:]):
        if kind == ALWAYS:
            yield a, True
        elif kind == AT_DISCONTINUITIES:
            yield a, compared("==", a, b)
    yield x[-1], True
