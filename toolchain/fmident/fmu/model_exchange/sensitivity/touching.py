"""Event indicators that come close to zero and turn back, so that an event is doubtful."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.layout import (
    AT,
    FAILED_CALL,
    FAILED_MEMBER,
    INDICATORS,
    NOMINALS,
    OLD,
    POINT,
    REALS,
    RELATIVE,
    SHIFTED,
    SIZES,
    STATES,
    TOUCHED,
    TRACKED,
    VALUES,
    WHICH,
    WHY,
    member_table,
    point_at,
    value,
)  # fmt: skip
from fmident.fmu.native_code.native import call_fmu, compiled, doubles
from fmident.fmu.native_code.program import COMPONENT

_GOLDEN = 0.6180339887498949


@compiled
def _indicators(head: Any, t: float, states: int, result: int) -> Any:
    """Write the event indicators for given states to an address."""
    table = member_table(head, 0)
    status = place(table, t, states)
    if status == 0:
        count = head[INDICATORS]
        status = call_fmu(table[loop.GET_INDICATORS], (table[COMPONENT], result, count))
    if status != 0 and status != 1:
        head[FAILED_MEMBER], head[WHY] = 0, FAILED_CALL
        return status
    return 0


@compiled
def _with_rates(head: Any, t: float, short: float, result: int) -> Any:
    """Write indicators at the states in POINT, followed by their rates."""
    n, count = head[STATES], head[INDICATORS]
    point, later = doubles(head[POINT], n), doubles(head[SHIFTED], n)
    status = value(head, 0, t, head[POINT], head[VALUES])
    slope = doubles(head[VALUES], n)
    if status == 0:
        status = _indicators(head, t, head[POINT], result)
    for i in range(n):
        later[i] = point[i] + short * slope[i]
    if status == 0:
        status = _indicators(head, t + short, head[SHIFTED], result + 8 * count)
    values = doubles(result, 2 * count)
    for k in range(count):
        values[count + k] = (values[count + k] - values[k]) / short
    return status


@compiled
def _least(head: Any, t: float, end: float, which: int, scratch: int) -> Any:
    """Write the states where an indicator is closest to zero to POINT; return the time."""
    count = head[INDICATORS]
    indicators = doubles(scratch, count)
    low, high = t, end
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = -1.0, -1.0
    for _ in range(48):
        if at_left < 0.0:
            if point_at(head, left, end) != 0 or _indicators(head, left, head[POINT], scratch) != 0:
                return np.nan
            at_left = abs(indicators[which])
        if at_right < 0.0:
            if (
                point_at(head, right, end) != 0
                or _indicators(head, right, head[POINT], scratch) != 0
            ):
                return np.nan
            at_right = abs(indicators[which])
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left, at_left = high - _GOLDEN * (high - low), -1.0
        else:
            low, left, at_left = left, right, at_right
            right, at_right = low + _GOLDEN * (high - low), -1.0
    middle = 0.5 * (low + high)
    if point_at(head, middle, end) != 0:
        return np.nan
    return middle


@compiled
def doubt_of(head: Any, t: float, which: int, scratch: int) -> Any:
    """Return the change of an indicator within the permitted error of the states in POINT."""
    n, count = head[STATES], head[INDICATORS]
    point, away = doubles(head[POINT], n), doubles(head[SHIFTED], n)
    sizes, nominals = doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    indicators = doubles(scratch, count)
    if _indicators(head, t, head[POINT], scratch) != 0:
        return np.nan
    base, total = indicators[which], 0.0
    for j in range(n):
        for i in range(n):
            away[i] = point[i]
        scale = max(sizes[j], nominals[j])
        away[j] += 1e-6 * scale
        if _indicators(head, t, head[SHIFTED], scratch) != 0:
            return np.nan
        total += abs(indicators[which] - base) / 1e-6
    return total * doubles(head[REALS], RELATIVE + 1)[RELATIVE]


@compiled
def touches(head: Any, t: float, end: float) -> Any:
    """Refuse a step in which an indicator turns back within the integrator's error of zero."""
    count = head[INDICATORS]
    if count == 0:
        return 0
    old, new, scratch = head[OLD], head[OLD] + 16 * count, head[OLD] + 32 * count
    before, after = doubles(old, 2 * count), doubles(new, 2 * count)
    short = 1e-4 * (end - t)
    if head[TRACKED] == 0:
        if point_at(head, t, end) != 0 or _with_rates(head, t, short, old) != 0:
            return 1
        head[TRACKED] = 1
    if point_at(head, end, end) != 0 or _with_rates(head, end, short, new) != 0:
        return 1
    for k in range(count):
        z0, z1 = before[k], after[k]
        r0, r1 = before[count + k], after[count + k]
        if z0 * z1 <= 0.0 or r0 * z0 >= 0.0 or r1 * z1 <= 0.0:
            continue
        if min(abs(z0), abs(z1)) > max(abs(r0), abs(r1)) * (end - t):
            continue  # it cannot come near to zero
        at = _least(head, t, end, k, scratch)
        doubt = doubt_of(head, at, k, scratch)
        if not np.isfinite(doubt):
            return 1
        if _indicators(head, at, head[POINT], scratch) != 0:
            return 1
        least, most = abs(doubles(scratch, count)[k]), max(abs(z0), abs(z1))
        if least < doubt and most - least > 1e-3 * doubt:
            head[WHY], head[WHICH] = TOUCHED, k
            doubles(head[REALS], AT + 1)[AT] = at
            return 1
    for k in range(2 * count):
        before[k] = after[k]
    return 0
