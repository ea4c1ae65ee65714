"""Compiled communication loop of FMI 3.0 Co-Simulation, with early return and events."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from fmident.fmu.native_code.native import (
    PROGRAM,
    START,
    TABLE,
    VECTOR,
    as_pointer,
    call_fmu,
    callback,
    carray,
    compiled,
    compiled_as,
    doubles,
    read_state,
    run_steps_of,
    standard_state,
    write_state,
)
from fmident.fmu.native_code.program import (
    CALL,
    CALL_STATUS,
    COMPONENT,
    ENDED,
    ENTER_EVENT,
    EVENTS,
    INFO,
    INPUT_WIDTH,
    INTERVAL_EVENTS,
    NEXT_EVENT,
    OWN,
    ROW,
    SHARED,
    TERMINATED,
    TIME,
    TIMES,
    WARNED,
    ZENO,
)  # fmt: skip
from fmident.fmu.native_code.stepping import move, note, set_line, update

# The table of integers after what all loops have: addresses, sizes, what happened.
DO_STEP, ENTER_STEP, EVENT_MODE, VARIABLE_STEP, STALLED, EARLY_RETURNS, SIZE = range(
    SHARED, SHARED + 7
)

# The table of reals: also what an early return said.
RETURNED, REALS = range(2, 4)

# Why the loop stopped, after what all loops have.
WRONG_TIME, FIXED_STEP, UNASKED = range(OWN, OWN + 3)

MOST_EVENTS = 10_000
"""Events in one communication step."""

MOST_STALLED = 100
"""Events or early returns in a row without progress."""

ROUNDING = 4e-16
"""Of an instant: the FMU adds the size of the step to its beginning."""


@compiled_as(types.void(types.int64, types.float64, types.uint8, types.int64))
def _lines(user: int, t: float, wanted: int, early: int) -> None:
    """Do the same as :func:`intermediate` in the standard floating-point state."""
    if early != 0:
        carray(as_pointer(early), (1,), np.uint8)[0] = 0
    table = carray(as_pointer(user), (SIZE,), np.int64)
    if wanted == 0 or table[INPUT_WIDTH] == 0:
        return
    end = doubles(table[TIMES], table[ROW] + 2)[table[ROW] + 1]
    set_line(table, end if abs(end - t) <= ROUNDING * max(abs(end), abs(t)) else t)


@callback(
    types.void(
        types.int64, types.float64, types.uint8, types.uint8, types.uint8, types.uint8,
        types.int64, types.int64,
    )
)  # fmt: skip
def intermediate(
    user: int, t: float, wanted: int, readable: int, done: int, able: int, early: int, until: int
) -> None:
    """Set interpolated inputs when the FMU requests them within a step."""
    state = read_state()  # the FMU's own, to which this returns
    standard_state()
    _lines(user, t, wanted, early)
    write_state(state)


@compiled_as(START)
def start(table: Any, reals: Any) -> Any:
    """Settle an event and enter step mode; return why to stop, or -1."""
    outcome = update(table, reals)
    if outcome >= 0:
        return outcome
    status = call_fmu(table[ENTER_STEP], (table[COMPONENT],))
    return CALL if note(table, ENTER_STEP, status) != 0 else -1


@compiled_as(types.int64(TABLE, VECTOR, PROGRAM, types.int64))
def _event(table: Any, reals: Any, program: Any, i: int) -> Any:
    """Handle an event, setting the inputs of `program` in it; return why to stop, or -1."""
    status = call_fmu(table[ENTER_EVENT], (table[COMPONENT],))
    if note(table, ENTER_EVENT, status) != 0 or move(table, program, i) != 0:
        return CALL
    table[EVENTS] += 1
    return start(table, reals)


@compiled
def _step(table: Any, reals: Any, stop: float) -> Any:
    """Call fmi3DoStep once; return why to stop, -1 to continue, -2 for an event."""
    t, info = reals[TIME], table[INFO]
    flags = carray(as_pointer(info), (3,), np.uint8)
    flags[:] = 0
    status = call_fmu(
        table[DO_STEP],
        (table[COMPONENT], t, stop - t, np.int32(1), info, info + 1, info + 2, info + 8),
    )
    if note(table, DO_STEP, status) != 0:
        return CALL
    if flags[2] != 0:
        returned = doubles(info + 8, 1)[0]
        reals[RETURNED] = returned
        close = 1e-12 * max(abs(t), abs(stop))
        if not t - close <= returned <= stop + close:
            return WRONG_TIME
        reals[TIME] = min(max(returned, t), stop)
        table[EARLY_RETURNS] += 1
    else:
        reals[TIME] = stop
    if flags[1] != 0:
        return TERMINATED
    if flags[0] != 0:
        return -2 if table[EVENT_MODE] != 0 else UNASKED
    return -1


@compiled
def _advance(table: Any, reals: Any, nothing: Any, end: float) -> Any:
    """Step to `end` with all events on the way; return why to stop, or -1."""
    while reals[TIME] < end:
        t, stop = reals[TIME], end
        if table[VARIABLE_STEP] != 0 and t < reals[NEXT_EVENT] < end:
            stop = reals[NEXT_EVENT]
        outcome = _step(table, reals, stop)
        if outcome >= 0:
            return outcome
        if outcome == -2 or (table[EVENT_MODE] != 0 and reals[TIME] >= reals[NEXT_EVENT]):
            outcome = _event(table, reals, nothing, 0)
            if outcome >= 0:
                return outcome
            table[INTERVAL_EVENTS] += 1
        table[STALLED] = table[STALLED] + 1 if reals[TIME] <= t else 0
        if table[STALLED] > MOST_STALLED or table[INTERVAL_EVENTS] > MOST_EVENTS:
            return ZENO
        if reals[TIME] < end and table[VARIABLE_STEP] == 0:
            return FIXED_STEP
    return -1


@compiled_as(run_steps_of(4))
def run_steps(
    table: Any,
    reals: Any,
    times: Any,
    before: Any,
    jump: Any,
    after: Any,
    record: Any,
    jumps: Any,
    begin: int,
    end: int,
    state: Any,
) -> bool:
    """Run communication steps `begin` to `end`; step i leads from times[i] to times[i + 1].

    The programs set inputs `before` a step (in event mode if available), inputs that `jump`
    in event mode (only at instants in `jumps`), and inputs `after` a step, and `record`
    outputs. `state` is int64, shape (4,), see :mod:`fmident.fmu.native_code.program`;
    element 0 is why it stopped. Returns success.
    """
    nothing = before[:0]
    for i in range(begin, end):
        state[1] = table[ROW] = i
        table[WARNED] = table[INTERVAL_EVENTS] = 0
        reals[TIME] = times[i]
        outcome = -1
        if table[EVENT_MODE] != 0 and before.shape[0] > 0:
            outcome = _event(table, reals, before, i)
        elif move(table, before, i) != 0:
            outcome = CALL
        if outcome < 0:
            outcome = _advance(table, reals, nothing, times[i + 1])
        # An FMU that requested termination where the run does has not failed.
        last = reals[TIME] >= times[times.size - 1]
        ends = last and outcome == TERMINATED
        if (outcome < 0 or ends) and move(table, after, i) != 0:
            outcome = CALL
        if outcome < 0 and jumps[i + 1]:
            outcome = _event(table, reals, jump, i)
        if last and outcome == TERMINATED:
            outcome = -1
            table[ENDED] = 1
        if outcome < 0 and move(table, record, i) != 0:
            outcome = CALL
        if outcome >= 0:
            state[0] = outcome
            state[1] = i
            state[2] = table[CALL_STATUS]
            return False
        state[3] += table[WARNED]
    return True
