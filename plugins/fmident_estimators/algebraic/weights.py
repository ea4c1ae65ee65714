r"""Weights of the iterated integrals: from the operational calculus to dot products.

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
from typing import Literal

import numpy as np

from fmident.arrays import F64

Quadrature = Literal["simpson", "product-2", "product-4", "product-5", "product-6"]


def kernel(order: int, mu: int, i: int, tau: F64) -> F64:
    """Return the kernel of the i-th derivative in the row of ``s^-mu``, times ``(mu-1)!``.

    Parameters
    ----------
    order
        n: how often is differentiated in s.
    mu
        Larger than n.
    i
        Order of the derivative, 0 to n.
    tau
        Normalised time in [0, 1], any shape.
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

    ``weights[i] @ y`` approximates ``integral kernel_i(tau) y dtau * T^(n-i)``, so that the row
    reads ``sum_i a_i weights[i] @ y = sum_j b_j weights[j] @ u`` with the equation's own
    coefficients.

    Parameters
    ----------
    order, mu
        As for :func:`kernel`.
    intervals
        Number of sampling intervals in the window, a multiple of 2 (of 4, 5, 6 for the rules
        named so).
    step
        Sampling interval, s.
    quadrature
        ``"simpson"``: Simpson's rule on kernel times signal, as in the paper (eq. 21).
        ``"product-2"``: the signal alone is interpolated as in Simpson's rule, by a parabola
        over each two intervals, and its product with the kernel is integrated exactly; a
        constant or linear signal then has no error at all, and short windows far less.
        ``"product-4"``, ``"product-5"``, ``"product-6"``: the same with polynomials of degree 4, 5
        or 6; the error falls with the sixth (4, 5) or eighth power of the sampling interval
        instead of the fourth.
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
    """Return the degree of the polynomials of a rule: the window is a multiple of it."""
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
