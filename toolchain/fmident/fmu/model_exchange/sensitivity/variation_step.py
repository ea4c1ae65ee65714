"""The variational equation over one step of the integrator, compiled.

The sensitivities S = dx/dp obey S' = A(t)*S + B(t), A = df/dx and B = df/dp along the trajectory
that CVODE has found; its dense output is read, and nothing of it is changed. The equation is
linear: the Radau IIA method of order 5 takes one factorisation for all columns. Steps end where
CVODE's do, and are divided where the sensitivities change faster than the states. Source of method
and error estimate: Hairer and Wanner, Solving Ordinary Differential Equations II, section IV.8.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from fmident.fmu.model_exchange import loop
from fmident.fmu.model_exchange.loop import place
from fmident.fmu.model_exchange.sensitivity.elimination import factorise, solve
from fmident.fmu.model_exchange.sensitivity.jacobians import jacobian
from fmident.fmu.model_exchange.sensitivity.layout import (
    ALLOWED,
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
    MAIN,
    MATRICES,
    MEMBERS,
    MOST_SUBSTEPS,
    NEXT_SIZE,
    NOMINALS,
    OFFSETS,
    OUTPUTS,
    PLACES,
    POINT,
    RATES,
    REALS,
    REFERENCE_COUNT,
    REFERENCES,
    RIGHT,
    SENSITIVITIES,
    SHIFT,
    SHIFTED,
    SIZE,
    SIZES,
    SMALL,
    STATES,
    SUBSTEPS,
    TOO_SMALL,
    VALUES,
    WEIGHTS,
    WHY,
    WIDTH,
    member_table,
    point_at,
    shift,
    value,
    whole,
)  # fmt: skip
from fmident.fmu.model_exchange.sensitivity.touching import touches
from fmident.fmu.native_code.native import call_fmu, callback, compiled, doubles
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
    status = jacobian(head, t, head[POINT], head[MATRICES] + 8 * slot * n * n)
    if status != 0:
        return status
    forces = doubles(head[FORCES] + 8 * slot * knowns * n, knowns * n)
    found, weights = doubles(head[VALUES], n), doubles(head[WEIGHTS], head[MEMBERS])
    first = whole(head[FIRST], knowns + 1)
    for j in range(knowns):
        for i in range(n):
            forces[j * n + i] = 0.0
        for m in range(first[j], first[j + 1]):
            status = value(head, m, t, head[POINT], head[VALUES])
            if status != 0:
                return status
            for i in range(n):
                forces[j * n + i] += weights[m] * found[i]
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
def _solve_stages(head: Any, size: float) -> Any:
    """Compute the stages from their A and B; return the error relative to what is allowed."""
    n, knowns = head[STATES], head[KNOWNS]
    wide = 3 * n
    big, right = doubles(head[BIG], wide * wide), doubles(head[RIGHT], 2 * knowns * wide)
    pivots = whole(head[BIG] + 8 * wide * wide, wide)
    matrices = doubles(head[MATRICES], 4 * n * n)
    forces = doubles(head[FORCES], 4 * knowns * n)
    now = doubles(head[SENSITIVITIES], knowns * n)
    for r in range(3):
        for i in range(n):
            for s in range(3):
                for j in range(n):
                    place_ = (r * n + i) * wide + s * n + j
                    unit = 1.0 if r == s and i == j else 0.0
                    big[place_] = unit - size * _A[r, s] * matrices[s * n * n + n * j + i]
    for k in range(knowns):
        for s in range(3):  # slopes of the stages at the present sensitivities
            for i in range(n):
                total = forces[(s * knowns + k) * n + i]
                for j in range(n):
                    total += matrices[s * n * n + n * j + i] * now[k * n + j]
                right[knowns * wide + k * wide + s * n + i] = total
        for r in range(3):
            for i in range(n):
                total = 0.0
                for s in range(3):
                    total += _A[r, s] * right[knowns * wide + k * wide + s * n + i]
                right[k * wide + r * n + i] = size * total
    if not factorise(big, pivots, wide):
        return 1e10
    for k in range(knowns):
        solve(big, pivots, wide, right, k * wide)
    return _error(head, size)


@compiled
def _error(head: Any, size: float) -> Any:
    """Return the estimated error of the step relative to what is allowed."""
    n, knowns = head[STATES], head[KNOWNS]
    wide = 3 * n
    right = doubles(head[RIGHT], 2 * knowns * wide)
    small = doubles(head[SMALL], n * n + n)
    pivots = whole(head[SMALL] + 8 * n * n, n)
    matrix = doubles(head[MATRICES], 4 * n * n)
    rates, now = doubles(head[RATES], knowns * n), doubles(head[SENSITIVITIES], knowns * n)
    largest, floors = doubles(head[LARGEST], knowns * n), doubles(head[FLOORS], knowns * n)
    allowed = doubles(head[REALS], 2)[ALLOWED]
    for i in range(n):
        for j in range(n):
            unit = _MU / size if i == j else 0.0
            small[i * n + j] = unit - matrix[2 * n * n + n * j + i]
    if not factorise(small, pivots, n):
        return 1e10
    error = doubles(head[VALUES], n)
    worst = 0.0
    for k in range(knowns):
        for i in range(n):
            z1, z2, z3 = (
                right[k * wide + i], right[k * wide + n + i], right[k * wide + 2 * n + i],
            )  # fmt: skip
            error[i] = rates[k * n + i] + (_E1 * z1 + _E2 * z2 + _E3 * z3) / size
        solve(small, pivots, n, error, 0)
        for i in range(n):
            after = now[k * n + i] + right[k * wide + 2 * n + i]
            scale = max(largest[k * n + i], abs(now[k * n + i]), abs(after), floors[k * n + i])
            worst = max(worst, abs(error[i]) / (allowed * scale))
            if not np.isfinite(error[i]):
                return 1e10
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
        right = doubles(head[RIGHT], 2 * knowns * wide)
        for k in range(knowns):
            for i in range(n):
                now[k * n + i] += right[k * wide + 2 * n + i]
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
        if _integrate(head, t, end) != 0 or touches(head, t, end) != 0:
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
