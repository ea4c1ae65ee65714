"""The compiled recursion: filter, regression, Kalman gain, without allocation per sample."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fmident.arrays import F64
from fmident_estimators.compiled import FILLING, MISSING, OK, SINGULAR, compiled

# Places in `memory`.
SEEN, USED, COST, WEIGHT, LAST_Y, LAST_U, STARTED = 0, 1, 2, 3, 4, 5, 6
MEMORY = 7


class RecursionState(NamedTuple):
    """The recursion for r unknowns after a sample, and the filter of q states before it.

    `rows_y` and `rows_u` hold, row by row, the combinations of filter states that give the
    known part and each unknown's factor; `places_a` and `places_b` are the unknowns' places.
    The first `settle` samples only fill the filter; as many rows as `targets`, kept in `rows`,
    start the recursion. `sigma` is the noise of y; if it is NaN, the regression's errors are
    taken as independent with the standard deviation `noise`, or, if that is NaN too, that of
    the residuals. `ringing` holds the filter's Gramians for each pair of terms of E, see
    :func:`colour`. `squared` is the sum of ``lambda^(2 age) c c^T`` that eq. 11 needs, with
    c = phi for independent errors, otherwise `coloured`, see :func:`colour`.
    """

    transition: F64
    before: F64
    now: F64
    rows_y: F64
    rows_u: F64
    places_a: Any
    places_b: Any
    ringing: F64
    settle: int
    forgetting: float
    noise: float
    sigma: float
    tolerance: float
    memory: F64
    state_y: F64
    state_u: F64
    rows: F64
    targets: F64
    phi: F64
    coloured: F64
    before_phi: F64
    states_phi: F64
    tail: F64
    theta: F64
    inverse: F64
    squared: F64
    covariance: F64
    filtered: F64
    rest: F64
    form: F64
    gain: F64
    """The last four are work arrays."""


@compiled()
def advance(s: RecursionState, state: Any, x0: float, x1: float) -> None:
    """Advance the filter by one sample."""
    q = state.size
    for i in range(q):
        total = s.before[i] * x0 + s.now[i] * x1
        for j in range(q):
            total += s.transition[i, j] * state[j]
        s.filtered[i] = total
    state[:] = s.filtered


@compiled()
def recursion(s: RecursionState, target: float) -> None:
    """Process one row of the regression: eq. 3 with R = 1.

    The gain does not depend on the size of a constant R; the covariance is scaled with the
    noise afterwards. `memory` keeps the weighted sum of squared residuals and of the
    weights. As in eq. 3, all sums are already discounted for the next row.
    """
    r = s.theta.size
    denominator = 1.0
    innovation = target
    for i in range(r):
        s.gain[i] = 0.0
        for j in range(r):
            s.gain[i] += s.inverse[i, j] * s.phi[j]
        denominator += s.phi[i] * s.gain[i]
        innovation -= s.phi[i] * s.theta[i]
    for i in range(r):
        s.theta[i] += s.gain[i] / denominator * innovation
    for i in range(r):
        for j in range(i + 1):
            updated = (s.inverse[i, j] - s.gain[i] * s.gain[j] / denominator) / s.forgetting
            s.inverse[i, j] = s.inverse[j, i] = updated
            summed = s.forgetting * s.forgetting * (s.squared[i, j] + s.coloured[i] * s.coloured[j])
            s.squared[i, j] = s.squared[j, i] = summed
    s.memory[COST] = s.forgetting * (s.memory[COST] + innovation * innovation / denominator)
    s.memory[WEIGHT] = s.forgetting * (s.memory[WEIGHT] + 1.0)


@compiled()
def colour(s: RecursionState, phi: Any) -> None:
    """Filter a row of the regression as the noise of y is filtered on its way to the error.

    White noise n on y gives the regression the error ``E n`` with
    ``E = F (s^n + ... + a_0)``. The covariance of ``sum phi_t (E n)_t`` is
    ``sigma^2 sum (E phi)_t (E phi)_t^T`` (Parseval), so that eq. 11 holds with filtered
    rows instead of rows. The sum continues after the last row until the filter has come to
    rest, see :func:`ring_out`.
    """
    for j in range(phi.size):
        advance(s, s.states_phi[j], s.before_phi[j], phi[j])
        total = 0.0
        for k in range(s.states_phi.shape[1]):
            factor = s.rows_y[0, k]
            for i in range(s.places_a.size):
                factor += s.theta[s.places_a[i]] * s.rows_y[1 + i, k]
            total += factor * s.states_phi[j, k]
        s.coloured[j] = total
        s.before_phi[j] = phi[j]


@compiled()
def ring_out(s: RecursionState) -> None:
    """Write the sum of ``c c^T`` after the last row to `tail`, when no more rows come.

    Recent noise has most weight there, since it has not passed the filter yet.
    """
    r, q = s.states_phi.shape
    s.form[:, :] = 0.0
    for a in range(s.ringing.shape[0]):
        left = 1.0 if a == 0 else s.theta[s.places_a[a - 1]]
        for b in range(s.ringing.shape[0]):
            right = 1.0 if b == 0 else s.theta[s.places_a[b - 1]]
            for i in range(q):
                for k in range(q):
                    s.form[i, k] += left * right * s.ringing[a, b, i, k]
    for j in range(r):
        for i in range(q):
            total = s.before[i] * s.phi[j]
            for k in range(q):
                total += s.transition[i, k] * s.states_phi[j, k]
            s.rest[j, i] = total
    for j in range(r):
        for m in range(r):
            total = 0.0
            for i in range(q):
                for k in range(q):
                    total += s.rest[j, i] * s.form[i, k] * s.rest[m, k]
            s.tail[j, m] = total


@compiled()
def begin(s: RecursionState) -> bool:
    """Start with least squares on the first rows, eq. 4; false if they do not determine theta."""
    count, r = s.rows.shape
    lengths = np.zeros(r)
    matrix = np.zeros((count, r))
    for j in range(r):
        for k in range(count):
            lengths[j] += s.rows[k, j] ** 2
        lengths[j] = np.sqrt(lengths[j])
        if lengths[j] == 0.0:
            return False
        for k in range(count):
            matrix[k, j] = s.rows[k, j] / lengths[j]
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    if sizes[r - 1] <= s.tolerance * sizes[0]:
        return False
    # Through the singular values, since squaring the rows would cost half of the digits.
    for i in range(r):
        s.theta[i] = 0.0
        for j in range(r):
            s.inverse[i, j] = 0.0
            for k in range(r):
                s.inverse[i, j] += right[k, i] * right[k, j] / sizes[k] ** 2
            s.inverse[i, j] /= lengths[i] * lengths[j]
    for j in range(r):
        total = 0.0
        for k in range(count):
            total += left[k, j] * s.targets[k]
        for i in range(r):
            s.theta[i] += right[j, i] / lengths[i] * total / sizes[j]
    return True


@compiled()
def regress(s: RecursionState) -> float:
    """Write the factors of the unknowns to `phi`; return the known part of the equation."""
    target = 0.0
    for k in range(s.state_y.size):
        target += s.rows_u[0, k] * s.state_u[k] - s.rows_y[0, k] * s.state_y[k]
    for j in range(s.places_a.size):
        total = 0.0
        for k in range(s.state_y.size):
            total += s.rows_y[1 + j, k] * s.state_y[k]
        s.phi[s.places_a[j]] = total
    for j in range(s.places_b.size):
        total = 0.0
        for k in range(s.state_u.size):
            total -= s.rows_u[1 + j, k] * s.state_u[k]
        s.phi[s.places_b[j]] = total
    return target


@compiled()
def take_first(s: RecursionState) -> None:
    """Add the first rows, oldest first, to the cost and the sum of squares; see `update`."""
    m, r = s.targets.size, s.theta.size
    s.memory[COST] = 0.0
    oldest = int(s.memory[USED]) % m
    s.before_phi[:] = 0.0  # no row came before
    for age in range(m):
        k = (oldest + age) % m
        s.coloured[:] = s.rows[k]
        if np.isfinite(s.sigma):
            colour(s, s.rows[k])
        left = s.targets[k]
        for i in range(r):
            left -= s.rows[k, i] * s.theta[i]
            for j in range(r):
                s.squared[i, j] += s.coloured[i] * s.coloured[j]
        s.memory[COST] += left * left
    s.memory[WEIGHT] = m


@compiled()
def sandwich(s: RecursionState, variance: float) -> None:
    """Write ``P S P``, eq. 11; S is the inverse of P without forgetting and coloured noise."""
    r = s.inverse.shape[0]
    for i in range(r):
        for j in range(r):
            total = 0.0
            for k in range(r):
                for m in range(r):
                    total += s.inverse[i, k] * (s.squared[k, m] + s.tail[k, m]) * s.inverse[m, j]
            s.covariance[i, j] = variance * total


@compiled()
def update(y: float, u: float, s: RecursionState) -> int:
    """Process one sample."""
    if not (np.isfinite(y) and np.isfinite(u)):
        return MISSING
    if s.memory[SEEN] == 0.0:
        s.state_y[:] = 0.0
        s.state_u[:] = 0.0
        s.state_y[0] = y
        s.state_u[0] = u
    else:
        advance(s, s.state_y, s.memory[LAST_Y], y)
        advance(s, s.state_u, s.memory[LAST_U], u)
    s.memory[LAST_Y] = y
    s.memory[LAST_U] = u
    s.memory[SEEN] += 1.0
    if s.memory[SEEN] <= s.settle:
        return FILLING
    target = regress(s)
    r = s.theta.size
    if s.memory[STARTED] == 0.0:
        m = s.targets.size
        place = int(s.memory[USED]) % m  # while nothing is determined, the oldest row gives way
        s.rows[place] = s.phi
        s.targets[place] = target
        s.memory[USED] += 1.0
        if s.memory[USED] < m:
            return FILLING
        if not begin(s):
            return SINGULAR
        s.memory[STARTED] = 1.0
        take_first(s)
    else:
        s.coloured[:] = s.phi
        if np.isfinite(s.sigma):
            colour(s, s.phi)
        recursion(s, target)
        s.memory[USED] += 1.0
    s.tail[:, :] = 0.0
    variance = s.noise * s.noise
    if np.isfinite(s.sigma):
        variance = s.sigma * s.sigma
        ring_out(s)
        if s.memory[USED] > s.targets.size:
            # Discounted for the next row, as all the others.
            s.tail[:, :] *= s.forgetting * s.forgetting
    elif not np.isfinite(variance):
        free = s.memory[WEIGHT] - (r if s.memory[USED] <= s.targets.size else s.forgetting * r)
        variance = s.memory[COST] / free if free > 0.0 else np.nan
    sandwich(s, variance)
    return OK


@compiled()
def record(
    y: Any, u: Any, s: RecursionState, thetas: Any, covariances: Any, weighted: Any, flags: Any
) -> None:
    """Process a whole record; write the results after each good sample."""
    for k in range(y.size):
        flags[k] = update(y[k], u[k], s)
        if flags[k] == OK:
            thetas[k] = s.theta
            covariances[k] = s.covariance
            weighted[k] = s.memory[WEIGHT] * s.inverse
