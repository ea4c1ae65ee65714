r"""Result of a bootstrap: errors, bias, intervals and bands from the replicates.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from fmident.arrays import F64
from fmident.estimation.diagnostics import recorded_outputs
from fmident.findings import Finding, Noted, finding
from fmident.prediction import OutputBand, drawn_bands
from fmident.prediction.predict import NoiseSize
from fmident.problem.model import Problem
from fmident.problem.residuals import residual_layout
from fmident.resampling.schemes import Method, Scheme, Weights
from fmident.statistics.distributions import (
    normal_quantile,
    student_quantile,
    student_quantiles,
)
from fmident.statistics.local_model import LocalModel
from fmident.views import Panels, frame, plot

if TYPE_CHECKING:
    import pandas as pd


Status = Literal["complete", "interrupted"]


_FOLLOWS = 0.8
"""Least squared correlation of replicates with their linearised estimates for these to be control
variates; below, they would add more chance than they take away."""


_WIDER = 1.02
"""Factor on the ends of intervals above which a note gives it."""


@dataclass(frozen=True)
class BootstrapParameter:
    """Bootstrap statistics of one parameter.

    Parameters
    ----------
    standard_error
        Standard deviation of the replicates; NaN if the data do not determine the
        parameter.
    bias
        Mean of the replicates minus the estimate.
    percentile, bca
        Intervals; NaN for an end beyond all replicates, infinite if the data do not
        determine the parameter.
    linearised_error, linearised
        Standard error and interval from the Jacobian, for independent noise.
    result_error, result_interval
        Those of the initial result, 95 %, with its noise model; NaN if it has none.
    acceleration
        Acceleration of the BCa interval.
    """

    name: str
    unit: str | None
    value: float
    bounds: tuple[float, float]
    standard_error: float
    bias: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    linearised_error: float
    linearised: tuple[float, float]
    acceleration: float
    result_error: float = float("nan")
    result_interval: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True)
class FailedReplicate:
    """A replicate without an estimate: its number, and the reason."""

    number: int
    reason: str


@dataclass(frozen=True, repr=False)
class BootstrapResult(Noted):
    """Estimates of replicates of the data, and derived statistics.

    Parameters
    ----------
    status
        ``"interrupted"`` after Ctrl-C, with the replicates so far.
    method, reason
        How the noise of the replicates was generated, and why.
    wanted, seed
        Number of replicates that were asked for, and seed of the random numbers.
    covariance, correlation
        Of the replicates, shape (n, n), physical units.
    numbers, replicates, costs
        Numbers of the fitted replicates, shape (b,), their estimates, shape (b, n), and costs.
    bands
        Of the fitted outputs.
    weights
        Factors of the wild bootstrap; ``None`` for the other methods.
    block_lengths
        Lengths of the moving blocks, by experiment and output, in samples.
    modelled
        Whether outputs have a noise model, on which the linearised values are then based.
    """

    contents: ClassVar[str] = "BOOTSTRAP"
    status: Status
    method: Method
    reason: str
    level: float
    wanted: int
    seed: int
    estimates: tuple[BootstrapParameter, ...]
    covariance: F64
    correlation: F64
    numbers: npt.NDArray[np.intp]
    replicates: F64
    costs: F64
    failed: tuple[FailedReplicate, ...]
    bands: tuple[OutputBand, ...]
    weights: Weights | None
    block_lengths: Mapping[str, int]
    simulations: int
    jacobians: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    modelled: bool = False

    def __repr__(self) -> str:
        return (
            f"<BootstrapResult {self.status}: {len(self.numbers)} replicates by '{self.method}' of "
            f"{', '.join(self.names)}>"
        )

    def plot_replicates(self, name: str | None = None, *, ax: Any = None) -> Panels:
        """Plot histograms of the replicates with the linearised densities, with Matplotlib.

        Parameters
        ----------
        name
            Name of a parameter; all by default.
        ax
            Axes to draw on, one for each parameter; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            There is no such parameter, or the number of axes differs.
        """
        return plot("plot_replicates", self, name, ax)

    def plot_corner(self, *, ax: Any = None) -> Panels:
        """Plot the replicates of each pair of parameters, and their histograms.

        Parameters
        ----------
        ax
            n x n axes to draw on, for n parameters (10 at most); a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Row by row, shape (n * n,); those above the diagonal are empty.

        Raises
        ------
        fmident.errors.EstimationError
            The number of axes differs.
        """
        return plot("plot_replicates_corner", self, ax)

    def plot_bands(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Plot fitted outputs with their bands, like ``Prediction.plot_bands``."""
        return plot("plot_bands", self.bands, self.level, output, experiment, ax)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return tuple(e.name for e in self.estimates)

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per parameter, indexed by name."""
        rows = [
            {
                "value": e.value,
                "standard_error": e.standard_error,
                "bias": e.bias,
                "bca_low": e.bca[0],
                "bca_high": e.bca[1],
                "percentile_low": e.percentile[0],
                "percentile_high": e.percentile[1],
                "linearised_low": e.linearised[0],
                "linearised_high": e.linearised[1],
                "result_interval_low": e.result_interval[0],
                "result_interval_high": e.result_interval[1],
                "unit": e.unit,
            }
            for e in self.estimates
        ]
        return frame(rows, index=self.names)

    @property
    def intervals(self) -> pd.DataFrame:
        """The same as `parameters`."""
        return self.parameters

    @property
    def table(self) -> pd.DataFrame:
        """The replicates, one row each: number, cost, parameters."""
        columns = {name: self.replicates[:, j] for j, name in enumerate(self.names)}
        return frame({"replicate": self.numbers, "cost": self.costs, **columns})


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


def bands_of(
    problem: Problem,
    fitted: Fitted,
    residuals: F64,
    sizes: Mapping[tuple[str, str], NoiseSize],
    level: float,
) -> tuple[OutputBand, ...]:
    """Return the bands of the fitted outputs.

    `residuals` are the whitened ones of the data at the estimate, shape (m,), and `sizes`
    the noise levels by experiment and output.
    """
    times, bands = residual_layout(problem).time, []
    place = np.full(times.size, -1)
    place[fitted.kept] = np.arange(fitted.kept.size)
    for output in recorded_outputs(problem):
        chosen = place[output.rows] >= 0
        if not bool(chosen.any()):
            continue
        experiment, measurement = output.experiment, output.measurement
        rows, scale = output.rows[chosen], measurement.whitening[chosen]
        measured = measurement.compared[measurement.rows][chosen]
        predicted = measured - residuals[rows] / scale
        draws = measured - fitted.simulated[:, place[rows]] / scale
        size = sizes[experiment.name, measurement.name]
        noise = size.size / scale
        ends = drawn_bands(predicted, draws, noise, size.freedom, level)
        bands.append(
            OutputBand(
                experiment.name, measurement.name, measurement.unit, times[rows], measured,
                predicted, *ends, noise,
            )
        )  # fmt: skip
    return tuple(bands)


def parameters_of(
    problem: Problem,
    p: F64,
    statistics: LocalModel,
    scheme: Scheme,
    fitted: Fitted,
    level: float,
) -> tuple[tuple[BootstrapParameter, ...], F64, list[Finding]]:
    """Return errors, bias and intervals of all parameters, their covariance, and findings.

    `p` is the estimate, shape (n,), with its statistics; `level` is the probability of the
    intervals.
    """
    priors = fitted.answers[:, statistics.samples :] * statistics.noise
    data = fitted.answers[:, : statistics.samples]
    control = scheme.covariance(data) + priors @ priors.T
    covariance, bias = _with_control(fitted.values - p, fitted.linear, control)
    lost = _lost(statistics)
    covariance[lost] = covariance[:, lost] = np.nan
    bias[lost] = np.nan
    errors = np.sqrt(np.diag(covariance))
    influences = scheme.influences(data)
    farther = _farther(scheme, data, level)
    linearised, linearised_errors = statistics.intervals_of(level), statistics.standard_errors
    parameters, unresolved = [], []
    for j, q in enumerate(problem.free):
        acceleration = 0.0
        if not scheme.symmetric:
            acceleration = acceleration_of(influences[j], float(priors[j] @ priors[j]))
        intervals = [(-np.inf, np.inf)] * 2
        if not lost[j]:
            replicates, value = fitted.values[:, j], float(p[j])
            ends = (
                percentile_interval(replicates, level),
                bca_interval(replicates, value, acceleration, level),
            )
            intervals = [_moved_out(both, value, farther[j]) for both in ends]
            if not bool(np.isfinite(ends).all()):
                unresolved.append(q.name)
        parameters.append(
            BootstrapParameter(
                name=q.name,
                unit=q.unit,
                value=float(p[j]),
                bounds=(q.lower, q.upper),
                standard_error=float(errors[j]),
                bias=float(bias[j]),
                percentile=intervals[0],
                bca=intervals[1],
                linearised_error=float(linearised_errors[j]),
                linearised=(float(linearised[j, 0]), float(linearised[j, 1])),
                acceleration=acceleration,
            )
        )
    names = list(compress((q.name for q in problem.free), lost))
    notes = _farther_notes(problem, farther, lost)
    notes += _interval_notes(names, unresolved, len(fitted.numbers))
    return tuple(parameters), covariance, notes


def _interval_notes(lost: Sequence[str], unresolved: Sequence[str], count: int) -> list[Finding]:
    notes = []
    if lost:
        text = (
            f"The data do not determine {', '.join(lost)}: the replicates leave such parameters"
            " where they are along the open directions, and no interval follows from them."
        )
        notes.append(finding("not-identifiable", text))
    if unresolved:
        text = (
            f"{count} replicates do not reach as far as the ends of the intervals of"
            f" {', '.join(unresolved)}: take more (-n)."
        )
        notes.append(finding("replicates-few", text))
    return notes


def _farther(scheme: Scheme, answers: F64, level: float) -> F64:
    """Return the factor on the distance of the ends from the estimate, shape (n,).

    All replicates have noise of one model, which is itself estimated: their quantiles are
    normal where Student's t would be correct (expanded percentiles: Hesterberg, The
    American Statistician 69, 2015, section 5.3, here with effective degrees of freedom).
    """
    normal = student_quantile(0.5 * (1.0 + level), np.inf)
    return student_quantiles(level, scheme.freedoms(answers)) / normal


def _moved_out(ends: tuple[float, float], value: float, factor: float) -> tuple[float, float]:
    low, high = (float(value + factor * (end - value)) for end in ends)
    return low, high


def _farther_notes(problem: Problem, farther: F64, lost: npt.NDArray[np.bool_]) -> list[Finding]:
    known = np.where(lost | ~np.isfinite(farther), 1.0, farther)
    most = int(np.argmax(known))
    if known[most] < _WIDER:
        return []
    return [
        finding(
            "noise-counted",
            "The data determine the autoregression of the noise with few degrees of freedom: as"
            " Student's t requires, the ends of the intervals are farther out,"
            f" {known[most]:.3g} times for {problem.free[most].name}.",
        )
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


def _lost(statistics: LocalModel) -> npt.NDArray[np.bool_]:
    """Return the mask of parameters that the data do not determine, shape (n,)."""
    return statistics.is_open if np.isfinite(statistics.noise) else ~statistics.on_bound


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
    corrected = bias + np.array([normal_quantile(tail), normal_quantile(1.0 - tail)])
    low, high = ndtr(bias + corrected / (1.0 - acceleration * corrected))
    return quantile(replicates, low), quantile(replicates, high)


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
    if not 1.0 <= (replicates.size + 1) * part <= replicates.size:
        return math.nan
    return float(np.quantile(replicates, part, method="weibull"))
