"""The arithmetic of one window, compiled: dot products and a small least-squares problem.

Nothing is allocated here. The streaming and the batch form call the same function, so
that they agree to the last bit.

Weights of the iterated integrals: from the operational calculus to dot products.

The equation ``sum a_i y^(i) = sum b_j u^(j)`` of order n is transformed by Laplace and
differentiated n times in s, which removes the initial conditions. By Leibniz' rule a term gives

    d^n/ds^n (s^i Y) = sum_k C(n,k) i!/(i-k)! s^(i-k) Y^(n-k),   k = 0..min(i, n).

Multiplied by ``s^-mu`` with ``mu > n`` every power of s is negative, and the inverse transform of
``s^-m d^j/ds^j Y`` is the iterated integral over the window of length T (eq. 17 of the
paper, with time running forward from the start of the window, so that no sign turns)

    P_{m,j} = (-1)^j/(m-1)! * integral_0^T (T-t)^(m-1) t^j y(t) dt.

With ``t = T*tau`` a term of order i has the factor ``T^(mu+n-i)`` whatever k is: in normalised
time all rows have the same size, and the window's length appears as ``T^(n-i)`` of the
coefficient only. So a row is a dot product of the samples with weights that are computed once.

The sum over k is a kernel, equal to ``(-1)^i d^i/dtau^i [(-1)^n (1-tau)^(mu-1) tau^n/(mu-1)!]``:
the algebraic method is one of modulating functions.

Source: M. Oueslati, S. Thiery, O. Gibaru, R. Bearee, G. Moraru, On algebraic approach for MSD
parametric estimation, IMAACA 2011, eqs. 15 to 21.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from fmident.arrays import F64
from fmident_estimators.compiled import FILLING, MISSING, OK, SINGULAR, compiled


class Window(NamedTuple):
    """What does not change from window to window, and scratch memory.

    The weights have the shapes (rows, 1 + unknowns, L); slice 0 along the second axis is the
    combination of all known terms, the others belong to the unknowns with the indices
    `places_a` and `places_b`. `gram` holds the inner products of the weights of y, and
    `variance` is that of the noise on y, NaN if unknown. `tolerance` is the smallest ratio of
    the triangular factor's diagonal, columns scaled to length 1, and the smallest relative
    length of a column. `work` has the shape (rows + 1, r + 1 + rows): unknowns, right side
    and pseudo-inverse, with the columns' lengths in the last row.
    """

    weights_y: F64
    weights_u: F64
    places_a: Any
    places_b: Any
    gram: F64
    variance: float
    tolerance: float
    work: F64


Quadrature = Literal["simpson", "product-2", "product-4", "product-5", "product-6"]


@compiled(any_order=True)
def dot(weights: Any, signal: Any, begin: int) -> float:
    """Return ``weights @ signal[begin:begin + len(weights)]``."""
    total = 0.0
    for k in range(weights.size):
        total += weights[k] * signal[begin + k]
    return total


@compiled(any_order=True)
def energy(signal: Any, begin: int, count: int) -> float:
    """Return the sum of squares of `count` samples from `begin`."""
    total = 0.0
    for k in range(count):
        total += signal[begin + k] * signal[begin + k]
    return total


@compiled()
def fill(y: Any, u: Any, begin: int, moves: bool, w: Window) -> None:
    """Write the linear equations of a window: unknowns, right side, identity.

    `moves` is false for an input that is zero.
    """
    rows, r = w.weights_y.shape[0], w.places_a.size + w.places_b.size
    for i in range(rows):
        right = -dot(w.weights_y[i, 0], y, begin)
        if moves:
            right += dot(w.weights_u[i, 0], u, begin)
        w.work[i, r] = right
        for j in range(w.places_a.size):
            w.work[i, w.places_a[j]] = dot(w.weights_y[i, 1 + j], y, begin)
        for j in range(w.places_b.size):
            w.work[i, w.places_b[j]] = -dot(w.weights_u[i, 1 + j], u, begin)
        for k in range(rows):
            w.work[i, r + 1 + k] = 1.0 if k == i else 0.0


@compiled()
def lengths(work: Any, rows: int, r: int, scale: Any) -> None:
    """Write the lengths of the first r columns into `scale`."""
    for j in range(r):
        scale[j] = 0.0
        for i in range(rows):
            scale[j] += work[i, j] * work[i, j]
        scale[j] = np.sqrt(scale[j])


@compiled()
def too_short(scale: Any, reach_y: float, reach_u: float, w: Window) -> bool:
    """Return whether a column is too short compared with the length of the signals."""
    for j in range(w.places_a.size):
        largest = 0.0
        for i in range(w.gram.shape[0]):
            largest = max(largest, w.gram[i, 1 + j, i, 1 + j])
        if scale[w.places_a[j]] <= w.tolerance * np.sqrt(largest) * reach_y:
            return True
    for j in range(w.places_b.size):
        if scale[w.places_b[j]] <= w.tolerance * reach_u or reach_u == 0.0:
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
def solve_window(y: Any, u: Any, begin: int, w: Window, theta: Any, covariance: Any) -> int:
    """Estimate the coefficients from one window; return ``OK``, ``SINGULAR`` or ``MISSING``.

    The window of the signals begins at `begin`. The results `theta` and `covariance` are only
    written for ``OK``.
    """
    rows, length = w.weights_y.shape[0], w.weights_y.shape[2]
    r = theta.size
    reach_y = np.sqrt(energy(y, begin, length))
    reach_u = np.sqrt(energy(u, begin, length))
    if not (np.isfinite(reach_y) and np.isfinite(reach_u)):
        return MISSING
    fill(y, u, begin, reach_u > 0.0, w)
    scale = w.work[rows]
    lengths(w.work, rows, r, scale)
    if too_short(scale, reach_y, reach_u, w):
        return SINGULAR
    for j in range(r):
        for i in range(rows):
            w.work[i, j] /= scale[j]
    if not triangularise(w.work, rows, r, w.tolerance):
        return SINGULAR
    substitute_back(w.work, rows, r)
    for j in range(r):
        for column in range(r, r + 1 + rows):
            w.work[j, column] /= scale[j]
        theta[j] = w.work[j, r]
    for j in range(r):
        for k in range(r):
            covariance[j, k] = np.nan
    if np.isfinite(w.variance):
        spread(theta, covariance, w)
    return OK


@compiled()
def triangularise(work: Any, rows: int, r: int, tolerance: float) -> bool:
    """Triangularise r columns by Householder reflections; false if they are singular."""
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
def spread(theta: Any, covariance: Any, w: Window) -> None:
    """Propagate white noise on y to the coefficients, to first order.

    The residual of row i depends on the noise with the weights ``w_i0 + sum_j a_j w_ij``;
    the pseudo-inverse is in the last columns of `work`.
    """
    r = theta.size
    rows = w.gram.shape[0]
    terms = w.gram.shape[1]
    covariance[:, :] = 0.0
    for i in range(rows):
        for k in range(rows):
            inner = 0.0
            for p in range(terms):
                left = 1.0 if p == 0 else theta[w.places_a[p - 1]]
                for q in range(terms):
                    right = 1.0 if q == 0 else theta[w.places_a[q - 1]]
                    inner += left * right * w.gram[i, p, k, q]
            inner *= w.variance
            for a in range(r):
                for b in range(r):
                    covariance[a, b] += w.work[a, r + 1 + i] * inner * w.work[b, r + 1 + k]


@compiled()
def push_and_solve(
    counter: Any,
    new_y: float,
    new_u: float,
    ring_y: Any,
    ring_u: Any,
    w: Window,
    theta: Any,
    covariance: Any,
) -> int:
    """Store one sample in the doubled ring buffer and solve the window that ends with it.

    `counter` holds the next index and the number of samples so far, at most L. Each sample
    is stored twice, L apart, so that the window is contiguous.
    """
    length = w.weights_y.shape[2]
    place = counter[0]
    ring_y[place] = ring_y[place + length] = new_y
    ring_u[place] = ring_u[place + length] = new_u
    place = place + 1 if place + 1 < length else 0
    counter[0] = place
    if counter[1] < length:
        counter[1] += 1
        if counter[1] < length:
            return FILLING
    return solve_window(ring_y, ring_u, place, w, theta, covariance)


@compiled()
def solve_all(y: Any, u: Any, w: Window, thetas: Any, covariances: Any, flags: Any) -> None:
    """Solve all windows of a record; the results of each are at its last sample."""
    length = w.weights_y.shape[2]
    for k in range(length - 1, y.size):
        flags[k] = solve_window(y, u, k - length + 1, w, thetas[k], covariances[k])
        if flags[k] != OK:
            thetas[k] = np.nan
            covariances[k] = np.nan


def kernel(order: int, mu: int, i: int, tau: F64) -> F64:
    """Return the kernel of the i-th derivative in the row of ``s^-mu``, times ``(mu-1)!``.

    `order` is n, the number of differentiations in s, with ``mu > n`` and ``0 <= i <= n``;
    `tau` is normalised time in [0, 1].
    """
    if mu <= order or not 0 <= i <= order:
        raise ValueError(f"mu = {mu} must be larger than n = {order}, and i = {i} within 0..n")
    rest = 1.0 - tau
    total = np.zeros_like(tau)
    for k in range(min(i, order) + 1):
        m, j = mu - i + k, order - k
        factor = math.comb(order, k) * math.perm(i, k) * (-1.0) ** j
        factor *= math.factorial(mu - 1) / math.factorial(m - 1)
        total += factor * rest ** (m - 1) * tau**j
    return total


def row_weights(
    order: int, mu: int, intervals: int, step: float, quadrature: Quadrature = "product-4"
) -> F64:
    """Return the weights of one row, shape (order + 1, intervals + 1).

    ``weights[i] @ y`` approximates ``integral kernel_i(tau) y dtau * T^(n-i)``, so that the
    row reads ``sum_i a_i weights[i] @ y = sum_j b_j weights[j] @ u`` with the equation's
    own coefficients. `step` is the sampling interval, s, and `intervals` a multiple of the
    rule's degree.

    ``"simpson"`` is Simpson's rule on kernel times signal, as in the paper (eq. 21).
    ``"product-2"`` interpolates only the signal by parabolas and integrates the product
    exactly, which is exact for linear signals and far more accurate for short windows.
    ``"product-4"`` to ``"product-6"`` do the same with higher degrees; the error falls with
    the sixth (4, 5) or eighth power of the sampling interval instead of the fourth.
    """
    degree = degree_of(quadrature)
    if intervals < degree or intervals % degree:
        raise ValueError(
            f"a window has a multiple of {degree} intervals with '{quadrature}', not {intervals}"
        )
    length = intervals * step
    rows = []
    for i in range(order + 1):
        if quadrature == "simpson":
            row = _simpson(order, mu, i, intervals)
        else:
            row = _product(order, mu, i, intervals, degree)
        rows.append(row * length ** (order - i))
    return np.stack(rows)


def degree_of(quadrature: Quadrature) -> int:
    """Return the degree of a rule's polynomials, of which the window is a multiple."""
    return 2 if quadrature == "simpson" else int(quadrature.removeprefix("product-"))


