"""The variational equation over one step of the integrator, compiled.

The sensitivities S = dx/dp obey S' = A(t)*S + B(t), A = df/dx and B = df/dp along the trajectory of
CVODE, whose dense output is read and not changed. The equation is linear: the Radau IIA method of
order 5 takes one factorisation for all columns. Steps end where CVODE's do, and are divided where
the sensitivities change faster than the states (Hairer and Wanner, Solving Ordinary Differential
Equations II, section IV.8, for method and error estimate).

The equation misses a jump of the derivatives that the FMU does not announce as an event, which an
integrator passes in a step so short that the jump does not matter to the states. Such jumps are
detected, and their share is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.jacobians import jacobian
from fmident.fmu.model_exchange.sensitivity.layout import (
    AFTER,
    ALLOWED,
    AT,
    BASE,
    BEFORE,
    BENT,
    BIG,
    DERIVATIVES,
    FAILED_CALL,
    FAILED_MEMBER,
    FIRST,
    FLOORS,
    FOLLOWED,
    FORCES,
    GETTER,
    INDICATORS,
    JUMPS,
    KEPT,
    KNOWNS,
    LARGEST,
    LIMITS,
    MAIN,
    MATRICES,
    MEMBERS,
    MIDDLE,
    MOST_SUBSTEPS,
    NEXT_SIZE,
    NOMINALS,
    OFFSETS,
    OLD,
    OTHER,
    OUTPUTS,
    PLACES,
    POINT,
    RATES,
    REALS,
    REFERENCE_COUNT,
    REFERENCES,
    RELATIVE,
    RIGHT,
    ROUGH,
    SENSITIVITIES,
    SHIFT,
    SHIFTED,
    SIZE,
    SIZES,
    SMALL,
    STATES,
    SUBSTEPS,
    SWING,
    TOO_SMALL,
    TOUCHED,
    TRACKED,
    VALUES,
    WEIGHTS,
    WHICH,
    WHY,
    WIDTH,
    bent,
    member_table,
    point_at,
    shift,
    value,
    whole,
)  # fmt: skip  # fmt: skip  # fmt: skip
from fmident.fmu.native_code.native import (
    as_pointer,
    call_fmu,
    callback,
    carray,
    compiled,
    doubles,
)  # fmt: skip
from fmident.fmu.native_code.program import COMPONENT, INFO, ROW, VERSION

_ROOT = 6.0**0.5
_C1, _C2 = (4.0 - _ROOT) / 10.0, (4.0 + _ROOT) / 10.0
_A13, _A23 = (-2.0 + 3.0 * _ROOT) / 225.0, (-2.0 - 3.0 * _ROOT) / 225.0
_A = np.array(
    [
        [
            (88.0 - 7.0 * _ROOT) / 360.0,
            (296.0 - 169.0 * _ROOT) / 1800.0,
            (-2.0 + 3.0 * _ROOT) / 225.0,
        ],
        [
            (296.0 + 169.0 * _ROOT) / 1800.0,
            (88.0 + 7.0 * _ROOT) / 360.0,
            (-2.0 - 3.0 * _ROOT) / 225.0,
        ],
        [(16.0 - _ROOT) / 36.0, (16.0 + _ROOT) / 36.0, 1.0 / 9.0],
    ]
)
_E1, _E2, _E3 = (-13.0 - 7.0 * _ROOT) / 3.0, (-13.0 + 7.0 * _ROOT) / 3.0, -1.0 / 3.0
_MU = 3.0 + 3.0 ** (2.0 / 3.0) - 3.0 ** (1.0 / 3.0)


_SHORT = 100.0  # tolerances that the jump, times the step, is worth at most
_LARGE = 0.02  # of the largest value so far: smaller jumps are not looked for
_BENT = 0.35  # of the change: how far the middle is from the mean; half of it at a jump


_GOLDEN = 0.6180339887498949


@compiled
def _linearise(head: Any, t: float, slot: int) -> Any:
    """Write A and B at the states in POINT to a slot."""
    n, knowns = head[STATES], head[KNOWNS]
    status = value(head, 0, t, head[POINT], head[BASE])
    if status == 0:
        status = jacobian(head, t, head[POINT], head[MATRICES] + 8 * slot * n * n)
    for j in range(knowns):
        if status == 0:
            status = _force(head, t, j, head[FORCES] + 8 * (slot * knowns + j) * n)
    return status


@compiled
def _force(head: Any, t: float, known: int, target: int) -> Any:
    """Write df/dp for one parameter to an address; refuse differences that are too coarse."""
    n = head[STATES]
    forces, found, weights = doubles(target, n), doubles(head[VALUES], n), head[WEIGHTS]
    low, middle, base = doubles(head[OTHER], n), doubles(head[MIDDLE], n), doubles(head[BASE], n)
    first = whole(head[FIRST], known + 2)
    begin, end = first[known], first[known + 1]
    for i in range(n):
        forces[i] = 0.0
        middle[i] = base[i]
    for m in range(begin, end):
        status = value(head, m, t, head[POINT], head[VALUES])
        if status != 0:
            return status
        weight = doubles(weights + 8 * m, 1)[0]
        for i in range(n):
            forces[i] += weight * found[i]
            if m == begin:
                low[i] = found[i]
            elif m < end - 1:
                middle[i] = found[i]
    limit, swing, worst = doubles(head[LIMITS], known + 1)[known], doubles(head[SWING], n), 0.0
    for i in range(n):
        size = max(swing[i], abs(base[i]))
        worst = max(worst, bent(low[i], middle[i], found[i], size))
    if worst > limit:
        head[WHY], head[WHICH] = ROUGH, known
        reals = doubles(head[REALS], BENT + 1)
        reals[BENT], reals[AT] = worst, t
        return -1
    return 0


@compiled
def _rates(head: Any, slot: int) -> None:
    """Write A*S + B of a slot to RATES."""
    n, knowns = head[STATES], head[KNOWNS]
    rates, now = doubles(head[RATES], knowns * n), doubles(head[SENSITIVITIES], knowns * n)
    matrix = doubles(head[MATRICES] + 8 * slot * n * n, n * n)
    forces = doubles(head[FORCES] + 8 * slot * knowns * n, knowns * n)
    for j in range(knowns):
        for i in range(n):
            total = forces[j * n + i]
            for c in range(n):
                total += matrix[n * c + i] * now[j * n + c]
            rates[j * n + i] = total


@compiled
def _try(head: Any, t: float, size: float, end: float) -> Any:
    """Take a step of Radau IIA; return the error relative to what is allowed, or -1.0."""
    if head[KEPT] == 0:
        if point_at(head, t, end) != 0 or _linearise(head, t, 3) != 0:
            return -1.0
        _rates(head, 3)
        head[KEPT] = 1
    for slot in range(3):
        at = t + size * (_C1 if slot == 0 else _C2) if slot < 2 else t + size
        if slot == 2 and end - at <= 1e-12 * size:
            at = end
        if point_at(head, at, end) != 0 or _linearise(head, at, slot) != 0:
            return -1.0
    return _solve_stages(head, size)


@compiled
def _rows(address: int, count: int, width: int) -> Any:
    return carray(as_pointer(address), (count, width), np.float64)


@compiled
def _solve_stages(head: Any, size: float) -> Any:
    """Compute the stages from their A and B; return the error relative to what is allowed."""
    n, knowns = head[STATES], head[KNOWNS]
    wide = 3 * n
    big, slopes = _rows(head[BIG], wide, wide + knowns), _rows(head[RIGHT], wide, knowns)
    now = _rows(head[SENSITIVITIES], knowns, n)
    for s in range(3):
        matrix = _rows(head[MATRICES] + 8 * s * n * n, n, n)  # columns of A are its rows
        forces = _rows(head[FORCES] + 8 * s * n * knowns, knowns, n)
        for i in range(n):
            for r in range(3):
                factor = -size * _A[r, s]
                for j in range(n):
                    big[r * n + i, s * n + j] = factor * matrix[j, i]
            big[s * n + i, s * n + i] += 1.0
            for k in range(knowns):  # slopes at the present sensitivities
                total = forces[k, i]
                for j in range(n):
                    total += matrix[j, i] * now[k, j]
                slopes[s * n + i, k] = total
    for r in range(3):
        a, b, c = size * _A[r, 0], size * _A[r, 1], size * _A[r, 2]
        for i in range(n):
            for k in range(knowns):
                total = a * slopes[i, k] + b * slopes[n + i, k] + c * slopes[2 * n + i, k]
                big[r * n + i, wide + k] = total
    if not eliminate(big, wide, wide + knowns):
        return 1e10
    return _error(head, size)


@compiled
def _error(head: Any, size: float) -> Any:
    """Return the estimated error of the step relative to what is allowed."""
    n, knowns = head[STATES], head[KNOWNS]
    wide = 3 * n
    big, small = _rows(head[BIG], wide, wide + knowns), _rows(head[SMALL], n, n + knowns)
    matrix = _rows(head[MATRICES] + 16 * n * n, n, n)
    rates, now = _rows(head[RATES], knowns, n), _rows(head[SENSITIVITIES], knowns, n)
    largest, floors = _rows(head[LARGEST], knowns, n), _rows(head[FLOORS], knowns, n)
    allowed = doubles(head[REALS], 2)[ALLOWED]
    e1, e2, e3 = _E1 / size, _E2 / size, _E3 / size
    for i in range(n):
        for j in range(n):
            small[i, j] = -matrix[j, i]
        small[i, i] += _MU / size
        for k in range(knowns):
            z1, z2, z3 = big[i, wide + k], big[n + i, wide + k], big[2 * n + i, wide + k]
            small[i, n + k] = rates[k, i] + e1 * z1 + e2 * z2 + e3 * z3
    if not eliminate(small, n, n + knowns):
        return 1e10
    worst = 0.0
    for k in range(knowns):
        for i in range(n):
            error = abs(small[i, n + k])
            if not np.isfinite(error):
                return 1e10
            after = now[k, i] + big[2 * n + i, wide + k]
            scale = max(max(largest[k, i], abs(after)), max(floors[k, i], abs(now[k, i])))
            worst = max(worst, error / (allowed * scale))
    return worst


@compiled
def _integrate(head: Any, t: float, end: float) -> Any:
    """Integrate the sensitivities over a step of the integrator; 0 when it succeeds."""
    n, knowns = head[STATES], head[KNOWNS]
    reals, wide = doubles(head[REALS], 2), 3 * n
    now, largest = doubles(head[SENSITIVITIES], knowns * n), doubles(head[LARGEST], knowns * n)
    taken = 0
    while t < end:
        rest = end - t
        size = rest if reals[NEXT_SIZE] >= 0.9 * rest else reals[NEXT_SIZE]
        if 2.0 * size > rest > size:
            size = 0.5 * rest
        error = _try(head, t, size, end)
        if error < 0.0:
            return 1
        taken += 1
        factor = min(8.0, 0.9 / max(error, 1e-12) ** 0.25)
        if error > 1.0:
            reals[NEXT_SIZE] = size * max(0.1, factor)
            if taken > MOST_SUBSTEPS or t + reals[NEXT_SIZE] <= t:
                head[WHY] = TOO_SMALL
                return 1
            continue
        stages = _rows(head[BIG], wide, wide + knowns)
        for k in range(knowns):
            for i in range(n):
                now[k * n + i] += stages[2 * n + i, wide + k]
                largest[k * n + i] = max(largest[k * n + i], abs(now[k * n + i]))
        _rates(head, 2)
        # A step that only ends where CVODE's does says little of the next one's size.
        reals[NEXT_SIZE] = max(size * max(factor, 0.2), reals[NEXT_SIZE] if size == rest else 0.0)
        t = end if size == rest else t + size
        head[SUBSTEPS] += 1
    return 0


@compiled
def _complete(head: Any, t: float) -> Any:
    """Tell all instances, each at its own states, that a step is complete."""
    knowns = head[KNOWNS]
    first, offsets = whole(head[FIRST], knowns + 1), doubles(head[OFFSETS], head[MEMBERS])
    for k in range(-1, knowns):
        for m in range(first[k] if k >= 0 else 0, first[k + 1]):
            table = member_table(head, m)
            shift(head, max(k, 0), offsets[m] if k >= 0 else 0.0)
            status = place(table, t, head[SHIFTED])
            if status == 0:
                info = table[INFO]
                status = call_fmu(
                    table[loop.COMPLETED], (table[COMPONENT], np.int32(1), info, info + 4)
                )
            if status != 0 and status != 1:
                head[FAILED_MEMBER], head[WHY] = m, FAILED_CALL
                return 1
    return 0


@callback(types.int32(types.int64, types.float64, types.float64))
def step(address: int, t: float, end: float) -> int:
    """Bring sensitivities and shifted instances from `t` to `end`, where the integrator is."""
    head = whole(address, SIZE)
    n, main = head[STATES], whole(head[MAIN], loop.SIZE)
    for m in range(head[MEMBERS]):
        member_table(head, m)[ROW] = main[ROW]
    if n > 0 and main[loop.MEMORY] != 0 and end - t > 1e-14 * max(abs(t), abs(end)):
        sizes, x = doubles(head[SIZES], n), doubles(main[loop.VECTOR_DATA], n)
        for i in range(n):
            sizes[i] = max(sizes[i], abs(x[i]))
        if _integrate(head, t, end) != 0:
            return 1
        if jumps(head, t, end) != 0 or touches(head, t, end) != 0:
            return 1
    if main[loop.COMPLETED] != 0:
        return int(_complete(head, end))
    return 0


@compiled
def _read(head: Any, member: int, t: float) -> Any:
    """Read the outputs of an instance at the states in SHIFTED to OUTPUTS."""
    table = member_table(head, member)
    status = place(table, t, head[SHIFTED])
    if status == 0:
        target = (table[COMPONENT], head[REFERENCES], head[REFERENCE_COUNT], head[OUTPUTS])
        if table[VERSION] == 3:
            status = call_fmu(head[GETTER], (*target, head[WIDTH]))
        else:
            status = call_fmu(head[GETTER], target)
    if status != 0 and status != 1:
        head[FAILED_MEMBER], head[WHY] = member, FAILED_CALL
        return status
    return 0


@callback(types.int32(types.int64, types.float64, types.int64))
def record(address: int, t: float, row: int) -> int:
    """Write the derivatives of the outputs at an instant to a row.

    Instances with shifted parameters are read at shifted states; where that would be too far, the
    two parts are differentiated each for itself.
    """
    head = whole(address, SIZE)
    n, knowns, width = head[STATES], head[KNOWNS], head[WIDTH]
    if width == 0:
        return 0
    first, offsets = whole(head[FIRST], knowns + 1), doubles(head[OFFSETS], head[MEMBERS])
    weights, found = doubles(head[WEIGHTS], head[MEMBERS]), doubles(head[OUTPUTS], width)
    sizes, nominals = doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    now, places = doubles(head[SENSITIVITIES], knowns * n), whole(head[PLACES], width)
    result = doubles(head[DERIVATIVES] + 8 * row * knowns * width, knowns * width)
    for k in range(knowns):
        target = result[k * width : (k + 1) * width]
        target[:] = 0.0
        far = 0.0  # largest relative change of a state, for a unit of the parameter
        for i in range(n):
            size = sizes[i] if sizes[i] > 0.0 else nominals[i]
            far = max(far, abs(now[k * n + i]) / size)
        apart = False
        for m in range(first[k], first[k + 1]):
            apart |= far * abs(offsets[m]) > 3e-5
        for m in range(first[k], first[k + 1]):
            shift(head, k, 0.0 if apart else offsets[m])
            if _read(head, m, t) != 0:
                return 1
            for c in range(width):
                target[c] += weights[m] * found[c]
        if apart:
            amount = SHIFT / far
            for sign in (1.0, -1.0):
                shift(head, k, sign * amount)
                if _read(head, 0, t) != 0:
                    return 1
                for c in range(width):
                    target[c] += 0.5 * sign / amount * found[c]
        for c in range(width):
            if places[c] >= 0:
                target[c] = now[k * n + places[c]]
    return 0


@compiled
def _pivot(rows: Any, k: int, n: int, width: int) -> bool:
    """Bring the largest element of a column to row k; return whether it is not zero."""
    best, most = k, abs(rows[k, k])
    for i in range(k + 1, n):
        size = abs(rows[i, k])
        if size > most:
            best, most = i, size
    if best != k:
        for j in range(k, width):
            kept = rows[k, j]
            rows[k, j] = rows[best, j]
            rows[best, j] = kept
    return bool(most != 0.0)


@compiled
def eliminate(rows: Any, n: int, width: int) -> bool:
    """Solve linear equations by elimination with partial pivoting; return whether that can be done.

    Parameters
    ----------
    rows
        The matrix and, beside it, the right-hand sides, shape (n, width); these become the
        solutions.
    n, width
        Numbers of equations, and of columns.
    """
    for k in range(n):
        if not _pivot(rows, k, n, width):
            return False
        inverse = 1.0 / rows[k, k]
        for i in range(k + 1, n):
            factor = rows[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, width):
                    rows[i, j] -= factor * rows[k, j]
    for k in range(n - 1, -1, -1):
        inverse = 1.0 / rows[k, k]
        for j in range(n, width):
            rows[k, j] *= inverse
        for i in range(k):
            factor = rows[i, k]
            if factor != 0.0:
                for j in range(n, width):
                    rows[i, j] -= factor * rows[k, j]
    return True


@compiled
def _slope_at(head: Any, t: float, end: float, place: int) -> Any:
    status = point_at(head, t, end)
    return value(head, 0, t, head[POINT], head[place]) if status == 0 else status


@compiled
def jumps(head: Any, t: float, end: float) -> Any:
    """Refuse a step within which a derivative of a state jumps; 0 for none."""
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


@compiled
def _indicators(head: Any, t: float, states: int, result: int) -> Any:
    """Write the event indicators at states to an address."""
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
    """Write indicators at the states in POINT, and their rates, one after the other."""
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
    found = doubles(result, 2 * count)
    for k in range(count):
        found[count + k] = (found[count + k] - found[k]) / short
    return status


@compiled
def _least(head: Any, t: float, end: float, which: int, scratch: int) -> Any:
    """Bring the states where an indicator is nearest to zero to POINT; return when that is."""
    count = head[INDICATORS]
    found = doubles(scratch, count)
    low, high = t, end
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = -1.0, -1.0
    for _ in range(48):
        if at_left < 0.0:
            if point_at(head, left, end) != 0 or _indicators(head, left, head[POINT], scratch) != 0:
                return np.nan
            at_left = abs(found[which])
        if at_right < 0.0:
            if (
                point_at(head, right, end) != 0
                or _indicators(head, right, head[POINT], scratch) != 0
            ):
                return np.nan
            at_right = abs(found[which])
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
    """Return what the error of the states in POINT, as the tolerance allows it, does to one."""
    n, count = head[STATES], head[INDICATORS]
    point, away = doubles(head[POINT], n), doubles(head[SHIFTED], n)
    sizes, nominals = doubles(head[SIZES], n), doubles(head[NOMINALS], n)
    found = doubles(scratch, count)
    if _indicators(head, t, head[POINT], scratch) != 0:
        return np.nan
    base, total = found[which], 0.0
    for j in range(n):
        for i in range(n):
            away[i] = point[i]
        scale = max(sizes[j], nominals[j])
        away[j] += 1e-6 * scale
        if _indicators(head, t, head[SHIFTED], scratch) != 0:
            return np.nan
        total += abs(found[which] - base) / 1e-6
    return total * doubles(head[REALS], RELATIVE + 1)[RELATIVE]


@compiled
def touches(head: Any, t: float, end: float) -> Any:
    """Refuse a step in which an indicator touches zero and turns back.

    It does where it comes nearer to zero than the error that the integrator's tolerance allows.
    """
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
