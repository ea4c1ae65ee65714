"""Comparison of measured and simulated outputs, and checks of the residuals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.estimation.diagnostics.disturbances import disturbance_notes, repetition_notes
from fmident.estimation.diagnostics.noise import repeated_residuals
from fmident.estimation.result import ExcludedSamples, OutputFit, ResidualCheck
from fmident.evaluation import Simulated, SimulationFailure
from fmident.findings import Finding, finding
from fmident.problem.residuals import (
    compared_sigma,
    compared_times,
    compared_values,
    predict,
    residual_layout,
)
from fmident.statistics import ParameterStatistics, residual_statistics

if TYPE_CHECKING:
    from fmident.data.experiment import Measurement
    from fmident.problem.model import Problem

UNLIKELY = 1e-6
"""A chi-square less probable than this says that the model does not explain the data."""

_ROUNDING = 1e-9
"""Residuals smaller than this part of the measured range are rounding, or the solver's error."""

_TOO_SMALL = 0.5
"""Chi-square per degree of freedom below which sigma cannot be that of the compared samples."""

_MANY = 50
"""Number of residuals from which their size says something about sigma."""

_UNEQUAL, _ENOUGH = 2.0, 10
"""Ratio of the noise of two outputs from which one variance for both misleads (88 % of intervals
of 95 % hold what the louder one shows), and samples that it takes to see it."""

_SHORT = 60
"""Samples of an output below which a correlation of 0.3 to 0.7 is hardly seen: intervals of 95 %
hold the truth in 79 to 88 % (docs/explanation/uncertainty.md)."""

_FAR_OUT, _TO_SIGMA = 6.0, 1.4826
"""Standard deviations from which on a residual is an outlier, and one of these over the median of
the absolute residuals of normal noise."""

_SOME, _MOST_SQUARES = 0.05, 0.5
"""Outliers are at most this part of the samples, and at least that one of the sum of squares."""

NOTICEABLE = 1.05
"""Chi-square per degree of freedom up to which a difference is of no consequence."""


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
    before, after = _arrays(initial), _arrays(final)
    if before is None or after is None:
        return ()
    fits = []
    first = predict(problem, before, problem.initial)
    last = predict(problem, after, p)
    for experiment, old, new in zip(problem.experiments, first, last, strict=True):
        for measurement, x, y in zip(experiment.measurements, old, new, strict=True):
            fits.append(_fit(experiment.name, experiment.times, measurement, x, y, residual_scale))
    return tuple(fits)


def check_residuals(
    problem: Problem, residuals: F64, fits: Sequence[OutputFit], statistics: ParameterStatistics
) -> ResidualCheck:
    """Return whether the residuals, whitened, look like the noise."""
    rank = statistics.identifiability.rank
    ratio = _noise_ratio(residuals, rank) if problem.sigma_known else float("nan")
    return ResidualCheck(
        ratio,
        max((c for _, c in coloured_fits(fits)), default=0.0),
        repeated=repeated_residuals(problem, residuals, statistics),
        outliers=_outliers(fits),
    )


def _outliers(fits: Sequence[OutputFit]) -> dict[str, int]:
    """Return the number of outliers by output, for outputs that have any.

    Errors of the model are large for several samples in a row; outliers are isolated.
    """
    counts: dict[str, int] = {}
    for fit in fits:
        if not fit.rms > _ROUNDING * _range(fit) or not (fit.sigma > 0.0).all():
            continue
        left = (fit.measured - fit.fitted) / fit.sigma
        left = left[np.isfinite(left)]
        if left.size < _MANY:
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
    if statistics.p_value >= UNLIKELY or statistics.reduced_chi2 <= NOTICEABLE:
        ratio = min(ratio, 1.0)
    return ratio


def coloured_fits(fits: Sequence[OutputFit]) -> list[tuple[OutputFit, float]]:
    """Return the fits whose neighbouring residuals are correlated, with the correlation.

    Residuals of the size of rounding errors, all that noise-free data leave, are left out.
    """
    coloured = []
    for fit in fits:
        if fit.rms > _ROUNDING * _range(fit):
            statistics = residual_statistics(fit.measured - fit.fitted)
            if not statistics.white and statistics.autocorrelation > 0.0:
                coloured.append((fit, statistics.autocorrelation))
    return coloured


def _range(fit: OutputFit) -> float:
    """Return the range of the measured values; NaN without samples."""
    known = fit.measured[np.isfinite(fit.measured)]
    return float(np.ptp(known)) if known.size else float("nan")


def residual_notes(
    problem: Problem,
    residuals: F64,
    fits: Sequence[OutputFit],
    statistics: ParameterStatistics,
    check: ResidualCheck,
) -> list[Finding]:
    """Return notes on the size and whiteness of the residuals and the effect on intervals."""
    notes = repetition_notes(check.repeated)
    notes += _noise_notes(problem, residuals, statistics)
    counted = statistics.linearisation.coloured
    notes += _unequal_notes(problem, residuals, fits, counts=counted is not None)
    if counted is not None and counted.uneven:
        notes.append(
            finding(
                "residuals-noise",
                "The noise is not equally large everywhere: residuals are larger or smaller where"
                " the parameters have more influence. The intervals allow for that (HC3).",
            )
        )
    if counted is not None and counted.model.shared:
        notes.append(
            finding(
                "residuals-noise",
                "The residuals of several outputs are correlated with each other: they have a"
                " common disturbance, or the model lacks something. The standard errors allow for"
                " that.",
            )
        )
    notes += disturbance_notes(problem, residuals, counted)
    if counted is None or not (counted.coloured or counted.whitened):
        notes += _short_notes(fits)
    coloured = [f"{c:.2f} for '{f.name}' of '{f.experiment}'" for f, c in coloured_fits(fits)]
    if coloured:
        listed = ", ".join(coloured[:3]) + (", ..." if len(coloured) > 3 else "")
        text = (
            f"Neighbouring residuals are correlated ({listed}): the model misses something or the "
            "noise is coloured"
        )
        if counted is not None and counted.coloured:
            text += ". The intervals allow for coloured noise, but not for a wrong model."
        else:
            text += ", and the true uncertainty is larger than the intervals."
        notes.append(finding("residuals-noise", text))
    return notes


