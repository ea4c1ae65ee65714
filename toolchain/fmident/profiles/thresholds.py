"""Thresholds of tau that account for more than white noise.

The likelihood of white noise of equal variance ignores correlated noise and errors of
held values. Therefore tau at the end of an interval is multiplied by the ratio of the
linearised half widths with and without these; the likelihood ratio then approximately
has its usual distribution (Rotnitzky and Jewell, Biometrika 77, 1990). For two
parameters the factor depends on the direction d of their joint step: the cost measures
``d' W^-1 d``, with their white-noise covariance W, whereas ``d' V^-1 d``, with the full
covariance V, has the required distribution (vertical adjustment: Chandler and Bate,
Inference for clustered data using the independence loglikelihood, Biometrika 94, 2007).
Both are exact in a linear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator

from fmident.arrays import F64
from fmident.findings import Finding, finding
from fmident.profiles.result import JointRegion, ParameterProfile, ProfilePoint
from fmident.statistics.distributions import critical_tau, joint_freedom, student_quantile
from fmident.statistics.local_model import LocalModel

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Counted:
    """Parameter uncertainty that the cost does not account for.

    The `covariance` of the free parameters, shape (n, n), is NaN if unknown; `each_freedom`
    are the degrees of freedom of their variances, shape (n,). `local` determines
    those of linear combinations; if ``None``, the minimum of the parameters' is used.
    `least` is the minimum factor on tau, and `counts_noise` tells whether noise other than
    white noise of equal variance is included.
    """

    covariance: F64
    each_freedom: F64
    local: LocalModel | None = None
    least: float = 0.0
    counts_noise: bool = False

    def freedoms(self, rows: F64) -> F64:
        """Return the degrees of freedom, shape (h,), of linear combinations, shape (h, n)."""
        if self.local is not None:
            return self.local.freedoms(rows)
        takes_part = np.where(rows != 0.0, self.each_freedom, np.inf)
        least: F64 = np.min(takes_part, axis=1)
        return least


def interval_factor(
    white: LocalModel, counted: Counted | None, index: int, level: float, critical: float
) -> float:
    """Return the factor on tau at the ends of the interval of a parameter; 1 if unknown.

    `white` are the statistics for white noise and exactly known held values, `counted` the
    additional uncertainty, if any, and `critical` is tau at the ends without the factor.
    `level` is the probability of the interval.
    """
    if counted is None:
        return 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = counted.covariance[index, index] / white.covariance[index, index]
        quantile = student_quantile(0.5 * (1.0 + level), float(counted.each_freedom[index]))
        factor = float(np.sqrt(variance)) * quantile / critical
    return max(factor, counted.least) if np.isfinite(factor) and factor > 0.0 else 1.0


@dataclass(frozen=True, eq=False)
class JointThreshold:
    """Edge of the region of two parameters in a linear model.

    `critical_tau` is tau on the edge for white noise and exactly known held values. `root`
    maps the unit circle to an ellipse in the search space, shape (2, 2), on which
    directions are evenly spaced. `metric` is the quadratic form giving the squared tau of a
    step of both parameters with all others refitted, shape (2, 2); ``None`` if unknown.
    `reach` is the length of steps, in units of the root, up to the edge with the additional
    uncertainty, ``None`` without it, and `least` the minimum factor on tau.
    """

    critical_tau: float
    root: F64
    metric: F64 | None
    reach: float | None = None
    least: float = 0.0

    def direction(self, angle: float) -> F64:
        """Return the step of both parameters for an angle, shape (2,)."""
        step: F64 = self.root @ np.array([np.cos(angle), np.sin(angle)])
        return step

    def tau(self, angle: float) -> float:
        """Return tau on the edge in one direction."""
        if self.reach is None:
            return self.critical_tau
        return max(self.least * self.critical_tau, self.reach * self._slope(angle))

    def distance(self, angle: float) -> float:
        """Return the distance of the edge in a linear model, in steps of :meth:`direction`."""
        return self.tau(angle) / self._slope(angle)

    def _slope(self, angle: float) -> float:
        """Return tau of a unit step."""
        if self.metric is None:
            return 1.0
        step = self.direction(angle)
        return float(np.sqrt(step @ self.metric @ step))


def joint_threshold(
    pair: tuple[int, int],
    white: LocalModel,
    counted: Counted | None,
    slopes: F64,
    sizes: F64,
    level: float,
    *,
    sigma_known: bool,
) -> JointThreshold:
    """Return the edge of the region of the two parameters whose indices are `pair`.

    `white` and `counted` are as in :func:`interval_factor`; `slopes` are the derivatives of
    the physical parameters with respect to the search space and `sizes` the parameter
    scales there, for directions without a known covariance, shape (n,). `level` is the
    probability of the region.
    """
    both = list(pair)
    scale = np.outer(slopes[both], slopes[both])
    plain = critical_tau(level, white.degrees_of_freedom, sigma_known=sigma_known, parameters=2)
    root = _cholesky(white.covariance[np.ix_(both, both)] / scale)
    if root is None:
        return JointThreshold(plain, np.diag(sizes[both]), None)
    metric: F64 = np.asarray(np.linalg.inv(root @ root.T))
    if counted is None:
        return JointThreshold(plain, root, metric)
    wider = _cholesky(counted.covariance[np.ix_(both, both)] / scale)
    if wider is None:
        return JointThreshold(plain, root, metric)
    # Two combinations that are independent both with white noise and with what counts.
    _, ways = np.linalg.eigh(wider.T @ metric @ wider)
    rows = np.zeros((2, slopes.size))
    rows[:, both] = ways.T @ np.linalg.inv(wider) / slopes[both]
    rows[np.abs(rows) < _NEGLIGIBLE * np.abs(rows).max()] = 0.0
    freedom = joint_freedom(counted.freedoms(rows))
    reach = critical_tau(level, freedom, sigma_known=bool(np.isinf(freedom)), parameters=2)
    return JointThreshold(plain, wider, metric, reach, counted.least)


def _cholesky(covariance: F64) -> F64 | None:
    if not bool(np.isfinite(covariance).all()):
        return None
    try:
        return np.asarray(np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        return None


def about_thresholds(
    profiles: Sequence[ParameterProfile],
    regions: Sequence[JointRegion],
    *,
    coloured: bool,
    counted: bool,
) -> list[Finding]:
    """Return notes on how noise other than white noise of equal variance is accounted for.

    `coloured` says whether the residuals are such noise, `counted` whether the thresholds
    include it.
    """
    if not coloured:
        return []
    if not counted:
        return [
            finding(
                "interval-poor",
                "The residuals are not white noise of one size, for which the threshold holds: "
                "the true intervals are wider.",
            )
        ]
    words = []
    if profiles:
        most = max(profiles, key=lambda p: abs(np.log(p.factor)))
        words.append(f"by {most.factor:.3g} for {most.name}")
    for region in regions:
        low, high = region.factors
        names = " and ".join(region.names)
        words.append(f"by {low:.3g} to {high:.3g} around the region of {names}")
    return [
        finding(
            "noise-counted",
            "The residuals are not white noise of one size: tau at the ends is larger by what "
            f"that does to the linearised intervals, {', '.join(words)}.",
        )
    ]


def tau_curve(points: Sequence[ProfilePoint], values: F64) -> F64:
    """Interpolate tau at `values`, shape (k,), by a monotone curve; NaN outside the points.

    `points` are sorted by value. Tau is interpolated rather than the cost because it is a
    straight line where the cost is a parabola.
    """
    x = np.array([p.value for p in points])
    y = np.array([p.tau for p in points])
    x, first = np.unique(x, return_index=True)
    if x.size < 2:
        return np.where(np.isin(values, x), y[first][0], np.nan)
    tau: F64 = PchipInterpolator(x, y[first], extrapolate=False)(values)
    return tau
