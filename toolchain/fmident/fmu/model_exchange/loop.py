"""Compiled integration with events: communication steps, and CVODE's callbacks."""

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
    call_address,
    call_fmu,
    callback,
    carray,
    compiled,
    compiled_as,
    doubles,
    run_steps_of,
)  # fmt: skip
from fmident.fmu.native_code.program import (
    CALL,
    CALL_STATUS,
    COMPONENT,
    ENDED,
    ENTER_EVENT,
    EVENTS,
    FAILED_FUNCTION,
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
    VERSION,
    WARNED,
    ZENO,
)  # fmt: skip
from fmident.fmu.native_code.stepping import move, note, set_line, update

# The table of integers after what all loops have: sizes, addresses, what happened.
(
    STATES, INDICATORS, SET_TIME, SET_STATES, GET_DERIVATIVES, GET_INDICATORS, GET_STATES,
    GET_NOMINALS, ENTER_CONTINUOUS, COMPLETED,
    DIRECTIONAL, STATE_REFERENCES, DERIVATIVE_REFERENCES, REFERENCE_COUNT, SEED,
    MEMORY, STATE_VECTOR, VECTOR_DATA, TOLERANCE_VECTOR, TOLERANCE_DATA, RETURNED_TIME,
    CVODE, REINIT, STOP_TIME, TOLERANCES, ARRAY_OF, COLUMN_OF, DENSE, ROOT,
    VARIATIONS, VARY_STEP, VARY_EVENT, VARY_ROW,
    FLAG, STEPS, INTERVAL_STEPS, CLOSE, SHRINKING, SINCE_EVENT, INSIDE, RESTARTS, BUDGET,
    EFFECT, LATE, REPEATED, SIZE,
) = range(SHARED, SHARED + 46)  # fmt: skip

# The table of reals: also last event, gap before it, tolerance; the event that is in doubt, how
# far behind it it is repeated, and when; by how many tolerances the last event moves a state in a
# communication step; the first event that was late, how late, and what that is worth in tolerances;
# the first event that had its effect only when it was repeated.
(
    LAST_EVENT, LAST_GAP, RELATIVE, DOUBTED, DISTANCE, REPEAT, WORTH, LATE_EVENT, LATENESS, ERROR,
    REPEATED_EVENT, REALS,
) = range(2, 14)  # fmt: skip

# Why the loop stopped, after what all loops have.
SOLVER, TOO_MANY, PAUSED, VARIATION, CONTRADICTION = range(OWN, OWN + 5)

NOT_FINITE = -100
"""Status noted for a derivative that is NaN or infinite."""

MOST_STEPS, MOST_EVENTS = 2_000_000, 10_000
"""Integrator steps and events in one communication step."""

_CLOSE_GAP, _MOST_CLOSE = 1e-7, 100  # of a communication step; events in a row
_ROUNDING = 1e-10  # of a communication step: an event that is so near its end is meant to be there
_TINY, _FEW_STEPS = 1e-300, 4  # steps between events that it can hardly tell apart any more
_NEAREST, _FARTHER = 1e-9, 10.0  # of a communication step: how far behind it an event is repeated
MOST_REPEATS = 20
"""Events at one instant because indicators have changed their sides."""

_ANY, _LARGE, _SIDES = 1, 2, 4  # effects of an event, to be added

_CV_ONE_STEP, _CV_ROOT_RETURN = 2, 2


@compiled_as(types.int64(TABLE, types.float64, types.int64))
def place(table: Any, t: float, states: int) -> Any:
    """Set the FMU to time `t` and the states at an address."""
    status = note(table, SET_TIME, call_fmu(table[SET_TIME], (table[COMPONENT], t)))
    if status == 0 and table[INPUT_WIDTH] > 0:
        status = set_line(table, t)
    if status == 0 and table[STATES] > 0:
        status = call_fmu(table[SET_STATES], (table[COMPONENT], states, table[STATES]))
        status = note(table, SET_STATES, status)
    return status


