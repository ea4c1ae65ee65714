"""The external functions of the library's tables, by their names in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.tables.evaluation import (
    next_event,
    value_at_time,
    value_of_one,
)
from fmident.compilers.embedded.frontend.lowering.tables.table import Given, abscissae, table_of
from fmident.compilers.embedded.frontend.lowering.values import TableValue, Value
from fmident.compilers.embedded.frontend.reading import syntax as sx
from fmident.compilers.embedded.frontend.refusal import Refusal

External = Callable[[sx.Call, Sequence[Value], Lowering], Value]

_PREFIX = "ModelicaStandardTables_Combi"


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
