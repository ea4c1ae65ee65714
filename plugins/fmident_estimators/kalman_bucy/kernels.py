"""The compiled recursion: filter, regression, Kalman gain, without allocation per sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident_estimators.compiled import compiled

OK, FILLING, SINGULAR, MISSING = 0, 1, 2, 3

# Places in `memory`.
SEEN, USED, COST, WEIGHT, LAST_Y, LAST_U, STARTED = 0, 1, 2, 3, 4, 5, 6
MEMORY = 7


@compiled()
def advance(
    state: Any, scratch: Any, transition: Any, before: Any, now: Any, x0: float, x1: float
) -> None:
    """Advance the filter by one sample."""
    q = state.size
    for i in range(q):
        total = before[i] * x0 + now[i] * x1
        for j in range(q):
            total += transition[i, j] * state[j]
        scratch[i] = total
    state[:] = scratch


@compiled()
def recursion(
    theta: Any,
    inverse: Any,
    squared: Any,
    phi: Any,
    coloured: Any,
    gain: Any,
    target: float,
    forgetting: float,
    memory: Any,
) -> None:
    """Process one row of the regression: eq. 3 with R = 1.

    The gain does not depend on the size of a constant R; the covariance is scaled with the
    noise afterwards. `squared` is the sum of ``lambda^(2 age) c c^T`` that eq. 11 needs,
    with c = phi for independent errors, otherwise `coloured`, see :func:`colour`; `memory`
    keeps the weighted sum of squared residuals and of the weights. As in eq. 3, all of them
    are already discounted for the next row.
    """
    r = theta.size
    denominator = 1.0
    innovation = target
    for i in range(r):
        gain[i] = 0.0
        for j in range(r):
            gain[i] += inverse[i, j] * phi[j]
        denominator += phi[i] * gain[i]
        innovation -= phi[i] * theta[i]
    for i in range(r):
        theta[i] += gain[i] / denominator * innovation
    for i in range(r):
        for j in range(i + 1):
            updated = (inverse[i, j] - gain[i] * gain[j] / denominator) / forgetting
            inverse[i, j] = inverse[j, i] = updated
            summed = forgetting * forgetting * (squared[i, j] + coloured[i] * coloured[j])
            squared[i, j] = squared[j, i] = summed
    memory[COST] = forgetting * (memory[COST] + innovation * innovation / denominator)
    memory[WEIGHT] = forgetting * (memory[WEIGHT] + 1.0)


@compiled()
def colour(
    phi: Any,
    coloured: Any,
    before_phi: Any,
    states: Any,
    scratch: Any,
    transition: Any,
    before: Any,
    now: Any,
    rows_y: Any,
    places_a: Any,
    theta: Any,
) -> None:
    """Filter a row of the regression as the noise of y is filtered on its way to the error.

    White noise n on y gives the regression the error ``E n`` with
    ``E = F (s^n + ... + a_0)``. The covariance of ``sum phi_t (E n)_t`` is
    ``sigma^2 sum (E phi)_t (E phi)_t^T`` (Parseval), so that eq. 11 holds with filtered
    rows instead of rows. The sum continues after the last row until the filter has come to
    rest, see :func:`ring_out`.
    """
    for j in range(phi.size):
        advance(states[j], scratch, transition, before, now, before_phi[j], phi[j])
        total = 0.0
        for k in range(states.shape[1]):
            factor = rows_y[0, k]
            for i in range(places_a.size):
                factor += theta[places_a[i]] * rows_y[1 + i, k]
            total += factor * states[j, k]
        coloured[j] = total
        before_phi[j] = phi[j]


@compiled()
def ring_out(
    phi: Any,
    states: Any,
    rest: Any,
    form: Any,
    transition: Any,
    before: Any,
    ringing: Any,
    places_a: Any,
    theta: Any,
    tail: Any,
) -> None:
    """Write the sum of ``c c^T`` after the last row to `tail`, when no more rows come.

    Recent noise has most weight there, since it has not passed the filter yet. `ringing`
    holds the filter's Gramians for each pair of terms of E; `rest` and `form` are work
    arrays.
    """
    r, q = states.shape
    form[:, :] = 0.0
    for a in range(ringing.shape[0]):
        left = 1.0 if a == 0 else theta[places_a[a - 1]]
        for b in range(ringing.shape[0]):
            right = 1.0 if b == 0 else theta[places_a[b - 1]]
            for i in range(q):
                for k in range(q):
                    form[i, k] += left * right * ringing[a, b, i, k]
    for j in range(r):
        for i in range(q):
            total = before[i] * phi[j]
            for k in range(q):
                total += transition[i, k] * states[j, k]
            rest[j, i] = total
    for j in range(r):
        for m in range(r):
            total = 0.0
            for i in range(q):
                for k in range(q):
                    total += rest[j, i] * form[i, k] * rest[m, k]
            tail[j, m] = total


@compiled()
def begin(theta: Any, inverse: Any, rows: Any, targets: Any, count: int, tolerance: float) -> bool:
    """Start with least squares on the first rows, eq. 4; false if they do not determine theta."""
    r = theta.size
    lengths = np.zeros(r)
    matrix = np.zeros((count, r))
    for j in range(r):
        for k in range(count):
            lengths[j] += rows[k, j] ** 2
        lengths[j] = np.sqrt(lengths[j])
        if lengths[j] == 0.0:
            return False
        for k in range(count):
            matrix[k, j] = rows[k, j] / lengths[j]
    left, sizes, right = np.linalg.svd(matrix, full_matrices=False)
    if sizes[r - 1] <= tolerance * sizes[0]:
        return False
    # Through the singular values, since squaring the rows would cost half of the digits.
    for i in range(r):
        theta[i] = 0.0
        for j in range(r):
            inverse[i, j] = 0.0
            for s in range(r):
                inverse[i, j] += right[s, i] * right[s, j] / sizes[s] ** 2
            inverse[i, j] /= lengths[i] * lengths[j]
    for s in range(r):
        total = 0.0
        for k in range(count):
            total += left[k, s] * targets[k]
        for i in range(r):
            theta[i] += right[s, i] / lengths[i] * total / sizes[s]
    return True


@compiled()
def regress(
    state_y: Any,
    state_u: Any,
    rows_y: Any,
    rows_u: Any,
    places_a: Any,
    places_b: Any,
    phi: Any,
) -> float:
    """Write the factors of the unknowns to `phi`; return the known part of the equation."""
    target = 0.0
    for k in range(state_y.size):
        target += rows_u[0, k] * state_u[k] - rows_y[0, k] * state_y[k]
    for j in range(places_a.size):
        total = 0.0
        for k in range(state_y.size):
            total += rows_y[1 + j, k] * state_y[k]
        phi[places_a[j]] = total
    for j in range(places_b.size):
        total = 0.0
        for k in range(state_u.size):
            total -= rows_u[1 + j, k] * state_u[k]
        phi[places_b[j]] = total
    return target


@compiled()
def take_first(
    memory: Any,
    scratch: Any,
    transition: Any,
    before: Any,
    now: Any,
    rows_y: Any,
    places_a: Any,
    rows: Any,
    targets: Any,
    sigma: float,
    coloured: Any,
    before_phi: Any,
    states_phi: Any,
    theta: Any,
    squared: Any,
) -> None:
    """Add the first rows, oldest first, to the cost and the sum of squares; see `update`."""
    m, r = targets.size, theta.size
    memory[COST] = 0.0
    oldest = int(memory[USED]) % m
    before_phi[:] = 0.0  # no row came before
    for age in range(m):
        k = (oldest + age) % m
        coloured[:] = rows[k]
        if np.isfinite(sigma):
            colour(rows[k], coloured, before_phi, states_phi, scratch, transition, before, now,
                   rows_y, places_a, theta)  # fmt: skip
        left = targets[k]
        for i in range(r):
            left -= rows[k, i] * theta[i]
            for j in range(r):
                squared[i, j] += coloured[i] * coloured[j]
        memory[COST] += left * left
    memory[WEIGHT] = m


@compiled()
def sandwich(inverse: Any, squared: Any, tail: Any, variance: float, covariance: Any) -> None:
    """Write ``P S P``, eq. 11; S is the inverse of P without forgetting and coloured noise."""
    r = inverse.shape[0]
    for i in range(r):
        for j in range(r):
            total = 0.0
            for k in range(r):
                for s in range(r):
                    total += inverse[i, k] * (squared[k, s] + tail[k, s]) * inverse[s, j]
            covariance[i, j] = variance * total


@compiled()
def update(
    y: float,
    u: float,
    memory: Any,
    state_y: Any,
    state_u: Any,
    scratch: Any,
    transition: Any,
    before: Any,
    now: Any,
    rows_y: Any,
    rows_u: Any,
    places_a: Any,
    places_b: Any,
    settle: int,
    rows: Any,
    targets: Any,
    forgetting: float,
    noise: float,
    sigma: float,
    tolerance: float,
    phi: Any,
    coloured: Any,
    before_phi: Any,
    states_phi: Any,
    ringing: Any,
    rest: Any,
    form: Any,
    tail: Any,
    gain: Any,
    theta: Any,
    inverse: Any,
    squared: Any,
    covariance: Any,
) -> int:
    """Process one sample.

    `rows_y` and `rows_u` hold, row by row, the combinations of filter states that give the
    known part and each unknown's factor. The first `settle` samples only fill the filter;
    the next len(rows) rows start the recursion. `sigma` is the noise of y; if it is NaN,
    the regression's errors are taken as independent with the standard deviation `noise`,
    or, if that is NaN too, that of the residuals.
    """
    if not (np.isfinite(y) and np.isfinite(u)):
        return MISSING
    if memory[SEEN] == 0.0:
        state_y[:] = 0.0
        state_u[:] = 0.0
        state_y[0] = y
        state_u[0] = u
    else:
        advance(state_y, scratch, transition, before, now, memory[LAST_Y], y)
        advance(state_u, scratch, transition, before, now, memory[LAST_U], u)
    memory[LAST_Y] = y
    memory[LAST_U] = u
    memory[SEEN] += 1.0
    if memory[SEEN] <= settle:
        return FILLING
    target = regress(state_y, state_u, rows_y, rows_u, places_a, places_b, phi)
    r = theta.size
    if memory[STARTED] == 0.0:
        m = targets.size
        place = int(memory[USED]) % m  # while nothing is determined, the oldest row gives way
        rows[place] = phi
        targets[place] = target
        memory[USED] += 1.0
        if memory[USED] < m:
            return FILLING
        if not begin(theta, inverse, rows, targets, m, tolerance):
            return SINGULAR
        memory[STARTED] = 1.0
        take_first(memory, scratch, transition, before, now, rows_y, places_a, rows, targets, sigma,
                   coloured, before_phi, states_phi, theta, squared)  # fmt: skip
    else:
        coloured[:] = phi
        if np.isfinite(sigma):
            colour(phi, coloured, before_phi, states_phi, scratch, transition, before, now,
                   rows_y, places_a, theta)  # fmt: skip
        recursion(theta, inverse, squared, phi, coloured, gain, target, forgetting, memory)
        memory[USED] += 1.0
    tail[:, :] = 0.0
    variance = noise * noise
    if np.isfinite(sigma):
        variance = sigma * sigma
        ring_out(phi, states_phi, rest, form, transition, before, ringing, places_a, theta, tail)
        if memory[USED] > targets.size:
            tail *= forgetting * forgetting  # discounted for the next row, as all the others
    elif not np.isfinite(variance):
        free = memory[WEIGHT] - (r if memory[USED] <= targets.size else forgetting * r)
        variance = memory[COST] / free if free > 0.0 else np.nan
    sandwich(inverse, squared, tail, variance, covariance)
    return OK


@compiled()
def record(
    y: Any,
    u: Any,
    state: Any,
    memory: Any,
    theta: Any,
    inverse: Any,
    covariance: Any,
    thetas: Any,
    covariances: Any,
    weighted: Any,
    flags: Any,
) -> None:
    """Process a whole record; write the results after each good sample.

    `state` is the tuple of arguments of :func:`update` after the sample, `memory`, `theta`,
    `inverse` and `covariance` included.
    """
    for k in range(y.size):
        flags[k] = update(y[k], u[k], *state)
        if flags[k] == OK:
            thetas[k] = theta
            covariances[k] = covariance
            weighted[k] = memory[WEIGHT] * inverse
