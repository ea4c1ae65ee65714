"""Jacobian df/dx of the state derivatives, and checks of the FMU's information on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.layout import (
    AWAY,
    BASE,
    COLOUR_COUNT,
    COLOURS,
    DIRECTIONAL,
    FACTORS,
    KINK,
    LIES,
    LIMIT,
    NOMINALS,
    OTHER,
    PATTERN,
    REALS,
    SHIFT,
    SHIFTED,
    SIZES,
    SMALL,
    STATES,
    STEPS_SEEN,
    SWING,
    UNRESOLVED,
    VALUES,
    WHY,
    bent,
    member_table,
    value,
    whole,
)  # fmt: skip
from fmident.fmu.native_code.native import call_fmu, compiled, doubles
from fmident.fmu.native_code.program import COMPONENT, VERSION

_MOST_KINKS = 24
"""Evaluations one after the other in which a derivative has a kink in a state."""


@compiled
def _by_directions(head: Any, t: float, states: int, matrix: int) -> Any:
    """Write the Jacobian, by columns, using directional derivatives."""
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
    elements = doubles(matrix, n * n)
    for i in range(n * n):
        if not np.isfinite(elements[i]):
            head[WHY] = LIES
            return -1
    return 0


@compiled
def _sizes(head: Any, states: int) -> None:
    """Write the shift of each state to AWAY."""
    n = head[STATES]
    x, sizes, nominals = doubles(states, n), doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    away, factors = doubles(head[AWAY], n), doubles(head[FACTORS], n)
    for j in range(n):
        size = max(max(sizes[j], abs(x[j])), 1e-3 * nominals[j])
        away[j] = max(SHIFT * factors[j], 1e-12) * size


@compiled
def _both_sides(head: Any, t: float, states: int, colour: int, every: bool) -> Any:
    """Write derivatives with the states of a colour shifted up and down to VALUES and OTHER."""
    n = head[STATES]
    x, shifted, away = doubles(states, n), doubles(head[SHIFTED], n), doubles(head[AWAY], n)
    colours = whole(head[COLOURS], n)
    for sign in range(2):
        for j in range(n):
            here = j == colour if every else colours[j] == colour
            move = away[j] if here else 0.0
            shifted[j] = x[j] + move if sign == 0 else x[j] - move
        place = head[VALUES] if sign == 0 else head[OTHER]
        status = value(head, 0, t, head[SHIFTED], place)
        if status != 0:
            return status
    return 0


@compiled
def _bent(head: Any) -> float:
    """Return the largest second difference of VALUES, BASE and OTHER, relative to the first."""
    n, worst = head[STATES], 0.0
    above, below = doubles(head[VALUES], n), doubles(head[OTHER], n)
    base, swing = doubles(head[BASE], n), doubles(head[SWING], n)
    for i in range(n):
        size = max(swing[i], abs(base[i]))
        worst = max(worst, bent(below[i], base[i], above[i], size))
    return worst


@compiled
def _scale(head: Any, colour: int, every: bool, factor: float) -> None:
    n = head[STATES]
    factors, colours = doubles(head[FACTORS], n), whole(head[COLOURS], n)
    for j in range(n):
        if j == colour if every else colours[j] == colour:
            factors[j] = min(factors[j] * factor, 1.0)


@compiled
def _fitting(head: Any, t: float, states: int, colour: int, every: bool) -> Any:
    """Compute differences over a distance in which the derivatives are nearly linear."""
    limit, last = doubles(head[REALS], LIMIT + 1)[LIMIT], np.inf
    for attempt in range(14):
        _sizes(head, states)
        status = _both_sides(head, t, states, colour, every)
        if status != 0:
            return status
        ratio = _bent(head)
        if ratio <= limit:
            if attempt == 0:
                _scale(head, colour, every, 1.1)
            return 0
        if ratio > 2.0 * last:  # rounding: the distance before was better
            _scale(head, colour, every, 1.0 / 0.3)
            _sizes(head, states)
            return _both_sides(head, t, states, colour, every)
        last = ratio
        _scale(head, colour, every, 0.3)
    head[UNRESOLVED] += 1 if last > 0.1 else 0
    _sizes(head, states)
    return _both_sides(head, t, states, colour, every)


@compiled
def by_differences(head: Any, t: float, states: int, matrix: int, dense: bool) -> Any:
    """Write the Jacobian, by columns, using central differences of groups around BASE."""
    n = head[STATES]
    x, away = doubles(states, n), doubles(head[AWAY], n)
    above, below = doubles(head[VALUES], n), doubles(head[OTHER], n)
    colours, pattern = whole(head[COLOURS], n), whole(head[PATTERN], n * n)
    elements = doubles(matrix, n * n)
    every = dense or head[COLOUR_COUNT] == n
    unresolved = head[UNRESOLVED]
    for colour in range(n if every else head[COLOUR_COUNT]):
        status = _fitting(head, t, states, colour, every)
        if status != 0:
            return status
        for j in range(n):
            if j == colour if every else colours[j] == colour:
                inverse = 1.0 / ((x[j] + away[j]) - (x[j] - away[j]))
                for i in range(n):
                    depends = dense or pattern[i * n + j] != 0
                    elements[n * j + i] = (above[i] - below[i]) * inverse if depends else 0.0
    if head[UNRESOLVED] == unresolved:
        head[UNRESOLVED] = 0
    elif head[UNRESOLVED] > _MOST_KINKS:
        head[WHY] = KINK
        return -1
    return 0


@compiled
def _tells_the_truth(head: Any, t: float, states: int, matrix: int) -> Any:
    """Return whether a Jacobian agrees with differences of single columns to three digits."""
    n = head[STATES]
    status = by_differences(head, t, states, head[SMALL], True)
    if status != 0:
        return status
    elements, seen, away = (
        doubles(matrix, n * n),
        doubles(head[SMALL], n * n),
        doubles(head[AWAY], n),
    )
    f = doubles(head[BASE], n)
    for i in range(n):
        largest = 0.0
        for j in range(n):
            largest = max(largest, abs(seen[n * j + i]) * away[j])
        noise = 1e-9 * SHIFT * abs(f[i]) + 1e-3 * largest
        for j in range(n):
            if abs(elements[n * j + i] - seen[n * j + i]) * away[j] > noise:
                head[WHY] = LIES
                return -1
    return 0


@compiled
def jacobian(head: Any, t: float, states: int, matrix: int) -> Any:
    """Write df/dx for the states at one address to another; BASE has the derivatives there.

    The FMU's derivatives or dependencies are checked occasionally.
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
