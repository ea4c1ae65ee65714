r"""Stationary autoregressions: coefficients, partial autocorrelations, autocovariance.

.. math:: e_t = \sum_{k=1}^{p} \varphi_k \, e_{t-k} + u_t, \qquad u_t \sim N(0, \sigma^2)

is stationary if and only if all its partial autocorrelations lie between -1 and 1, and
these determine the coefficients uniquely by the recursion of Durbin and Levinson
(Barndorff-Nielsen and Schou, J. Multivariate Analysis 3, 1973; Jones, Technometrics 22,
1980). A search over them always stays stationary.
"""

from __future__ import annotations

import numpy as np
from scipy import signal

from fmident.arrays import F64


def coefficients_of(partial: F64) -> F64:
    """Return the coefficients for partial autocorrelations, (p,) -> (p,)."""
    return orders_of(partial)[-1]


def orders_of(partial: F64) -> list[F64]:
    """Return the coefficients of the best predictors from 0, 1, ..., p earlier samples."""
    coefficients = np.zeros(partial.size)
    orders = [coefficients[:0]]
    for k, value in enumerate(partial.tolist()):
        before = orders[-1]
        coefficients = np.empty(k + 1)
        coefficients[:k] = before - value * before[::-1]
        coefficients[k] = value
        orders.append(coefficients)
    return orders


def variance_of(partial: F64) -> float:
    """Return the variance of the process for innovations of variance 1."""
    return float(1.0 / np.prod(1.0 - partial**2))


def autocovariance(partial: F64, count: int) -> F64:
    """Return autocovariances at lags 0 to ``count - 1`` for innovations of variance 1."""
    order = partial.size
    covariances = np.zeros(max(count, order + 1))
    covariances[0] = left = variance_of(partial)
    orders = orders_of(partial)
    for k, value in enumerate(partial, start=1):
        covariances[k] = orders[k - 1] @ covariances[k - 1 : 0 : -1] + value * left
        left *= 1.0 - value**2
    before = orders[-1]
    if count > order + 1 and order:
        start = signal.lfiltic([1.0], np.r_[1.0, -before], covariances[order:0:-1])
        silent = np.zeros(count - order - 1)
        covariances[order + 1 :] = signal.lfilter([1.0], np.r_[1.0, -before], silent, zi=start)[0]
    return covariances[:count]