@callback(types.int32(types.float64, types.int64, types.int64, types.int64))
def derivatives(t: float, y: int, ydot: int, user: int) -> int:
    """Right-hand side for CVODE: 0 success, 1 try a smaller step, -1 give up."""
    table = carray(as_pointer(user), (SIZE,), np.int64)
    n = table[STATES]
    result = call_address(table[ARRAY_OF], (ydot,))
    status = place(table, t, call_address(table[ARRAY_OF], (y,)))
    values = doubles(result, max(n, 1))
    if n == 0:
        values[0] = 0.0
    elif status == 0:
        status = call_fmu(table[GET_DERIVATIVES], (table[COMPONENT], result, n))
        status = note(table, GET_DERIVATIVES, status)
    if status == 0:
        for k in range(n):
            if not np.isfinite(values[k]):
                table[FAILED_FUNCTION] = table[GET_DERIVATIVES]
                table[CALL_STATUS] = NOT_FINITE
                return 1
        return 0
    return 1 if status == 2 else -1


@callback(types.int32(types.float64, types.int64, types.int64, types.int64))
def indicators(t: float, y: int, found: int, user: int) -> int:
    """Root functions for CVODE: the FMU's event indicators.

    FMI treats zero as negative, CVODE as neither: it would report a zero on the way up, and
    miss the event after it. At the start of integration, leaving zero does not count as one.
    """
    table = carray(as_pointer(user), (SIZE,), np.int64)
    status = place(table, t, call_address(table[ARRAY_OF], (y,)))
    if status == 0:
        count = table[INDICATORS]
        status = call_fmu(table[GET_INDICATORS], (table[COMPONENT], found, count))
        status = note(table, GET_INDICATORS, status)
        if t != doubles(table[RETURNED_TIME], 2)[1]:
            values = doubles(found, count)
            for k in range(count):
                if values[k] == 0.0:
                    values[k] = -_TINY
    return 0 if status == 0 else -1


@callback(types.int32(types.float64, *(types.int64,) * 7))
def jacobian(t: float, y: int, f: int, matrix: int, user: int, w1: int, w2: int, w3: int) -> int:
    """Jacobian for CVODE, by columns, from the FMU's directional derivatives."""
    table = carray(as_pointer(user), (SIZE,), np.int64)
    status = place(table, t, call_address(table[ARRAY_OF], (y,)))
    n, count, component = table[STATES], table[REFERENCE_COUNT], table[COMPONENT]
    seed = doubles(table[SEED], n)
    for j in range(n):
        if status != 0:
            break
        column = call_address(table[COLUMN_OF], (matrix, j))
        seed[:] = 0.0
        seed[j] = 1.0
        unknowns, knowns = table[DERIVATIVE_REFERENCES], table[STATE_REFERENCES]
        values, known_count, seeds = table[SEED], count, n
        if count == n:  # scalars: one is enough
            knowns, values, known_count, seeds = knowns + 4 * j, values + 8 * j, 1, 1
        if table[VERSION] == 3:
            sized = (component, unknowns, count, knowns, known_count, values, seeds, column, n)
            status = call_fmu(table[DIRECTIONAL], sized)
        else:
            plain = (component, unknowns, count, knowns, known_count, values, column)
            status = call_fmu(table[DIRECTIONAL], plain)
        status = note(table, DIRECTIONAL, status)
    return 0 if status == 0 else 1 if status == 2 else -1


@compiled
def _interval(table: Any) -> Any:
    """Return the length of the present communication step, s."""
    times = doubles(table[TIMES], table[ROW] + 2)
    return times[table[ROW] + 1] - times[table[ROW]]


