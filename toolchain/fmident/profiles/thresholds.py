"""How far tau may rise where more than white noise makes the parameters uncertain.

The likelihood of white noise of one size knows nothing of noise that is correlated, nor of errors
of values that are held. Its tau at the end of an interval is multiplied with the linearised half
width that counts these over that which does not: the likelihood ratio then has about its usual
distribution (Rotnitzky and Jewell, Biometrika 77, 1990). With two parameters the factor depends on
the direction d in which they move together: the cost counts ``d' W^-1 d``, with W their covariance
for white noise, where ``d' V^-1 d`` has the distribution, with V the one that counts the rest
(vertical adjustment: Chandler and Bate, Inference for clustered data using the independence
loglikelihood, Biometrika 94, 2007). Both are exact in a linear model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.profiles.result import JointRegion, ParameterProfile
from fmident.statistics import Linearisation, ParameterStatistics
from fmident.statistics.distributions import student_quantile
from fmident.statistics.likelihood import critical_tau, joint_freedom

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, eq=False)
class Counted:
    """Uncertainty of the parameters beyond what the cost knows.

    Parameters
    ----------
    covariance
        Of the free parameters, shape (n, n); NaN where it is not known.
    each_freedom
        Degrees of freedom of their variances, shape (n,).
    linearisation
        From which those of combinations follow; ``None`` where they are not known: the smallest of
        the parameters' is taken.
    least
        Factor on tau at least.
    counts_noise
        Whether it counts noise that is not white noise of one size.
    """

    covariance: F64
    each_freedom: F64
    linearisation: Linearisation | None = None
    least: float = 0.0
    counts_noise: bool = False

    def freedoms(self, rows: F64) -> F64:
        """Return the degrees of freedom of combinations, shape (h,), of rows of shape (h, n)."""
        if self.linearisation is not None:
            return self.linearisation.freedoms(rows)
        takes_part = np.where(rows != 0.0, self.each_freedom, np.inf)
        least: F64 = np.min(takes_part, axis=1)
        return least


def counted_from_noise(noisy: ParameterStatistics) -> Counted:
    """Return what noise that is not white noise of one size does to the parameters.

    No factor is below 1: next to a wrong minimum, the misfit may look like noise that narrows the
    intervals.
    """
    return Counted(noisy.covariance, noisy.freedoms, noisy.linearisation, 1.0, counts_noise=True)


def interval_factor(
    white: ParameterStatistics, counted: Counted | None, index: int, level: float, critical: float
) -> float:
    """Return the factor on tau at the ends of the interval of one parameter; 1 where unknown.

    Parameters
    ----------
    white
        For white noise, all that is held exactly known.
    counted
        What counts; ``None``: nothing more.
    index
        Of the parameter.
    level
        Probability of the interval.
    critical
        Tau at its ends without the factor.
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
    """Where the region of two parameters ends in a linear model.

    Parameters
    ----------
    critical_tau
        At its edge, for white noise and all that is held exactly known.
    root
        Maps the unit circle to an ellipse in the search space, shape (2, 2): directions are spread
        evenly over it.
    metric
        Squared tau of a step of both parameters in a linear model, all others fitted again, shape
        (2, 2); ``None`` where it is not known.
    reach
        Length of steps, in the root's, up to the edge by what counts beyond white noise; ``None``
        where nothing does.
    least
        Factor on tau at least.
    """

    critical_tau: float
    root: F64
    metric: F64 | None
    reach: float | None = None
    least: float = 0.0

    def direction(self, angle: float) -> F64:
        """Return the step of both parameters to which an angle belongs, shape (2,)."""
        found: F64 = self.root @ np.array([np.cos(angle), np.sin(angle)])
        return found

    def tau(self, angle: float) -> float:
        """Return tau at the edge in one direction."""
        if self.reach is None:
            return self.critical_tau
        return max(self.least * self.critical_tau, self.reach * self._slope(angle))

    def distance(self, angle: float) -> float:
        """Return how far the edge is away in a linear model, in steps of :meth:`direction`."""
        return self.tau(angle) / self._slope(angle)

    def _slope(self, angle: float) -> float:
        """Return tau of a step."""
        if self.metric is None:
            return 1.0
        step = self.direction(angle)
        return float(np.sqrt(step @ self.metric @ step))


def joint_threshold(
    pair: tuple[int, int],
    white: ParameterStatistics,
    counted: Counted | None,
    slopes: F64,
    sizes: F64,
    level: float,
    *,
    sigma_known: bool,
) -> JointThreshold:
    """Return where the region of two parameters ends.

    Parameters
    ----------
    pair
        Indices of the parameters.
    white, counted
        As of :func:`interval_factor`.
    slopes
        Of the physical parameters by those of the search space, shape (n,).
    sizes
        Of the parameters in the search space, shape (n,), for directions where no covariance is
        known.
    level
        Probability of the region.
    sigma_known
        Whether the noise was given.
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
) -> list[str]:
    """Return how noise that is not white of one size counts.

    Parameters
    ----------
    profiles, regions
        As found.
    coloured
        Whether the residuals are such noise.
    counted
        Whether the thresholds count it.
    """
    if not coloured:
        return []
    if not counted:
        return [
            "The residuals are not white noise of one size, for which the threshold holds: the true"
            " intervals are wider."
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
        "The residuals are not white noise of one size: tau at the ends is larger by what that does"
        f" to the linearised intervals, {', '.join(words)}."
    ]
