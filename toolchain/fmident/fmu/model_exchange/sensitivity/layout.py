"""Data that compiled sensitivities share with Python, and evaluation of instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.native_code.native import as_pointer, call_fmu, carray, compiled, doubles
from fmident.fmu.native_code.program import COMPONENT

(
    STATES, KNOWNS, MEMBERS, TABLES, FIRST, OFFSETS, WEIGHTS, SENSITIVITIES, LARGEST, FLOORS,
    SIZES, NOMINALS, POINT, SHIFTED, VALUES, OTHER, MATRICES, FORCES, RATES, BIG, SMALL, RIGHT,
    KEPT, REALS, MAIN, VECTOR, VECTOR_DATA, DIRECTIONAL, COLOURS, COLOUR_COUNT, PATTERN,
    SUBSTEPS, FAILED_MEMBER, WHY, WIDTH, GETTER, REFERENCES, REFERENCE_COUNT, OUTPUTS, PLACES,
    DERIVATIVES, STEPS_SEEN, INDICATORS, TRACKED, OLD, WHICH,
    AWAY, BEFORE, MIDDLE, AFTER, SWING, FOLLOWED, BASE,
    FACTORS, LIMITS, UNRESOLVED, SIZE,
) = range(57)  # fmt: skip
"""Elements of the table of a run with sensitivities: sizes, addresses, what happened."""

NEXT_SIZE, ALLOWED, RELATIVE, AT, LIMIT, BENT, REALS_SIZE = range(7)
"""Reals: the next step size, s; what the error estimate may be, of the largest values; relative
tolerance; when something was found, s; what second differences may be of first ones, and what one
was that is more."""

FAILED_CALL, NOT_FINITE, TOO_SMALL, LIES, TOUCHED, JUMPS, ROUGH, KINK = range(1, 9)
"""Why it stopped."""

MOST_SUBSTEPS = 20_000
"""Of one step of the integrator."""

SHIFT = 6e-6
"""Relative step of central differences with respect to states: the cube root of 2^-52."""


@compiled
def whole(address: int, size: int) -> Any:
    """Return the memory at an address as an array of integers, shape (size,)."""
    return carray(as_pointer(address), (size,), np.int64)


@compiled
def member_table(head: Any, member: int) -> Any:
    """Return the table of an instance; 0 is the unshifted one."""
    return whole(head[TABLES] + 8 * loop.SIZE * member, loop.SIZE)


@compiled
def value(head: Any, member: int, t: float, states: int, result: int) -> Any:
    """Write the state derivatives of an instance to an address."""
    table, n = member_table(head, member), head[STATES]
    status = place(table, t, states)
    if status == 0:
        status = call_fmu(table[loop.GET_DERIVATIVES], (table[COMPONENT], result, n))
        if status == 1:
            status = 0
    if status != 0:
        head[FAILED_MEMBER] = member
        head[WHY] = FAILED_CALL
        return status
    derivatives = doubles(result, n)
    for i in range(n):
        if not np.isfinite(derivatives[i]):
            head[FAILED_MEMBER] = member
            head[WHY] = NOT_FINITE
            return -1
    return 0


@compiled
def point_at(head: Any, t: float, end: float) -> Any:
    """Write the states at time `t` of the step that ends at `end` to POINT."""
    n, main = head[STATES], whole(head[MAIN], loop.SIZE)
    point = doubles(head[POINT], n)
    if t == end:
        point[:] = doubles(main[loop.VECTOR_DATA], n)
        return 0
    status = call_fmu(main[loop.DENSE], (main[loop.MEMORY], t, np.int32(0), head[VECTOR]))
    if status != 0:
        head[WHY] = NOT_FINITE
        return -1
    point[:] = doubles(head[VECTOR_DATA], n)
    return 0


@compiled
def shift(head: Any, known: int, amount: float) -> None:
    """Write the states, shifted along a column of the sensitivities, to SHIFTED."""
    n, main = head[STATES], whole(head[MAIN], loop.SIZE)
    x, shifted = doubles(main[loop.VECTOR_DATA], n), doubles(head[SHIFTED], n)
    column = doubles(head[SENSITIVITIES] + 8 * n * known, n)
    for i in range(n):
        shifted[i] = x[i] + amount * column[i]


@compiled
def bent(low: float, middle: float, high: float, size: float) -> float:
    """Return a second difference relative to the first; 0 if it is only rounding."""
    bend = abs(low - 2.0 * middle + high)
    if bend <= 1e3 * 2.2e-16 * size:
        return 0.0
    return float(bend / max(abs(high - low), 1e-300))