@compiled
def _effect(table: Any, reals: Any) -> Any:
    """Return the effect of an event on the values stored by :func:`_remember`.

    It is large if states changed, or derivatives so that they move a state within this
    communication step by more than the tolerance. Sign changes of indicators count, since
    the integrator would take them for roots, or miss roots that reverse them.
    """
    n, count, seed = table[STATES], table[INDICATORS], table[SEED]
    after = seed + 8 * (4 * n + count)
    status = 0
    if n > 0:
        status = call_fmu(table[GET_DERIVATIVES], (table[COMPONENT], seed + 24 * n, n))
    if 0 <= status <= 1 and count > 0:
        status = call_fmu(table[GET_INDICATORS], (table[COMPONENT], after, count))
    if status < 0 or status > 1:
        return _ANY + _LARGE
    before = doubles(seed, 4 * n + 2 * count)
    states, allowed = doubles(table[VECTOR_DATA], n), doubles(table[TOLERANCE_DATA], n)
    effect, step, worth = 0, _interval(table), 0.0
    reals[WORTH] = np.inf
    for k in range(n):
        change = abs(before[2 * n + k] - before[3 * n + k])
        if states[k] != before[n + k] or not np.isfinite(change):
            return _ANY + _LARGE
        worth = max(worth, change * step / (allowed[k] + reals[RELATIVE] * abs(states[k])))
    reals[WORTH] = worth
    if worth > 0.0:
        effect = _ANY + _LARGE if worth > 1.0 else _ANY
    for k in range(4 * n, 4 * n + count):
        if (before[k] > 0.0) != (before[k + count] > 0.0):
            effect |= _ANY + _SIDES
    return effect


@compiled
def _remember(table: Any) -> Any:
    """Store states, derivatives and indicators before an event; return success."""
    n, count, seed = table[STATES], table[INDICATORS], table[SEED]
    if table[MEMORY] == 0:
        return False
    memory, states, status = doubles(seed, 4 * n), doubles(table[VECTOR_DATA], n), 0
    for k in range(n):
        memory[n + k] = states[k]
    if n > 0:
        status = call_fmu(table[GET_DERIVATIVES], (table[COMPONENT], seed + 16 * n, n))
    if 0 <= status <= 1 and count > 0:
        status = call_fmu(table[GET_INDICATORS], (table[COMPONENT], seed + 32 * n, count))
    return 0 <= status <= 1


@compiled
def _restart(table: Any, t: float) -> None:
    """Restart the integration."""
    call_fmu(table[REINIT], (table[MEMORY], t, table[STATE_VECTOR]))
    doubles(table[RETURNED_TIME], 2)[1] = t
    table[RESTARTS] += 1


@compiled_as(types.int64(TABLE, VECTOR, types.boolean, types.boolean))
def _resume(table: Any, reals: Any, nominals: bool, known: bool) -> Any:
    """Leave event mode and restart the integration; return why to stop, or -1.

    The integrator keeps its order and step if the event changed no state, derivative or
    sign of an indicator, except at a root: the rest of that step belongs to the old
    equations.
    """
    component, n = table[COMPONENT], table[STATES]
    status = call_fmu(table[ENTER_CONTINUOUS], (component,))
    if note(table, ENTER_CONTINUOUS, status) != 0:
        return CALL
    if n > 0:
        status = call_fmu(table[GET_STATES], (component, table[VECTOR_DATA], n))
        if note(table, GET_STATES, status) != 0:
            return CALL
        if nominals:
            status = call_fmu(table[GET_NOMINALS], (component, table[TOLERANCE_DATA], n))
            if note(table, GET_NOMINALS, status) != 0:
                return CALL
            allowed = doubles(table[TOLERANCE_DATA], n)
            for k in range(n):
                size = abs(allowed[k])
                allowed[k] = reals[RELATIVE] * (size if 0.0 < size < np.inf else 1.0)
            if table[MEMORY] != 0:
                call_fmu(
                    table[TOLERANCES], (table[MEMORY], reals[RELATIVE], table[TOLERANCE_VECTOR])
                )
    table[EFFECT] = _effect(table, reals) if known else _ANY + _LARGE
    if table[MEMORY] != 0 and (table[ROOT] != 0 or nominals or table[EFFECT] != 0):
        _restart(table, reals[TIME])
    return -1


