"""The Jacobian df/dx of the states' derivatives, and whether it is what the FMU says."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.layout import (
    COLOUR_COUNT,
    COLOURS,
    DIRECTIONAL,
    LIES,
    NOMINALS,
    OTHER,
    PATTERN,
    SHIFT,
    SHIFTED,
    SIZES,
    SMALL,
    STATES,
    STEPS_SEEN,
    VALUES,
    WHY,
    member_table,
    value,
    whole,
)  # fmt: skip
from fmident.fmu.native_code.native import call_fmu, compiled, doubles
from fmident.fmu.native_code.program import COMPONENT, VERSION


@compiled
def _by_directions(head: Any, t: float, states: int, matrix: int) -> Any:
    """Write the Jacobian, column by column, by directional derivatives."""
    n, table = head[STATES], member_table(head, 0)
    status = place(table, t, states)
    count, component = table[loop.REFERENCE_COUNT], table[COMPONENT]
    seed = doubles(head[SHIFTED], n)
    for j in range(n):
        if status != 0:
            break
        column = matrix + 8 * n * j
        seed[:] = 0.0
        seed[j] = 1.0
        unknowns, knowns = table[loop.DERIVATIVE_REFERENCES], table[loop.STATE_REFERENCES]
        values, known_count, seeds = head[SHIFTED], count, n
        if count == n:
            knowns, values, known_count, seeds = knowns + 4 * j, values + 8 * j, 1, 1
        if table[VERSION] == 3:
            sized = (component, unknowns, count, knowns, known_count, values, seeds, column, n)
            status = call_fmu(table[loop.DIRECTIONAL], sized)
        else:
            plain = (component, unknowns, count, knowns, known_count, values, column)
            status = call_fmu(table[loop.DIRECTIONAL], plain)
        status = 0 if status == 1 else status
    if status != 0:
        head[WHY] = LIES  # what does not work is as good as what is wrong
        return status
    found = doubles(matrix, n * n)
    for i in range(n * n):
        if not np.isfinite(found[i]):
            head[WHY] = LIES
            return -1
    return 0


@compiled
def by_differences(head: Any, t: float, states: int, matrix: int, dense: bool) -> Any:
    """Write the Jacobian, column by column, by central differences of groups of columns."""
    n = head[STATES]
    x, shifted, sizes = doubles(states, n), doubles(head[SHIFTED], n), doubles(head[SIZES], n)
    nominals = doubles(head[NOMINALS], n)
    above, below = doubles(head[VALUES], n), doubles(head[OTHER], n)
    colours, pattern = whole(head[COLOURS], n), whole(head[PATTERN], n * n)
    found = doubles(matrix, n * n)
    found[:] = 0.0
    for colour in range(n if dense else head[COLOUR_COUNT]):
        for sign in range(2):
            for j in range(n):
                size = SHIFT * max(sizes[j], abs(x[j]), 1e-3 * nominals[j])
                away = size if (j if dense else colours[j]) == colour else 0.0
                shifted[j] = x[j] + away if sign == 0 else x[j] - away
            status = value(head, 0, t, head[SHIFTED], head[VALUES] if sign == 0 else head[OTHER])
            if status != 0:
                return status
        for j in range(n):
            if (j if dense else colours[j]) == colour:
                size = SHIFT * max(sizes[j], abs(x[j]), 1e-3 * nominals[j])
                width = (x[j] + size) - (x[j] - size)
                for i in range(n):
                    if dense or pattern[i * n + j] != 0:
                        found[n * j + i] = (above[i] - below[i]) / width
    return 0


@compiled
def _tells_the_truth(head: Any, t: float, states: int, matrix: int) -> Any:
    """Whether a Jacobian is that which differences of single columns give, to three digits."""
    n = head[STATES]
    status = by_differences(head, t, states, head[SMALL], True)
    if status != 0:
        return status
    said, seen = doubles(matrix, n * n), doubles(head[SMALL], n * n)
    sizes, nominals = doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    x = doubles(states, n)
    status = value(head, 0, t, states, head[VALUES])
    if status != 0:
        return status
    f = doubles(head[VALUES], n)
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(
                largest, abs(seen[n * j + i]) * max(sizes[j], abs(x[j]), 1e-3 * nominals[j])
            )
        noise = 1e-9 * abs(f[i]) + 1e-3 * largest
        for j in range(n):
            scale = max(sizes[j], abs(x[j]), 1e-3 * nominals[j])
            if abs(said[n * j + i] - seen[n * j + i]) * scale > noise:
                head[WHY] = LIES
                return -1
    return 0


@compiled
def jacobian(head: Any, t: float, states: int, matrix: int) -> Any:
    """Write df/dx at states at an address to another.

    What the FMU says of it, derivatives or dependencies, is checked now and then.
    """
    if head[DIRECTIONAL] != 0:
        status = _by_directions(head, t, states, matrix)
    else:
        status = by_differences(head, t, states, matrix, False)
        if head[COLOUR_COUNT] == head[STATES]:
            return status
    seen = head[STEPS_SEEN]
    head[STEPS_SEEN] = seen + 1
    if status == 0 and seen & (seen - 1) == 0:  # 0, 1, 2, 4, 8, ...
        status = _tells_the_truth(head, t, states, matrix)
    return status