def _short_notes(fits: Sequence[OutputFit]) -> list[Finding]:
    """Return notes on outputs with too few samples to show the colour of the noise."""
    counts: dict[str, int] = {}
    for fit in fits:
        known = int(np.count_nonzero(np.isfinite(fit.measured - fit.fitted)))
        noisy = fit.rms > _ROUNDING * _range(fit)
        counts[fit.name] = counts.get(fit.name, 0) + (known if noisy else 0)
    few = [f"{count} of '{name}'" for name, count in counts.items() if 0 < count < _SHORT]
    if not few:
        return []
    listed = ", ".join(few[:3]) + (", ..." if len(few) > 3 else "")
    return [
        finding(
            "residuals-short",
            f"There are too few samples ({listed}) to show whether the noise is white. The"
            " intervals assume that it is, and are too narrow if it is coloured.",
        )
    ]


def _noise_notes(
    problem: Problem, residuals: F64, statistics: ParameterStatistics
) -> list[Finding]:
    """Return notes on the given noise, and whether the residuals agree."""
    notes: list[str] = []
    measurements = [m for e in problem.experiments for m in e.measurements]
    unknown = [m for m in measurements if m.sigma is None]
    if problem.sigma_known:
        rank = statistics.identifiability.rank
        size = residual_statistics(residuals, rank)
        # A robust loss has intervals that do not count on sigma.
        robust = bool(np.isfinite(statistics.linearisation.freedom))
        # Noise that is not white is counted as the residuals show it, its size included.
        as_seen = statistics.linearisation.coloured is not None
        counts = "take the size of the residuals in its place"
        if size.p_value < UNLIKELY and size.reduced_chi2 > NOTICEABLE and not robust:
            notes.append(
                "The residuals are larger than the given sigma allows: the intervals"
                + (f" {counts}." if as_seen else ", which count on it, are too narrow.")
            )
        if residuals.size > _MANY and size.reduced_chi2 < _TOO_SMALL and not robust:
            notes.append(
                f"The residuals are only {np.sqrt(size.reduced_chi2):.2g} times as large as the "
                "given sigma: the intervals"
                + (f" {counts}." if as_seen else ", which count on it, are too wide.")
                + " With 'decimate', sigma is that of the decimated samples."
            )
        return [finding("residuals-noise", text) for text in notes]
    modelled = any(m.noise is not None for m in measurements)
    if np.isfinite(statistics.residual_variance) and not modelled:
        notes.append(
            "The noise is not given for every output; the intervals use the size of the residuals."
        )
    by_spread = sorted({m.variable for m in unknown if not m.weight_given})
    if by_spread and len({m.variable for m in unknown}) > 1:
        listed = ", ".join(map(repr, by_spread[:3])) + (", ..." if len(by_spread) > 3 else "")
        notes.append(
            f"These outputs have neither sigma nor weight ({listed}): each counts relative to the "
            "spread of its measured values. Give them a sigma or a weight if they should count "
            "otherwise."
        )
    if len(unknown) < len(measurements):
        notes.append(
            "Some outputs have a sigma and others have none: the estimated noise scales both."
        )
    return [finding("residuals-noise", text) for text in notes]


def _unequal_notes(
    problem: Problem, residuals: F64, fits: Sequence[OutputFit], *, counts: bool
) -> list[Finding]:
    """Return a note if outputs without sigma have noise of different size.

    The intervals may account for it. The estimate does not: noisier outputs have too much
    weight.
    """
    layout = residual_layout(problem)
    if problem.sigma_known or layout.size != residuals.size or not fits:
        return []
    places = [(i, j) for i, e in enumerate(problem.experiments) for j in range(len(e.measurements))]
    sizes = {}
    for (i, j), fit in zip(places, fits, strict=True):
        own = residuals[layout.rows_of(i, j)]
        spread = _range(fit)
        if own.size >= _ENOUGH and fit.rms > _ROUNDING * spread:
            sizes[f"'{fit.name}' of '{fit.experiment}'"] = float(np.sqrt(np.mean(own**2)))
    if len(sizes) < 2:
        return []
    loud, quiet = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    ratio = sizes[loud] / sizes[quiet]
    if ratio < _UNEQUAL:
        return []
    sizes_differ = (
        f"The residuals of {loud} are {ratio:.2g} times as large as those of {quiet}, each by its"
        " weight; "
    )
    effect = (
        "the intervals allow for that, but the estimate gives the former too much weight"
        if counts
        else "the intervals assume that they are equally large, and are too narrow where the"
        " former count, too wide where the latter do"
    )
    return [finding("residuals-noise", f"{sizes_differ}{effect}", "Give each output its sigma.")]


def _arrays(outputs: Sequence[Simulated]) -> list[F64] | None:
    arrays = [o for o in outputs if not isinstance(o, SimulationFailure)]
    return arrays if len(arrays) == len(outputs) else None


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
    """Return the root of the sum of squares, without missing samples."""
    return float(np.sqrt(np.nansum(values**2)))


def _rms(values: F64) -> float:
    count = int(np.count_nonzero(np.isfinite(values)))
    return _root_sum(values) / float(np.sqrt(count)) if count else float("nan")