@compiled
def _event(table: Any, reals: Any, program: Any, i: int) -> Any:
    """Handle an event, setting the inputs of `program` in it; return why to stop, or -1."""
    known = _remember(table)
    inputs = np.int32(program.shape[0])
    if table[VARIATIONS] != 0 and call_fmu(table[VARY_EVENT], (np.int32(0), inputs)) != 0:
        return VARIATION
    status = call_fmu(table[ENTER_EVENT], (table[COMPONENT],))
    if note(table, ENTER_EVENT, status) != 0 or move(table, program, i) != 0:
        return CALL
    table[EVENTS] += 1
    outcome = update(table, reals)
    if outcome >= 0:
        return outcome
    outcome = _resume(table, reals, outcome == -2, known)
    table[ROOT] = 0
    if outcome >= 0 or table[VARIATIONS] == 0:
        return outcome
    return -1 if call_fmu(table[VARY_EVENT], (np.int32(1), inputs)) == 0 else VARIATION


@compiled
def _note_repeated(table: Any, reals: Any, time: float) -> None:
    """Record that the event at a time took effect only when repeated."""
    if table[REPEATED] == 0:
        reals[REPEATED_EVENT] = time
    table[REPEATED] += 1


@compiled_as(types.int64(TABLE, VECTOR, PROGRAM, types.int64))
def handle(table: Any, reals: Any, program: Any, i: int) -> Any:
    """Handle an event, setting the inputs of `program` in it; return why to stop, or -1.

    If only signs of indicators changed, the FMU may not have evaluated a relation since; it
    is repeated until all signs stay.
    """
    outcome, effect = _event(table, reals, program, i), table[EFFECT]
    turns, worth = 0, reals[WORTH]
    while outcome < 0 and table[EFFECT] & _SIDES != 0 and table[VARIATIONS] == 0:
        if turns == MOST_REPEATS:
            return CONTRADICTION
        turns += 1
        outcome = _event(table, reals, program[:0], 0)
        if table[EFFECT] & _LARGE != 0:
            _note_repeated(table, reals, reals[TIME])
        effect |= table[EFFECT]
        worth = max(worth, reals[WORTH])
    table[EFFECT], reals[WORTH] = effect, worth
    return outcome


@compiled
def _repeat(table: Any, reals: Any, root: bool, step: float, final: float) -> None:
    """Decide when to repeat the handled event, if ever.

    At a root an FMU with iteratively solved equations may find that its relation does not
    hold yet, and then never evaluate it again, since the indicator has already changed its
    sign. An event without large effect is therefore repeated at increasing distances, which
    is harmless if it has happened, and at the end of the run, `final`: until then it may be
    late.
    """
    if root:
        reals[DOUBTED], reals[DISTANCE] = reals[TIME], _NEAREST * step
    else:
        lateness = reals[TIME] - reals[DOUBTED]
        error = reals[WORTH] * lateness / step
        if error > 1.0:
            if table[LATE] == 0:
                reals[LATE_EVENT], reals[LATENESS], reals[ERROR] = reals[DOUBTED], lateness, error
            table[LATE] += 1
        if table[EFFECT] & _LARGE != 0:
            _note_repeated(table, reals, reals[DOUBTED])
        reals[DISTANCE] *= _FARTHER
    over = table[EFFECT] & _LARGE != 0 or reals[TIME] >= final or table[VARIATIONS] != 0
    reals[REPEAT] = np.inf if over else min(reals[DOUBTED] + reals[DISTANCE], final)


@compiled_as(START)
def start(table: Any, reals: Any) -> Any:
    """Settle the events of initialisation; the FMU is in event mode."""
    outcome = update(table, reals)
    return _resume(table, reals, True, False) if outcome < 0 else outcome


