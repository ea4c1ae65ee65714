"""Increase of the cost within a confidence interval: the likelihood ratio.

With ``C_p(theta)`` the cost ``1/2 sum r^2`` at a fixed value of one parameter and the
best values of all others, and ``C`` its minimum,

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

from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import normal_quantile, student_quantile


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
