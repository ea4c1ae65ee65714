"""A lookup table as the library's external functions see it, and its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from fmident.compilers.embedded.frontend.lowering import values as v
from fmident.compilers.embedded.frontend.lowering.expressions import Lowering
from fmident.compilers.embedded.frontend.lowering.scope import AssertValue
from fmident.compilers.embedded.frontend.lowering.tables.pieces import CONSTANT, LINEAR, PERIODIC
from fmident.compilers.embedded.frontend.lowering.tables.slopes import CURVES, compared
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


@dataclass(frozen=True)
class Given:
    """What an external object of a table is made of, in the order of the C functions."""

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
    """Return a table, checked as the library does.

    Raises
    ------
    Refusal
        It is in a file or in a function, too large, or not what the library takes.
    """
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
    """Expect abscissae that increase; those of a time table with lines may repeat."""
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
    """Add the assert of a table that is not extrapolated."""
    if table.extrapolation != NO_EXTRAPOLATION or len(x) == 1:
        return
    inside = v.logical_and(compared(">=", u, x[0]), compared("<=", u, x[-1]))
    holds = v.logical_or(v.logical_not(caller.guard), inside)
    if holds is not True:
        message = f"a {_WORDS[table.kind]} without extrapolation is left"
        caller.state.assertions.append(AssertValue(holds, message, False, call.span))