@compiled
def _accumulates(table: Any, reals: Any, step: float) -> bool:
    """Record an event; return whether events accumulate endlessly."""
    gap = reals[TIME] - reals[LAST_EVENT]
    table[INTERVAL_EVENTS] += 1
    table[CLOSE] = table[CLOSE] + 1 if gap < _CLOSE_GAP * step else 0
    table[SHRINKING] = table[SHRINKING] + 1 if gap < reals[LAST_GAP] else 0
    # Gaps that shrink like a geometric series, down to the integrator's first steps. (Those
    # of a shaft that speeds up shrink ever less: ratios 0.94 after 8 events, 0.97 after 20.)
    ratio, row = gap / reals[LAST_GAP], table[SHRINKING]
    geometric = (row >= 8 and ratio < 0.9) or (row >= 20 and ratio < 0.95)
    hasty = geometric and table[SINCE_EVENT] <= _FEW_STEPS
    table[SINCE_EVENT] = 0
    reals[LAST_EVENT] = reals[TIME]
    reals[LAST_GAP] = gap
    return bool(hasty or table[INTERVAL_EVENTS] > MOST_EVENTS or table[CLOSE] > _MOST_CLOSE)


@compiled
def _follow_up(table: Any, reals: Any, root: bool, timed: bool, step: float, final: float) -> bool:
    """Decide what follows an event; return whether events accumulate endlessly."""
    if root or not timed:
        _repeat(table, reals, root, step, final)
    return bool((root or timed) and _accumulates(table, reals, step))


@compiled
def _integrate(table: Any, reals: Any, stop: float) -> Any:
    """Take one step of the integrator, not beyond `stop`; return CVODE's flag."""
    t = reals[TIME]
    if table[MEMORY] == 0 or stop - t <= 1e-14 * max(abs(t), abs(stop)):
        reals[TIME] = stop  # nothing to integrate, or nothing that changes in so short a time
        return 0
    returned = doubles(table[RETURNED_TIME], 2)
    if call_fmu(table[STOP_TIME], (table[MEMORY], stop)) != 0:
        # An event that changed nothing else brought a time event nearer than the end of the
        # step within which the integrator had found it: the rest of that step is not used.
        _restart(table, t)
        call_fmu(table[STOP_TIME], (table[MEMORY], stop))
    flag = call_fmu(
        table[CVODE],
        (table[MEMORY], stop, table[STATE_VECTOR], table[RETURNED_TIME], np.int32(_CV_ONE_STEP)),
    )
    if flag >= 0:
        # CVODE may miss its stop by rounding.
        close = abs(returned[0] - stop) <= 1e-14 * max(abs(t), abs(stop))
        reals[TIME] = stop if close else returned[0]
    return int(flag)


@compiled
def _completed(table: Any) -> Any:
    """Report a completed step to the FMU: -1 continue, -2 event mode, else why to stop."""
    if table[COMPLETED] == 0:
        return -1
    info = table[INFO]
    flags = carray(as_pointer(info), (2,), np.int32)
    flags[:] = 0
    status = call_fmu(table[COMPLETED], (table[COMPONENT], np.int32(1), info, info + 4))
    if note(table, COMPLETED, status) != 0:
        return CALL
    # FMI 3.0 writes one byte, FMI 2.0 four: both are zero or not.
    if flags[1] != 0:
        return TERMINATED
    return -2 if flags[0] != 0 else -1


@compiled
def _vary(table: Any, before: float, now: float) -> bool:
    """Integrate sensitivities over a completed step; return success."""
    variations = table[VARIATIONS]
    return bool(variations == 0 or call_fmu(table[VARY_STEP], (variations, before, now)) == 0)


