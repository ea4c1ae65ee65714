r"""Statistics of replicates: errors, bias, intervals, bands.

Mean and covariance of the replicates use the linearised estimates of the same
replicates as control variates: their mean and covariance over all draws are known in
closed form, so that only the difference is random (Davison and Hinkley, Bootstrap
Methods and their Application, 1997, sections 9.3.1 and 9.3.2),

.. math:: \operatorname{Cov} = \operatorname{Cov}_\infty(\ell)
    + \widehat{\operatorname{Cov}}(\theta^*) - \widehat{\operatorname{Cov}}(\ell).

The intervals are percentiles of the replicates themselves. The BCa interval corrects
percentiles for bias: it takes

.. math:: \Phi\!\left(z_0 + \frac{z_0 + z}{1 - a (z_0 + z)}\right)

with the normal quantile :math:`z` of each end, the bias :math:`z_0` from the fraction
of replicates below the estimate, and the acceleration :math:`a`, a sixth of the
skewness of the influences of the samples (Efron, Journal of the American Statistical
Association 82, 1987; Efron and Tibshirani, An Introduction to the Bootstrap, 1993,
sections 14.3 and 22.6). The influences are those of the infinitesimal jackknife: the
contribution of each residual to the estimate by the Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.prediction import OutputBand, drawn_bands
from fmident.prediction.noise import NoiseSize
from fmident.problem.residuals import residual_layout
from fmident.resampling.result import BootstrapParameter
from fmident.resampling.schemes import Scheme
from fmident.statistics import ParameterStatistics
from fmident.statistics.distributions import normal_quantile
from fmident.statistics.uncertainty import t_quantile

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_FOLLOWS = 0.8
"""Squared correlation of replicates with their linearised estimates from which on these are control
variates; below, they would add more chance than they take away."""


_WIDER = 1.02
"""Factor on the ends of intervals from which on it is said."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The b fitted replicates.

    `values` are estimates in physical units, shape (b, n). `simulated` are residuals of the
    data at the estimate of each replicate, at the k rows `kept`, shape (b, k). `linear` is
    the change of the linearised estimate, shape (b, n), and `answers` that per residual,
    priors after the data, shape (n, m + q).
    """

    numbers: npt.NDArray[np.intp]
    values: F64
    costs: F64
    simulated: F64
    kept: npt.NDArray[np.intp]
    linear: F64
    answers: F64


@dataclass(frozen=True, eq=False)
class Summary:
    """Statistics of the replicates."""

    problem: Problem
    fitted: Fitted
    level: float
    parameters: tuple[BootstrapParameter, ...]
    covariance: F64
    correlation: F64
    notes: tuple[str, ...]

    def bands(
        self, residuals: F64, sizes: Mapping[tuple[str, str], NoiseSize]
    ) -> tuple[OutputBand, ...]:
        """Return the bands of the fitted outputs.

        `residuals` are the whitened ones of the data at the estimate, shape (m,), and `sizes`
        the noise levels by experiment and output.
        """
        layout, bands = residual_layout(self.problem), []
        place = np.full(layout.size, -1)
        place[self.fitted.kept] = np.arange(self.fitted.kept.size)
        for i, experiment in enumerate(self.problem.experiments):
            for j, measurement in enumerate(experiment.measurements):
                whole = layout.rows_of(i, j)
                chosen = place[whole] >= 0
                if not bool(chosen.any()):
                    continue
                rows, scale = whole[chosen], measurement.whitening[chosen]
                measured = measurement.compared[measurement.rows][chosen]
                predicted = measured - residuals[rows] / scale
                draws = measured - self.fitted.simulated[:, place[rows]] / scale
                size = sizes[experiment.name, measurement.name]
                noise = size.size / scale
                ends = drawn_bands(predicted, draws, noise, size.freedom, self.level)
                bands.append(
                    OutputBand(
                        experiment.name, measurement.name, measurement.unit, layout.time[rows],
                        measured, predicted, *ends, noise,
                    )
                )  # fmt: skip
        return tuple(bands)


def parameters_of(
    problem: Problem,
    p: F64,
    statistics: ParameterStatistics,
    scheme: Scheme,
    fitted: Fitted,
    level: float,
) -> Summary:
    """Return errors, bias and intervals of all parameters.

    `p` is the estimate, shape (n,), with its statistics; `level` is the probability of the
    intervals.
    """
    linear = statistics.linearisation
    priors = fitted.answers[:, linear.samples :] * linear.noise
    data = fitted.answers[:, : linear.samples]
    control = scheme.covariance(data) + priors @ priors.T
    deviations = fitted.values - p
    covariance, bias = _with_control(deviations, fitted.linear, control)
    lost = _lost(statistics)
    covariance[lost] = covariance[:, lost] = np.nan
    errors = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.where(errors > 0.0, covariance / np.outer(errors, errors), np.nan)
    influences = scheme.influences(data)
    farther = _farther(scheme, data, level)
    parameters, notes = [], _farther_notes(problem, farther, lost)
    unresolved = []
    for j, q in enumerate(problem.free):
        acceleration = 0.0
        if not scheme.symmetric:
            acceleration = acceleration_of(influences[j], float(priors[j] @ priors[j]))
        open_ends = (-np.inf, np.inf)
        percentile = percentile_interval(fitted.values[:, j], level)
        bca = bca_interval(fitted.values[:, j], float(p[j]), acceleration, level)
        if not bool(np.isfinite([*percentile, *bca]).all()) and not lost[j]:
            unresolved.append(q.name)
        parameters.append(
            BootstrapParameter(
                name=q.name,
                unit=q.unit,
                value=float(p[j]),
                bounds=(q.lower, q.upper),
                standard_error=float(errors[j]),
                bias=float("nan") if lost[j] else float(bias[j]),
                percentile=open_ends if lost[j] else _moved_out(percentile, p[j], farther[j]),
                bca=open_ends if lost[j] else _moved_out(bca, p[j], farther[j]),
                linearised_error=float(statistics.standard_errors[j]),
                linearised=_linearised(statistics, p, j, level),
                acceleration=acceleration,
            )
        )
    if bool(lost.any()):
        names = ", ".join(
            q.name for q, undetermined in zip(problem.free, lost, strict=True) if undetermined
        )
        notes.append(
            f"The data do not determine {names}: the replicates leave such parameters where they "
            "are along the open directions, and no interval follows from them."
        )
    if unresolved:
        notes.append(
            f"{len(fitted.numbers)} replicates do not reach as far as the ends of the intervals of "
            f"{', '.join(unresolved)}: take more (-n)."
        )
    return Summary(problem, fitted, level, tuple(parameters), covariance, correlation, tuple(notes))


def _farther(scheme: Scheme, answers: F64, level: float) -> F64:
    """Return the factor on the distance of the ends from the estimate, shape (n,).

    All replicates have noise of one model, which is itself estimated: their quantiles are
    normal where Student's t would be correct (expanded percentiles: Hesterberg, The
    American Statistician 69, 2015, section 5.3, here with effective degrees of freedom).
    """
    freedoms = scheme.freedoms(answers)
    normal = t_quantile(level, np.inf)
    return np.array(
        [1.0 if np.isinf(f) else t_quantile(level, float(f)) / normal for f in freedoms]
    )


def _moved_out(ends: tuple[float, float], value: float, factor: float) -> tuple[float, float]:
    low, high = (float(value + factor * (end - value)) for end in ends)
    return low, high


def _farther_notes(problem: Problem, farther: F64, lost: npt.NDArray[np.bool_]) -> list[str]:
    known = np.where(lost | ~np.isfinite(farther), 1.0, farther)
    most = int(np.argmax(known))
    if known[most] < _WIDER:
        return []
    return [
        "The noise is that of an autoregression which the data tell with few degrees of freedom: "
        f"the ends of the intervals are farther out, as Student's t has it, {known[most]:.3g} times"
        f" for {problem.free[most].name}."
    ]


def _with_control(moved: F64, linear: F64, known: F64) -> tuple[F64, F64]:
    """Return covariance and mean of the replicates, using control variates if correlated.

    `moved` and `linear` are the deviations of the replicates and their linearised estimates
    from the estimate, shape (b, n); `known` is the covariance of the latter over all draws,
    shape (n, n).
    """
    centred, straight = moved - moved.mean(axis=0), linear - linear.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        square = np.sum(centred * straight, axis=0) ** 2
        square = square / (np.sum(centred**2, axis=0) * np.sum(straight**2, axis=0))
    follows = np.nan_to_num(square) >= _FOLLOWS
    used, most = np.outer(follows, follows), len(moved) - 1
    plain = centred.T @ centred / most
    covariance = np.where(used, known + plain - straight.T @ straight / most, plain)
    # Two kinds of entries need not make a positive matrix, nor a difference.
    if not bool(follows.all()) or float(np.linalg.eigvalsh(_scaled(covariance))[0]) < 0.0:
        covariance = np.where(np.eye(len(known), dtype=np.bool_), covariance, plain)
        ratio = np.sqrt(np.maximum(np.diag(covariance), 0.0) / np.diag(plain))
        covariance = plain * np.outer(ratio, ratio)
    mean = np.where(follows, (moved - linear).mean(axis=0), moved.mean(axis=0))
    return covariance, mean


def _scaled(covariance: F64) -> F64:
    sizes = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    safe = np.where(sizes > 0.0, sizes, 1.0)
    correlation: F64 = covariance / np.outer(safe, safe)
    return correlation


def _lost(statistics: ParameterStatistics) -> npt.NDArray[np.bool_]:
    """Return the mask of parameters that the data do not determine, shape (n,)."""
    return np.asarray(np.isinf(statistics.intervals).any(axis=1), dtype=np.bool_)


def _linearised(
    statistics: ParameterStatistics, p: F64, j: int, level: float
) -> tuple[float, float]:
    low, high = statistics.intervals[j]
    if not (np.isfinite(low) and np.isfinite(high)):
        return float(low), float(high)
    error = float(statistics.standard_errors[j])
    half = t_quantile(level, statistics.linearisation.freedom) * error
    return float(p[j]) - half, float(p[j]) + half


def percentile_interval(replicates: F64, level: float) -> tuple[float, float]:
    """Return the percentile interval of the replicates of one parameter, shape (b,)."""
    tail = 0.5 * (1.0 - level)
    return quantile(replicates, tail), quantile(replicates, 1.0 - tail)


def bca_interval(
    replicates: F64, estimate: float, acceleration: float, level: float
) -> tuple[float, float]:
    """Return the BCa interval of the replicates of one parameter, shape (b,).

    An end beyond all replicates is NaN. `estimate` is from the data themselves, and
    `acceleration` from :func:`acceleration_of`.
    """
    bias = bias_correction(replicates, estimate)
    tail = 0.5 * (1.0 - level)
    ends = []
    for part in (tail, 1.0 - tail):
        corrected = bias + normal_quantile(part)
        ends.append(
            quantile(replicates, _normal(bias + corrected / (1.0 - acceleration * corrected)))
        )
    return ends[0], ends[1]


def bias_correction(replicates: F64, estimate: float) -> float:
    """Return the normal quantile of the fraction of replicates below the estimate."""
    below = float(np.mean(replicates < estimate)) + 0.5 * float(np.mean(replicates == estimate))
    least = 0.5 / replicates.size
    return normal_quantile(min(max(below, least), 1.0 - least))


def acceleration_of(influences: F64, more: float = 0.0) -> float:
    """Return the acceleration of one parameter.

    `influences` are those of independent parts of the data, shape (k,), and `more` is
    further variance without skewness, such as that of priors.
    """
    square = float(influences @ influences) + more
    return float(np.sum(influences**3)) / (6.0 * square**1.5) if square > 0.0 else 0.0


def quantile(replicates: F64, part: float) -> float:
    """Return a quantile: the order statistic ``(b + 1) * part``, NaN beyond the extremes.

    It is interpolated between two of them (Davison and Hinkley 1997, section 5.2).
    """
    ordered = np.sort(replicates)
    place = (ordered.size + 1) * part
    if not 1.0 <= place <= ordered.size:
        return math.nan
    return float(np.interp(place, np.arange(1, ordered.size + 1), ordered))


def _normal(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))
