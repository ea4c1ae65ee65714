"""Quantiles and tails of distributions, and the likelihood ratio tau of a profile.

The normal, Student's t, chi-squared and F distributions of :mod:`scipy.special`, for scalars;
without degrees of freedom, and beyond the range of a level or a value, they are NaN.

**The likelihood ratio** says by how much the cost increases within a confidence interval. With
``C_p(theta)`` the cost ``1/2 sum r^2`` at a fixed value of one parameter and the best values of all
others, and ``C`` its minimum,

``tau(theta) = sign(theta - theta_hat) * sqrt(2 (C_p(theta) - C) / s^2)``

is the profile t function of Bates and Watts (Nonlinear Regression Analysis and Its
Applications, 1988, section 6.1). It is ``(theta - theta_hat) / standard error`` for a
linear model, a straight line. Known noise: ``s = 1``, and ``tau^2`` has the chi-squared
distribution with one degree of freedom in the limit of many samples (Venzon and
Moolgavkar, Applied Statistics 37, 1988). Unknown noise: ``s^2 = 2 C / (m - n)``, and
``tau^2`` has the F distribution with 1 and ``m - n`` degrees of freedom, exactly so for
a linear model.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy import optimize, special

from fmident.arrays import F64

_SAME = 1e-9
"""Relative difference of quantiles that is rounding."""


def normal_quantile(level: float) -> float:
    """Return the standard normal quantile; infinite for a level of 0 or 1."""
    return float(special.ndtri(level))


def student_quantile(level: float, freedom: float) -> float:
    """Return the quantile of Student's t; infinite for a level of 0 or 1."""
    if not freedom > 0.0:
        return math.nan
    if math.isinf(freedom) or level in (0.0, 1.0):
        return normal_quantile(level)
    return float(special.stdtrit(freedom, level))


def student_quantiles(level: float, freedoms: F64) -> F64:
    """Return Student's t of two-sided intervals for degrees of freedom, shape (h,)."""
    return np.array([student_quantile(0.5 * (1.0 + level), nu) for nu in freedoms])


def student_intervals(values: F64, errors: F64, freedoms: F64, level: float = 0.95) -> F64:
    """Return the intervals of values with standard errors, shape (n, 2)."""
    half = student_quantiles(level, freedoms) * errors
    return np.column_stack([values - half, values + half])


def correlation_of(covariance: F64) -> F64:
    """Return the correlation, shape (n, n); NaN where the covariance is."""
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: F64 = covariance / np.outer(errors, errors)
    np.fill_diagonal(correlation, np.where(np.isfinite(errors), 1.0, np.nan))
    return correlation


def student_freedom(level: float, quantile: float) -> float:
    """Return the degrees of freedom for which Student's t has a quantile at `level` above 0.5.

    Infinite for the normal quantile or a smaller one; 1 if the quantile is larger than that
    of 1.
    """
    if math.isnan(quantile):
        return math.nan
    if quantile <= normal_quantile(level) * (1.0 + _SAME):
        return math.inf

    def lacking(reciprocal: float) -> float:
        return quantile - student_quantile(level, 1.0 / reciprocal if reciprocal else math.inf)

    return 1.0 if lacking(1.0) > 0.0 else 1.0 / optimize.brentq(lacking, 0.0, 1.0, xtol=1e-300)


def chi_squared_tail(freedom: float, value: float) -> float:
    """Return the probability that chi-squared exceeds a value."""
    return float(special.chdtrc(freedom, value))


def f_tail(first: float, second: float, value: float) -> float:
    """Return the probability that F exceeds a value."""
    return float(special.fdtrc(first, second, value))


def critical_tau(
    level: float, freedom: float, *, sigma_known: bool, parameters: Literal[1, 2] = 1
) -> float:
    """Return the magnitude of tau at the ends of an interval or the edge of a region.

    It is the root of the quantile of chi-squared with `parameters` degrees of freedom (1
    for an interval, 2 for a region), or of F with these and `freedom` times their number:
    1.96 for one parameter, 95 % and known noise. `freedom`, residuals minus determined
    parameters or an effective number, is only used for unknown noise. NaN without degrees
    of freedom.
    """
    if parameters == 2:  # both distributions are known in closed form
        beyond = 1.0 - level
        if sigma_known:
            return float(np.sqrt(-2.0 * np.log(beyond)))
        if not freedom > 0:
            return float("nan")
        return float(np.sqrt(freedom * np.expm1(-2.0 / freedom * np.log(beyond))))
    # The roots of variables with these distributions are magnitudes of a normal and of Student's.
    tail = 0.5 * (1.0 + level)
    return normal_quantile(tail) if sigma_known else student_quantile(tail, freedom)


def joint_freedom(freedoms: F64) -> float:
    """Return the second degrees of freedom of F for two combinations together.

    Both are independent, in units of their own standard errors, which have different
    degrees of freedom: F has the mean of half the sum of their squares (Fai and Cornelius,
    Approximate F-tests of multiple degree of freedom hypotheses in generalized least
    squares analyses of unbalanced split-plot experiments, J. Statistical Computation and
    Simulation 54, 1996).

    `freedoms` are those of Student's t of each, shape (2,). The result is infinite if both
    are, and the smaller one if that is 2 or less, so that t squared has no mean.
    """
    least = float(np.min(freedoms))
    if not least > 2.0:
        return least
    excess = float(np.sum(2.0 / (freedoms - 2.0)))  # of the means of both squares over 1
    return float("inf") if excess == 0.0 else 2.0 * (excess + len(freedoms)) / excess


def tau_of(rise: float, variance: float) -> float:
    """Return the magnitude of tau for a rise of the cost.

    `rise` is ``C_p(theta) - C``; a negative one, for a better minimum than the estimate,
    counts as zero. `variance` is ``s^2``, 1 for known noise.
    """
    return float(np.sqrt(2.0 * max(rise, 0.0) / variance))


def rise_of(tau: float, variance: float) -> float:
    """Return the rise of the cost for a value of tau."""
    return 0.5 * variance * tau**2
