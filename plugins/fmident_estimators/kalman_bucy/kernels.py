"""The compiled recursion: filter, regression, Kalman gain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fmident.arrays import F64
from fmident_estimators.compiled import compiled

OK, FILLING, SINGULAR, MISSING = 0, 1, 2, 3

# Places in `memory`.
SEEN, USED, COST, WEIGHT, LAST_Y, LAST_U, STARTED = 0, 1, 2, 3, 4, 5, 6
MEMORY = 7


class State(NamedTuple):
    """The recursion for r unknowns after a sample, and the filter of q states before it.

    `rows_y` and `rows_u`, shape (1 + r, q), combine filter states to the terms of the equation:
    what is known, then each unknown's factor. The first `settle` samples only fill the filter; as
    many rows as `targets`, kept in `rows`, start the recursion. `sigma` is the noise of y; if it
    is NaN, the regression's errors are taken as independent with the standard deviation `noise`,
    or, if that is NaN too, that of the residuals. `ringing` holds the filter's Gramians for each
    pair of terms of E, see :func:`colour`, as a matrix with 1 + r columns. `squared` is the sum of
    ``lambda^(2 age) c c^T`` that eq. 11 needs, with c = phi for independent errors, otherwise
    `coloured`, see :func:`colour`.
    """

    transition: F64
    before: F64
    now: F64
    rows_y: F64
    rows_u: F64
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
    theta: F64
    inverse: F64
    squared: F64
    covariance: F64


@compiled
def advance(s: State, state: Any, x0: float, x1: float) -> None:
    """Advance the filter by one sample."""
    state[:] = s.transition @ state + s.before * x0 + s.now * x1


@compiled
def factors(s: State) -> Any:
    """Return the factors of the terms of the equation, shape (1 + r,)."""
    return np.concatenate((np.ones(1), s.theta))


@compiled
def recursion(s: State, target: float) -> None:
    """Process one row of the regression: eq. 3 with R = 1.

    The gain does not depend on the size of a constant R; the covariance is scaled with the
    noise afterwards. `memory` keeps the weighted sum of squared residuals and of the
    weights. As in eq. 3, all sums are already discounted for the next row.
    """
    gain = s.inverse @ s.phi
    denominator = 1.0 + s.phi @ gain
    innovation = target - s.phi @ s.theta
    s.theta[:] += gain * (innovation / denominator)
    s.inverse[:, :] = (s.inverse - np.outer(gain, gain) / denominator) / s.forgetting
    s.squared[:, :] = s.forgetting**2 * (s.squared + np.outer(s.coloured, s.coloured))
    s.memory[COST] = s.forgetting * (s.memory[COST] + innovation * innovation / denominator)
    s.memory[WEIGHT] = s.forgetting * (s.memory[WEIGHT] + 1.0)


@compiled
def colour(s: State, phi: Any) -> None:
    """Filter a row of the regression as the noise of y is filtered on its way to the error.

    White noise n on y gives the regression the error ``E n`` with
    ``E = F (s^n + ... + a_0)``. The covariance of ``sum phi_t (E n)_t`` is
    ``sigma^2 sum (E phi)_t (E phi)_t^T`` (Parseval), so that eq. 11 holds with filtered
    rows instead of rows. The sum continues after the last row until the filter has come to
    rest, see :func:`ring_out`.
    """
    given = np.outer(s.before_phi, s.before) + np.outer(phi, s.now)
    s.states_phi[:, :] = s.states_phi @ s.transition.T + given
    s.coloured[:] = s.states_phi @ (factors(s) @ s.rows_y)
    s.before_phi[:] = phi


@compiled
def ring_out(s: State) -> Any:
    """Return the sum of ``c c^T`` after the last row, when no more rows come, shape (r, r).

    Recent noise has most weight there, since it has not passed the filter yet.
    """
    terms, q = factors(s), s.before.size
    form = ((s.ringing @ terms).reshape(-1, terms.size) @ terms).reshape(q, q)
    rest = s.states_phi @ s.transition.T + np.outer(s.phi, s.before)
    return rest @ form @ rest.T


@compiled
def begin(s: State) -> bool:
    """Start with least squares on the first rows, eq. 4; false if they do not determine theta."""
    lengths = np.sqrt((s.rows**2).sum(axis=0))
    if lengths.min() == 0.0:
        return False
    left, sizes, right = np.linalg.svd(s.rows / lengths, full_matrices=False)
    if sizes[-1] <= s.tolerance * sizes[0]:
        return False
    # Through the singular values, since squaring the rows would cost half of the digits.
    root = right.T / sizes / lengths.reshape(-1, 1)
    s.theta[:] = root @ (left.T @ s.targets)
    s.inverse[:, :] = root @ root.T
    return True


@compiled
def regress(s: State) -> float:
    """Write the factors of the unknowns to `phi`; return the known part of the equation."""
    terms = s.rows_y @ s.state_y + s.rows_u @ s.state_u
    s.phi[:] = terms[1:]
    known: float = -terms[0]
    return known


@compiled
def take_first(s: State) -> None:
    """Add the first rows, oldest first, to the cost and the sum of squares; see `update`."""
    count = s.targets.size
    s.before_phi[:] = 0.0  # no row came before
    for age in range(count):
        row = s.rows[(int(s.memory[USED]) + age) % count]
        s.coloured[:] = row
        if np.isfinite(s.sigma):
            colour(s, row)
        s.squared[:, :] += np.outer(s.coloured, s.coloured)
    left = s.targets - s.rows @ s.theta
    s.memory[COST] = left @ left
    s.memory[WEIGHT] = count


@compiled
def update(y: float, u: float, s: State) -> int:
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
    # Sums are discounted for the next row once the recursion has begun.
    discount = 1.0 if s.memory[USED] <= s.targets.size else s.forgetting
    spread, variance = s.squared, s.noise * s.noise
    if np.isfinite(s.sigma):
        spread, variance = s.squared + discount**2 * ring_out(s), s.sigma * s.sigma
    elif not np.isfinite(variance):
        free = s.memory[WEIGHT] - discount * s.theta.size
        variance = s.memory[COST] / free if free > 0.0 else np.nan
    # Eq. 11: the sum is the inverse of P without forgetting and coloured noise.
    s.covariance[:, :] = variance * (s.inverse @ spread @ s.inverse)
    return OK


@compiled
def record(
    y: Any, u: Any, s: State, thetas: Any, covariances: Any, weighted: Any, flags: Any
) -> None:
    """Process a whole record; write the results after each good sample."""
    for k in range(y.size):
        flags[k] = update(y[k], u[k], s)
        if flags[k] == OK:
            thetas[k] = s.theta
            covariances[k] = s.covariance
            weighted[k] = s.memory[WEIGHT] * s.inverse
