"""Compiled variational equation over one step of the integrator.

The sensitivities S = dx/dp satisfy S' = A(t)*S + B(t), A = df/dx and B = df/dp along
CVODE's trajectory, read from its dense output. As the equation is linear, the Radau IIA
method of order 5 needs one factorisation for all columns (Hairer and Wanner, Solving
Ordinary Differential Equations II, section IV.8). Steps end where CVODE's do, and are
divided where the sensitivities change faster than the states.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.elimination import eliminate
from fmident.fmu.model_exchange.sensitivity.jacobians import jacobian
from fmident.fmu.model_exchange.sensitivity.jumping import jumps
from fmident.fmu.model_exchange.sensitivity.layout import (
    ALLOWED,
    AT,
    BASE,
    BENT,
    BIG,
    DERIVATIVES,
    FAILED_CALL,
    FAILED_MEMBER,
    FIRST,
    FLOORS,
    FORCES,
    GETTER,
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
    OTHER,
    OUTPUTS,
    PLACES,
    POINT,
    RATES,
    REALS,
    REFERENCE_COUNT,
    REFERENCES,
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
)  # fmt: skip
from fmident.fmu.model_exchange.sensitivity.touching import touches
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
    """Write df/dp of one parameter to an address; refuse differences that are too coarse."""
    n = head[STATES]
    forces, rates, weights = doubles(target, n), doubles(head[VALUES], n), head[WEIGHTS]
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
            forces[i] += weight * rates[i]
            if m == begin:
                low[i] = rates[i]
            elif m < end - 1:
                middle[i] = rates[i]
    limit, swing, worst = doubles(head[LIMITS], known + 1)[known], doubles(head[SWING], n), 0.0
    for i in range(n):
        size = max(swing[i], abs(base[i]))
        worst = max(worst, bent(low[i], middle[i], rates[i], size))
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
    """Take a step of Radau IIA; return the error relative to the tolerance, or -1.0."""
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
    """Compute the stages from their A and B; return the error relative to the tolerance."""
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
    """Return the estimated error of the step relative to the tolerance."""
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
    """Integrate the sensitivities over a step of the integrator; return 0 on success."""
    n, knowns = head[STATES], head[KNOWNS]
    reals, wide = doubles(head[REALS], 2), 3 * n
    now, largest = doubles(head[SENSITIVITIES], knowns * n), doubles(head[LARGEST], knowns * n)
    steps = 0
    while t < end:
        rest = end - t
        size = rest if reals[NEXT_SIZE] >= 0.9 * rest else reals[NEXT_SIZE]
        if 2.0 * size > rest > size:
            size = 0.5 * rest
        error = _try(head, t, size, end)
        if error < 0.0:
            return 1
        steps += 1
        factor = min(8.0, 0.9 / max(error, 1e-12) ** 0.25)
        if error > 1.0:
            reals[NEXT_SIZE] = size * max(0.1, factor)
            if steps > MOST_SUBSTEPS or t + reals[NEXT_SIZE] <= t:
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
    """Report a completed step to all instances, each with its own states."""
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
    """Advance sensitivities and shifted instances from `t` to the integrator's time `end`."""
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

    If shifted states are too far away, parameters and states are differentiated separately.
    """
    head = whole(address, SIZE)
    n, knowns, width = head[STATES], head[KNOWNS], head[WIDTH]
    if width == 0:
        return 0
    first, offsets = whole(head[FIRST], knowns + 1), doubles(head[OFFSETS], head[MEMBERS])
    weights, outputs = doubles(head[WEIGHTS], head[MEMBERS]), doubles(head[OUTPUTS], width)
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
                target[c] += weights[m] * outputs[c]
        if apart:
            amount = SHIFT / far
            for sign in (1.0, -1.0):
                shift(head, k, sign * amount)
                if _read(head, 0, t) != 0:
                    return 1
                for c in range(width):
                    target[c] += 0.5 * sign / amount * outputs[c]
        for c in range(width):
            if places[c] >= 0:
                target[c] = now[k * n + places[c]]
    return 0
