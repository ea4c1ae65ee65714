r"""Intervals from replicates: percentiles, and percentiles that are corrected for bias.

The BCa interval takes the percentiles

.. math:: \Phi\!\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right)

with the normal quantile :math:`z` of each end, the bias :math:`z_0` by the share of replicates
below the estimate, and the acceleration :math:`a`, a sixth of the skewness of the influences of
the samples (Efron, Journal of the American Statistical Association 82, 1987; Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, sections 14.3 and 22.6). The influences are
those of the infinitesimal jackknife: what each residual contributes to the estimate by the
Jacobian.
"""

from __future__ import annotations

import math

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import normal_quantile


def percentile_interval(replicates: F64, level: float) -> tuple[float, float]:
    """Return the percentile interval of the replicates of one parameter, shape (b,)."""
    tail = 0.5 * (1.0 - level)
    return quantile(replicates, tail), quantile(replicates, 1.0 - tail)


def bca_interval(
    replicates: F64, estimate: float, acceleration: float, level: float
) -> tuple[float, float]:
    """Return the BCa interval of the replicates of one parameter.

    Parameters
    ----------
    replicates
        Shape (b,).
    estimate
        Of the data themselves.
    acceleration
        By :func:`acceleration_of`.
    level
        Probability of the interval.

    Returns
    -------
    tuple
        NaN for an end that lies beyond all replicates.
    """
    bias = bias_correction(replicates, estimate)
    tail = 0.5 * (1.0 - level)
    ends = []
    for part in (tail, 1.0 - tail):
        moved = bias + normal_quantile(part)
        ends.append(quantile(replicates, _normal(bias + moved / (1.0 - acceleration * moved))))
    return ends[0], ends[1]


def bias_correction(replicates: F64, estimate: float) -> float:
    """Return the normal quantile of the share of replicates below the estimate."""
    below = float(np.mean(replicates < estimate)) + 0.5 * float(np.mean(replicates == estimate))
    least = 0.5 / replicates.size
    return normal_quantile(min(max(below, least), 1.0 - least))


def acceleration_of(influences: F64, more: float = 0.0) -> float:
    """Return the acceleration of one parameter.

    Parameters
    ----------
    influences
        Of independent parts of the data, shape (k,).
    more
        Variance from elsewhere that has no skewness, as of priors.
    """
    square = float(influences @ influences) + more
    return float(np.sum(influences**3)) / (6.0 * square**1.5) if square > 0.0 else 0.0


def quantile(replicates: F64, part: float) -> float:
    """Return a quantile: the order statistic ``(b + 1) * part``, NaN beyond the outermost ones.

    Between two of them it is interpolated (Davison and Hinkley 1997, section 5.2).
    """
    ordered = np.sort(replicates)
    place = (ordered.size + 1) * part
    if not 1.0 <= place <= ordered.size:
        return math.nan
    return float(np.interp(place, np.arange(1, ordered.size + 1), ordered))


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
