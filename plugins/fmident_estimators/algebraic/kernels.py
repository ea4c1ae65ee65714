"""The arithmetic of one window, compiled: dot products and a small least-squares problem.

The streaming and the batch form call the same function, so that they agree to the last bit.

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
from fmident_estimators.compiled import compiled

OK, FILLING, SINGULAR, MISSING = 0, 1, 2, 3


class Window(NamedTuple):
    """What does not change from window to window, for r unknowns and windows of L samples.

    A row of the equations has 1 + r terms: what is known, and the factor of each unknown. The
    weights of y and of u for these terms have the shape (rows * (1 + r), L). `reach_y` and
    `reach_u`, shape (r,), are the largest lengths of a factor's weights. `gram` holds the inner
    products of the weights of y, of each two rows the (1 + r, 1 + r) of their terms, as a matrix
    with 1 + r columns, and `variance` is that of the noise on y, NaN if unknown. `tolerance` is
    the smallest diagonal of the triangular factor, columns scaled to length 1, and the smallest
    relative length of a column.
    """

    weights_y: F64
    weights_u: F64
    reach_y: F64
    reach_u: F64
    gram: F64
    variance: float
    tolerance: float


Quadrature = Literal["simpson", "product-2", "product-4", "product-5", "product-6"]


@compiled
def solve_window(y: Any, u: Any, begin: int, w: Window, theta: Any, covariance: Any) -> int:
    """Estimate the coefficients from one window; return ``OK``, ``SINGULAR`` or ``MISSING``.

    The window of the signals begins at `begin`. The results `theta` and `covariance` are only
    written for ``OK``.
    """
    terms, length = theta.size + 1, w.weights_y.shape[1]
    own_y, own_u = y[begin : begin + length], u[begin : begin + length]
    reach_y, reach_u = np.sqrt(own_y @ own_y), np.sqrt(own_u @ own_u)
    if not (np.isfinite(reach_y) and np.isfinite(reach_u)):
        return MISSING
    equations = (w.weights_y @ own_y + w.weights_u @ own_u).reshape(-1, terms)
    matrix, right = equations[:, 1:], -equations[:, 0]
    scale = np.sqrt((matrix**2).sum(axis=0))
    if np.any(scale <= w.tolerance * (reach_y * w.reach_y + reach_u * w.reach_u)):
        return SINGULAR
    orthogonal, triangle = np.linalg.qr(matrix / scale)
    if np.abs(np.diag(triangle)).min() <= w.tolerance:
        return SINGULAR
    inverse = np.linalg.solve(triangle, orthogonal.T) / scale.reshape(-1, 1)
    theta[:] = inverse @ right
    # The residual of a row depends on the noise of y with the sum of its terms' weights.
    factors = np.concatenate((np.ones(1), theta))
    noise = ((w.gram @ factors).reshape(-1, terms) @ factors).reshape(right.size, right.size)
    covariance[:, :] = w.variance * (inverse @ noise @ inverse.T)
    return OK


@compiled
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
    length = w.weights_y.shape[1]
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


@compiled
def solve_all(y: Any, u: Any, w: Window, thetas: Any, covariances: Any, flags: Any) -> None:
    """Solve all windows of a record; the results of each are at its last sample."""
    length = w.weights_y.shape[1]
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
