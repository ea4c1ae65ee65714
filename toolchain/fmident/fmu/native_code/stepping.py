"""Common code of compiled loops with events: calls, interpolated inputs, state updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from fmident.fmu.native_code.native import (
    PROGRAM,
    TABLE,
    VECTOR,
    as_pointer,
    call_fmu,
    carray,
    compiled_as,
    doubles,
)
from fmident.fmu.native_code.program import (
    ADDRESS,
    CALL,
    CALL_STATUS,
    COMPONENT,
    COUNT,
    FAILED_FUNCTION,
    FUNCTION,
    INFO,
    INPUT_COUNT,
    INPUT_REFERENCES,
    INPUT_VALUES,
    INPUT_WIDTH,
    INPUT_WORK,
    MOST_ITERATIONS,
    NEXT_EVENT,
    NOT_GIVEN,
    REFERENCES,
    ROW,
    SET_INPUTS,
    STRIDE,
    TERMINATED,
    TIMES,
    UNSETTLED,
    UPDATE,
    VERSION,
    WARNED,
    WIDTH,
)


@compiled_as(types.int64(TABLE, types.int64, types.int64))
def note_call(table: Any, address: int, status: int) -> Any:
    """Record an unsuccessful call; return its status, or 0 if the run may continue."""
    if status == 0:
        return 0
    if status == 1:
        table[WARNED] = 1
        return 0
    table[FAILED_FUNCTION] = address
    table[CALL_STATUS] = status
    return status


@compiled_as(types.int64(TABLE, types.int64, types.int64))
def note(table: Any, function: int, status: int) -> Any:
    """Record a call of the function at a position in the table; like :func:`note_call`."""
    return note_call(table, table[function], status)


@compiled_as(types.int64(TABLE, PROGRAM, types.int64))
def move(table: Any, program: Any, i: int) -> Any:
    """Set or get the values of step `i`."""
    for c in range(program.shape[0]):
        row = program[c]
        values = row[ADDRESS] + row[STRIDE] * i
        if table[VERSION] == 3 and row[WIDTH] != NOT_GIVEN:
            status = call_fmu(
                row[FUNCTION],
                (table[COMPONENT], row[REFERENCES], row[COUNT], values, row[WIDTH]),
            )
        else:
            status = call_fmu(
                row[FUNCTION], (table[COMPONENT], row[REFERENCES], row[COUNT], values)
            )
        status = note_call(table, row[FUNCTION], status)
        if status != 0:
            return status
    return 0


@compiled_as(types.int64(TABLE, types.float64))
def set_line(table: Any, t: float) -> Any:
    """Set the interpolated inputs to their values at `t`."""
    row, width = table[ROW], table[INPUT_WIDTH]
    times = doubles(table[TIMES], row + 2)
    values = doubles(table[INPUT_VALUES], (row + 2) * width)
    work = doubles(table[INPUT_WORK], width)
    share = (t - times[row]) / (times[row + 1] - times[row])
    for k in range(width):
        before, after = values[row * width + k], values[(row + 1) * width + k]
        work[k] = before + share * (after - before) if share < 1.0 else after
    references, count, address = table[INPUT_REFERENCES], table[INPUT_COUNT], table[INPUT_WORK]
    if table[VERSION] == 3:
        status = call_fmu(table[SET_INPUTS], (table[COMPONENT], references, count, address, width))
    else:
        status = call_fmu(table[SET_INPUTS], (table[COMPONENT], references, count, address))
    return note(table, SET_INPUTS, status)


@compiled_as(types.int64(TABLE, VECTOR))
def update(table: Any, reals: Any) -> Any:
    """Iterate the discrete states; return why to stop, -1 to continue, -2: new nominal values."""
    info = table[INFO]
    nominals = False
    for _ in range(MOST_ITERATIONS):
        if table[VERSION] == 3:
            status = call_fmu(
                table[UPDATE],
                (table[COMPONENT], info, info + 1, info + 2, info + 3, info + 4, info + 24),
            )
            flags = carray(as_pointer(info), (5,), np.uint8)
            again, ends = flags[0] != 0, flags[1] != 0
            nominals |= flags[2] != 0
            timed = flags[4] != 0
        else:
            status = call_fmu(table[UPDATE], (table[COMPONENT], info))
            words = carray(as_pointer(info), (5,), np.int32)
            again, ends = words[0] != 0, words[1] != 0
            nominals |= words[2] != 0
            timed = words[4] != 0
        if note(table, UPDATE, status) != 0:
            return CALL
        if ends:
            return TERMINATED
        if not again:
            reals[NEXT_EVENT] = doubles(info + 24, 1)[0] if timed else np.inf
            return -2 if nominals else -1
    return UNSETTLED
