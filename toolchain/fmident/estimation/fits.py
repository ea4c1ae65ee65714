"""Measured and simulated outputs side by side, and whether their residuals look like noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.comparisons import (
    ExcludedSamples,
    OutputFit,
    ResidualCheck,
    coloured_fits,
)
from fmident.estimation.diagnostics import Fit
from fmident.estimation.diagnostics.noise import repeated_residuals
from fmident.evaluation import Simulated, SimulationFailure
from fmident.problem.residuals import compared_sigma, compared_times, compared_values, predict
from fmident.statistics.residuals import residual_statistics

if TYPE_CHECKING:
    from fmident.data.experiment import Measurement
    from fmident.problem.model import Problem


_FEWEST = 50
"""Residuals of an output below which no outliers are counted."""

_FAR_OUT, _TO_SIGMA = 6.0, 1.4826
"""Standard deviations from which on a residual is an outlier, and one of these over the median of
the absolute residuals of normal noise."""

_SOME, _MOST_SQUARES = 0.05, 0.5
"""Outliers are at most this part of the samples, and at least that one of the sum of squares."""


def output_fits(
    problem: Problem,
    initial: Sequence[Simulated],
    final: Sequence[Simulated],
    p: F64,
    residual_scale: float = 1.0,
) -> tuple[OutputFit, ...]:
    """Return one fit per output and experiment; empty if a simulation failed.

    `initial` and `final` are the outputs of the FMU at the initial and the final
    parameters, one item per experiment; `residual_scale` is the standard deviation
    estimated from the whitened residuals, for outputs without sigma.
    """
    before = [o for o in initial if not isinstance(o, SimulationFailure)]
    after = [o for o in final if not isinstance(o, SimulationFailure)]
    if len(before) < len(initial) or len(after) < len(final):
        return ()
    fits = []
    first = predict(problem, before, problem.initial)
    last = predict(problem, after, p)
    for experiment, old, new in zip(problem.experiments, first, last, strict=True):
        for measurement, x, y in zip(experiment.measurements, old, new, strict=True):
            fits.append(_fit(experiment.name, experiment.times, measurement, x, y, residual_scale))
    return tuple(fits)


def check_residuals(fit: Fit) -> ResidualCheck:
    """Return whether the residuals, whitened, look like the noise."""
    rank = fit.statistics.identifiability.rank
    known = fit.problem.sigma_known
    return ResidualCheck(
        _noise_ratio(fit.residuals, rank) if known else float("nan"),
        max((c for _, c in coloured_fits(fit.fits)), default=0.0),
        repeated=repeated_residuals(fit.problem, fit.residuals, fit.statistics.local),
        outliers=_outliers(fit.fits),
    )


def _outliers(fits: Sequence[OutputFit]) -> dict[str, int]:
    """Return the number of outliers by output, for outputs that have any.

    Errors of the model are large for several samples in a row; outliers are isolated.
    """
    counts: dict[str, int] = {}
    for fit in fits:
        if not fit.is_noisy or not (fit.sigma > 0.0).all():
            continue
        left = (fit.measured - fit.fitted) / fit.sigma
        left = left[np.isfinite(left)]
        if left.size < _FEWEST:
            continue
        far = np.abs(left) > _FAR_OUT * _TO_SIGMA * float(np.median(np.abs(left)))
        alone = far & ~np.r_[False, far[:-1]] & ~np.r_[far[1:], False]
        share = float(np.sum(left[far] ** 2)) / float(np.sum(left**2))
        isolated = 2 * np.count_nonzero(alone) > np.count_nonzero(far)
        if isolated and np.mean(far) <= _SOME and share > _MOST_SQUARES:
            counts[fit.name] = counts.get(fit.name, 0) + int(np.count_nonzero(far))
    return counts


def check_fits(
    problem: Problem, fits: Sequence[OutputFit], parameters: int | None = None
) -> ResidualCheck | None:
    """Return whether the differences in the time domain look like the noise.

    For costs other than the plain one, whose residuals do not show the noise. ``None``
    without fits. `parameters` is the number fitted to these data; by default all free ones.
    """
    fitted = len(problem.free) if parameters is None else parameters
    if not fits:
        return None
    ratio = float("nan")
    if problem.sigma_known:
        whitened = np.concatenate([(f.measured - f.fitted) / f.sigma for f in fits])
        ratio = _noise_ratio(whitened[np.isfinite(whitened)], fitted)
    return ResidualCheck(ratio, max((c for _, c in coloured_fits(fits)), default=0.0))


def _noise_ratio(residuals: F64, parameters: int) -> float:
    """Return the size of whitened residuals; at most 1 if noise alone can explain it."""
    statistics = residual_statistics(residuals, parameters)
    ratio = float(np.sqrt(statistics.reduced_chi2))
    return ratio if statistics.exceeds_noise else min(ratio, 1.0)


def _fit(
    experiment: str,
    times: F64,
    measurement: Measurement,
    initial: F64,
    fitted: F64,
    residual_scale: float,
) -> OutputFit:
    excluded = tuple(
        ExcludedSamples(e.reason, e.samples.size, e.replaced, times[e.samples], e.values)
        for e in measurement.exclusions
    )
    times = compared_times(measurement, times)
    measured = compared_values(measurement)
    known = compared_sigma(measurement)
    noise = residual_scale / measurement.weight if known is None else known
    size = _root_sum(measured)
    residual = measured - fitted
    there = np.isfinite(residual)
    varies = bool(there.any()) and float(np.ptp(measured[there])) > 0.0
    spread = float(np.var(measured[there])) if varies else float("nan")
    return OutputFit(
        experiment=experiment,
        name=measurement.name,
        unit=measurement.unit,
        times=times,
        measured=measured,
        initial=initial,
        fitted=fitted,
        sigma=np.broadcast_to(np.asarray(noise, dtype=np.float64), times.shape),
        rms_initial=_rms(measured - initial),
        rms=_rms(residual),
        relative_error=_root_sum(residual) / size if size > 0.0 else float("nan"),
        nrmse=_rms(residual) / float(np.sqrt(spread)),
        vaf=1.0 - float(np.var(residual[there])) / spread if varies else float("nan"),
        excluded=excluded,
    )


def _root_sum(values: F64) -> float:
    return float(np.sqrt(np.nansum(values**2)))


def _rms(values: F64) -> float:
    count = int(np.count_nonzero(np.isfinite(values)))
    return _root_sum(values) / float(np.sqrt(count)) if count else float("nan")