def _simpson(order: int, mu: int, i: int, intervals: int) -> F64:
    tau = np.arange(intervals + 1) / intervals
    pattern = np.full(intervals + 1, 2.0)
    pattern[1::2] = 4.0
    pattern[0] = pattern[-1] = 1.0
    weights: F64 = pattern / (3.0 * intervals) * kernel(order, mu, i, tau)
    return weights


def _product(order: int, mu: int, i: int, intervals: int, degree: int) -> F64:
    # The kernel has degree mu - 1 + order - i; q Gauss points integrate degree 2q - 1 exactly.
    points = (mu - 1 + order - i + degree) // 2 + 1
    nodes, gauss = np.polynomial.legendre.leggauss(points)
    panels = intervals // degree
    half = 0.5 * degree / intervals  # half the width of a panel
    middle = (2.0 * np.arange(panels) + 1.0) * half
    values = kernel(order, mu, i, middle[:, np.newaxis] + half * nodes) * gauss * half
    weights = np.zeros(intervals + 1)
    samples = np.linspace(-1.0, 1.0, degree + 1)
    for k in range(degree + 1):
        others = np.delete(samples, k)
        basis = np.prod((nodes[:, np.newaxis] - others) / (samples[k] - others), axis=1)
        weights[k : k + degree * (panels - 1) + 1 : degree] += values @ basis
    return weights
