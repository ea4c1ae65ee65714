"""Jumps of state derivatives without an event announced by the FMU.

An integrator passes them with tiny steps, but the variational equation misses their
contribution to the sensitivities.
"""

from __future__ import annotations

from typing import Any

from fmident.fmu.model_exchange.sensitivity.layout import (
    AFTER,
    AT,
    BEFORE,
    FOLLOWED,
    JUMPS,
    MIDDLE,
    NOMINALS,
    POINT,
    REALS,
    RELATIVE,
    SIZES,
    STATES,
    SWING,
    WHICH,
    WHY,
    point_at,
    value,
)  # fmt: skip
from fmident.fmu.native_code.native import compiled, doubles

_SHORT = 100.0  # tolerances that the jump, times the step, is worth at most
_LARGE = 0.02  # of the largest value so far: smaller jumps are not looked for
_BENT = 0.35  # of the change: how far the middle is from the mean; half of it at a jump


@compiled
def _slope_at(head: Any, t: float, end: float, place: int) -> Any:
    status = point_at(head, t, end)
    return value(head, 0, t, head[POINT], head[place]) if status == 0 else status


@compiled
def jumps(head: Any, t: float, end: float) -> Any:
    """Refuse a step in which the derivative of a state jumps; return 0 otherwise."""
    n = head[STATES]
    before, middle, after = (
        doubles(head[BEFORE], n), doubles(head[MIDDLE], n), doubles(head[AFTER], n),
    )  # fmt: skip
    if head[FOLLOWED] == 0:
        if _slope_at(head, t, end, BEFORE) != 0:
            return 1
        head[FOLLOWED] = 1
    if _slope_at(head, end, end, AFTER) != 0:
        return 1
    swing = doubles(head[SWING], n)
    sizes, nominals = doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    known = False
    for i in range(n):
        swing[i] = max(swing[i], max(abs(before[i]), abs(after[i])))
        change = abs(after[i] - before[i])
        worth = _SHORT * doubles(head[REALS], RELATIVE + 1)[RELATIVE] * max(sizes[i], nominals[i])
        if change <= _LARGE * swing[i] or change * (end - t) > worth:
            continue
        if not known:
            if _slope_at(head, t + 0.5 * (end - t), end, MIDDLE) != 0:
                return 1
            known = True
        if abs(middle[i] - 0.5 * (before[i] + after[i])) > _BENT * change:
            head[WHY], head[WHICH] = JUMPS, i
            doubles(head[REALS], AT + 1)[AT] = end
            return 1
    for i in range(n):
        before[i] = after[i]
    return 0
