"""The arithmetic of one window, compiled: dot products and a small least-squares problem.

Nothing is allocated here. The streaming and the batch form call the same function, so
that they agree to the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fmident_estimators.compiled import compiled

OK, FILLING, SINGULAR, MISSING = 0, 1, 2, 3


@compiled(any_order=True)
def dot(weights: Any, signal: Any, begin: int) -> float:
    """Return ``weights @ signal[begin:begin + len(weights)]``."""
    total = 0.0
    for k in range(weights.size):
        total += weights[k] * signal[begin + k]
    return total


@compiled(any_order=True)
def energy(signal: Any, begin: int, count: int) -> float:
    """Return the sum of squares of a stretch."""
    total = 0.0
    for k in range(count):
        total += signal[begin + k] * signal[begin + k]
    return total


@compiled()
def fill(
    y: Any,
    u: Any,
    begin: int,
    weights_y: Any,
    weights_u: Any,
    places_a: Any,
    places_b: Any,
    moves: bool,
    work: Any,
) -> None:
    """Write the linear equations of a window: unknowns, right side, identity.

    Parameters
    ----------
    moves
        Whether the input is not zero.
    y, u, begin, weights_y, weights_u, places_a, places_b, work
        As for :func:`solve_window`.
    """
    rows, r = weights_y.shape[0], places_a.size + places_b.size
    for i in range(rows):
        right = -dot(weights_y[i, 0], y, begin)
        if moves:
            right += dot(weights_u[i, 0], u, begin)
        work[i, r] = right
        for j in range(places_a.size):
            work[i, places_a[j]] = dot(weights_y[i, 1 + j], y, begin)
        for j in range(places_b.size):
            work[i, places_b[j]] = -dot(weights_u[i, 1 + j], u, begin)
        for k in range(rows):
            work[i, r + 1 + k] = 1.0 if k == i else 0.0


@compiled()
def lengths(work: Any, rows: int, r: int, scale: Any) -> None:
    """Write the lengths of the first r columns into `scale`."""
    for j in range(r):
        scale[j] = 0.0
        for i in range(rows):
            scale[j] += work[i, j] * work[i, j]
        scale[j] = np.sqrt(scale[j])


@compiled()
def too_short(
    scale: Any,
    gram: Any,
    places_a: Any,
    places_b: Any,
    tolerance: float,
    reach_y: float,
    reach_u: float,
) -> bool:
    """Return whether a column is short against what the signals could give.

    Parameters
    ----------
    scale
        Lengths of the columns.
    reach_y, reach_u
        Lengths of the signals in the window.
    gram, places_a, places_b, tolerance
        As for :func:`solve_window`.
    """
    for j in range(places_a.size):
        largest = 0.0
        for i in range(gram.shape[0]):
            largest = max(largest, gram[i, 1 + j, i, 1 + j])
        if scale[places_a[j]] <= tolerance * np.sqrt(largest) * reach_y:
            return True
    for j in range(places_b.size):
        if scale[places_b[j]] <= tolerance * reach_u or reach_u == 0.0:
            return True
    return False


@compiled()
def substitute_back(work: Any, rows: int, r: int) -> None:
    """Solve the triangular equations for the solution and the pseudo-inverse, in place."""
    for column in range(r, r + 1 + rows):
        for j in range(r - 1, -1, -1):
            total = work[j, column]
            for k in range(j + 1, r):
                total -= work[j, k] * work[k, column]
            work[j, column] = total / work[j, j]


@compiled()
def solve_window(
    y: Any,
    u: Any,
    begin: int,
    weights_y: Any,
    weights_u: Any,
    places_a: Any,
    places_b: Any,
    gram: Any,
    variance: float,
    tolerance: float,
    work: Any,
    theta: Any,
    covariance: Any,
) -> int:
    """Estimate the coefficients from one window.

    Parameters
    ----------
    y, u
        Signals; the window begins at `begin`.
    begin
        Index of the window's first sample.
    weights_y, weights_u
        Shapes (rows, 1 + unknown a, L) and (rows, 1 + unknown b, L); slice 0 along the second
        axis is the combination of all known terms.
    places_a, places_b
        Places of the unknowns in `theta`.
    gram
        Inner products of the weights of y, shape (rows, 1 + unknown a, rows, 1 + unknown a).
    variance
        Of the noise on y; NaN when unknown.
    tolerance
        Smallest ratio of the triangular factor's diagonal, columns scaled to length 1, and
        smallest length of a column against what the signals could give.
    work
        Shape (rows + 1, r + 1 + rows), overwritten; the last row holds the columns' lengths.
    theta, covariance
        Results, shapes (r,) and (r, r); left alone unless the window is good.

    Returns
    -------
    int
        ``OK``, ``SINGULAR`` or ``MISSING``.
    """
    rows, length = weights_y.shape[0], weights_y.shape[2]
    r = theta.size
    reach_y = np.sqrt(energy(y, begin, length))
    reach_u = np.sqrt(energy(u, begin, length))
    if not (np.isfinite(reach_y) and np.isfinite(reach_u)):
        return MISSING
    fill(y, u, begin, weights_y, weights_u, places_a, places_b, reach_u > 0.0, work)
    scale = work[rows]
    lengths(work, rows, r, scale)
    if too_short(scale, gram, places_a, places_b, tolerance, reach_y, reach_u):
        return SINGULAR
    for j in range(r):
        for i in range(rows):
            work[i, j] /= scale[j]
    if not triangularise(work, rows, r, tolerance):
        return SINGULAR
    substitute_back(work, rows, r)
    for j in range(r):
        for column in range(r, r + 1 + rows):
            work[j, column] /= scale[j]
        theta[j] = work[j, r]
    for j in range(r):
        for k in range(r):
            covariance[j, k] = np.nan
    if np.isfinite(variance):
        spread(work, gram, places_a, theta, variance, covariance)
    return OK


@compiled()
def triangularise(work: Any, rows: int, r: int, tolerance: float) -> bool:
    """Bring the first r columns to triangular form by Householder reflections.

    Returns whether every diagonal element is larger than `tolerance` times the first.
    """
    columns = work.shape[1]
    first = 0.0
    for j in range(r):
        norm = 0.0
        for i in range(j, rows):
            norm += work[i, j] * work[i, j]
        norm = np.sqrt(norm)
        first = max(first, norm)
        if norm <= tolerance * first or norm == 0.0:
            return False
        if j == rows - 1:
            continue  # one element left: nothing to reflect
        alpha = -norm if work[j, j] > 0.0 else norm
        head = work[j, j] - alpha
        # v = (head, work[j+1:, j]); v.v = 2*norm*(norm + |work[j, j]|)
        square = head * head
        for i in range(j + 1, rows):
            square += work[i, j] * work[i, j]
        for column in range(j + 1, columns):
            total = head * work[j, column]
            for i in range(j + 1, rows):
                total += work[i, j] * work[i, column]
            total *= 2.0 / square
            work[j, column] -= total * head
            for i in range(j + 1, rows):
                work[i, column] -= total * work[i, j]
        work[j, j] = alpha
    return True


@compiled()
def spread(
    work: Any, gram: Any, places_a: Any, theta: Any, variance: float, covariance: Any
) -> None:
    """Propagate white noise on y to the coefficients, to first order.

    The residual of row i answers to the noise with the weights ``w_i0 + sum_j a_j w_ij``; the
    pseudo-inverse is in the last columns of `work`.
    """
    r = theta.size
    rows = gram.shape[0]
    terms = gram.shape[1]
    covariance[:, :] = 0.0
    for i in range(rows):
        for k in range(rows):
            inner = 0.0
            for p in range(terms):
                left = 1.0 if p == 0 else theta[places_a[p - 1]]
                for q in range(terms):
                    right = 1.0 if q == 0 else theta[places_a[q - 1]]
                    inner += left * right * gram[i, p, k, q]
            inner *= variance
            for a in range(r):
                for b in range(r):
                    covariance[a, b] += work[a, r + 1 + i] * inner * work[b, r + 1 + k]


@compiled()
def push_and_solve(
    counter: Any,
    new_y: float,
    new_u: float,
    ring_y: Any,
    ring_u: Any,
    weights_y: Any,
    weights_u: Any,
    places_a: Any,
    places_b: Any,
    gram: Any,
    variance: float,
    tolerance: float,
    work: Any,
    theta: Any,
    covariance: Any,
) -> int:
    """Take one sample into the doubled ring buffer and solve the window that ends with it.

    `counter` holds the next place and the number of samples so far, at most L. Each sample is
    stored twice, L apart, so that the window is one contiguous stretch.
    """
    length = weights_y.shape[2]
    place = counter[0]
    ring_y[place] = ring_y[place + length] = new_y
    ring_u[place] = ring_u[place + length] = new_u
    place = place + 1 if place + 1 < length else 0
    counter[0] = place
    if counter[1] < length:
        counter[1] += 1
        if counter[1] < length:
            return FILLING
    return solve_window(
        ring_y, ring_u, place, weights_y, weights_u, places_a, places_b, gram,
        variance, tolerance, work, theta, covariance,
    )  # fmt: skip


@compiled()
def solve_all(
    y: Any,
    u: Any,
    weights_y: Any,
    weights_u: Any,
    places_a: Any,
    places_b: Any,
    gram: Any,
    variance: float,
    tolerance: float,
    work: Any,
    thetas: Any,
    covariances: Any,
    flags: Any,
) -> None:
    """Solve all windows of a record; results of window k are at its last sample."""
    length = weights_y.shape[2]
    for k in range(length - 1, y.size):
        flags[k] = solve_window(
            y, u, k - length + 1, weights_y, weights_u, places_a, places_b, gram,
            variance, tolerance, work, thetas[k], covariances[k],
        )  # fmt: skip
        if flags[k] != OK:
            thetas[k] = np.nan
            covariances[k] = np.nan