@compiled
def _record(table: Any, record: Any, t: float, i: int) -> Any:
    """Record outputs and their derivatives after step `i`; return why to stop, or -1."""
    if move(table, record, i) != 0:
        return CALL
    variations = table[VARIATIONS]
    if variations != 0 and call_fmu(table[VARY_ROW], (variations, t, i + 1)) != 0:
        return VARIATION
    return -1


@compiled
def _advance(table: Any, reals: Any, nothing: Any, begin: float, end: float, final: float) -> Any:
    """Integrate from the present time to `end` with all events; return why to stop, or -1."""
    near = _ROUNDING * (end - begin)
    while reals[TIME] < end:
        due = end if abs(reals[NEXT_EVENT] - end) <= near else reals[NEXT_EVENT]
        stop = min(end, due, reals[REPEAT])
        event = stop <= reals[TIME]
        if not event:
            if table[BUDGET] == 0:
                return PAUSED
            table[BUDGET] -= 1
            table[STEPS] += 1
            table[INTERVAL_STEPS] += 1
            table[SINCE_EVENT] += 1
            before = reals[TIME]
            flag = _integrate(table, reals, stop)
            if flag < 0:
                table[FLAG] = flag
                return SOLVER
            table[ROOT] = 1 if flag == _CV_ROOT_RETURN else 0
            if not _vary(table, before, reals[TIME]):
                return VARIATION
            if table[INTERVAL_STEPS] > MOST_STEPS:
                return TOO_MANY
            if place(table, reals[TIME], table[VECTOR_DATA]) != 0:
                return CALL
            outcome = _completed(table)
            if outcome >= 0:
                return outcome
            event = flag == _CV_ROOT_RETURN or reals[TIME] >= min(due, reals[REPEAT])
            if outcome == -2 and not event:  # the FMU wants one, but not for ever: time goes on
                outcome = handle(table, reals, nothing, 0)
                if outcome >= 0:
                    return outcome
        if event:
            root, timed = table[ROOT] != 0, reals[TIME] >= due
            outcome = handle(table, reals, nothing, 0)
            if outcome >= 0:
                return outcome
            if _follow_up(table, reals, root, timed, end - begin, final):
                return ZENO
    return -1


@compiled_as(run_steps_of(3))
def run_steps(
    table: Any,
    reals: Any,
    times: Any,
    between: Any,
    jump: Any,
    record: Any,
    jumps: Any,
    begin: int,
    end: int,
    state: Any,
) -> bool:
    """Run communication steps `begin` to `end`; step i leads from times[i] to times[i + 1].

    The programs set inputs `between` instants if held at a mean, all inputs at an instant
    where they `jump` (see `jumps`), and `record` outputs. `state` is int64, shape (4,), see
    :mod:`fmident.fmu.native_code.program`; element 0 is why it stopped. After a pause, when
    the steps in ``table[BUDGET]`` are used up, the same call continues. Returns success.
    """
    nothing = between[:0]
    for i in range(begin, end):
        state[1] = i
        outcome = -1
        if table[INSIDE] == 0:
            table[ROW] = i
            table[INTERVAL_STEPS] = table[INTERVAL_EVENTS] = 0
            table[WARNED] = 0
            if between.shape[0] > 0:
                outcome = handle(table, reals, between, i)
            table[INSIDE] = 1
        if outcome < 0:
            final = times[times.size - 1]
            outcome = _advance(table, reals, nothing, times[i], times[i + 1], final)
        if outcome < 0 and jumps[i + 1]:
            outcome = handle(table, reals, jump, i)
        if outcome == TERMINATED and reals[TIME] >= times[times.size - 1]:
            outcome = -1  # it ends where the run does: no failure
            table[ENDED] = 1
        if outcome < 0:
            outcome = _record(table, record, reals[TIME], i)
        if outcome >= 0:
            state[0] = outcome
            state[1] = i
            state[2] = table[CALL_STATUS]
            return False
        state[3] += table[WARNED]
        table[INSIDE] = 0
    return True
