"""Compare measured and simulated outputs, check the residuals, and validate a result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.estimation.comparisons import (
    ExcludedSamples,
    OutputFit,
    ResidualCheck,
    Validation,
    coloured_fits,
)
from fmident.estimation.diagnostics import Fit, recorded_outputs
from fmident.estimation.diagnostics.input_courses import gathered_residuals, other_courses
from fmident.estimation.diagnostics.noise import repeated_residuals
from fmident.estimation.diagnostics.notes import course_notes
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, JacobianError, Simulated, SimulationFailure
from fmident.findings import Finding, finding
from fmident.problem.cost import TimeDomain
from fmident.problem.residuals import (
    compared_sigma,
    compared_times,
    compared_values,
    predict,
    residual_layout,
)
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.residuals import residual_statistics
from fmident.words import listed, quoted

if TYPE_CHECKING:
    from fmident.data.experiment import Measurement
    from fmident.evaluation import Executor
    from fmident.problem.model import Problem


UNLIKELY = 1e-6
"""A chi-square less probable than this says that the model does not explain the data."""

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


_RELATIVE = 1e-9
"""Part of the largest singular value below which a direction does not count."""


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


def kinds_of_noise(fit: Fit) -> Iterator[Finding]:
    """Note noise that changes its size, or that outputs have in common."""
    counted = fit.statistics.local.coloured
    if counted is not None and counted.uneven:
        yield finding(
            "noise-uneven",
            "The noise is not equally large everywhere: residuals are larger or smaller where"
            " the parameters have more influence. The intervals allow for that (HC3).",
        )
    if counted is not None and counted.model.shared:
        yield finding(
            "noise-shared",
            "The residuals of several outputs are correlated with each other: they have a"
            " common disturbance, or the model lacks something. The standard errors allow for"
            " that.",
        )


def correlated_residuals(fit: Fit) -> Iterator[Finding]:
    """Note correlated neighbours, or that there are too few samples to show them."""
    counted = fit.statistics.local.coloured
    if counted is None or not (counted.coloured or counted.whitened):
        counts: dict[str, int] = {}
        for one in fit.fits:
            known = int(np.count_nonzero(np.isfinite(one.measured - one.fitted)))
            counts[one.name] = counts.get(one.name, 0) + (known if one.is_noisy else 0)
        few = [f"{count} of '{name}'" for name, count in counts.items() if 0 < count < _SHORT]
        if few:
            yield finding(
                "residuals-short",
                f"There are too few samples ({listed(few, 3)}) to show whether the noise is white."
                " The intervals assume that it is, and are too narrow if it is coloured.",
            )
    coloured = [f"{c:.2f} for '{f.name}' of '{f.experiment}'" for f, c in coloured_fits(fit.fits)]
    if coloured:
        effect = (
            ". The intervals allow for coloured noise, but not for a wrong model."
            if counted is not None and counted.coloured
            else ", and the true uncertainty is larger than the intervals."
        )
        yield finding(
            "residuals-coloured",
            f"Neighbouring residuals are correlated ({listed(coloured, 3)}): the model misses"
            f" something or the noise is coloured{effect}",
        )


def given_noise(fit: Fit) -> Iterator[Finding]:
    """Note a given noise with which the residuals disagree, and one that is not given."""
    statistics, residuals = fit.statistics, fit.residuals
    measurements = [m for e in fit.problem.experiments for m in e.measurements]
    if fit.problem.sigma_known:
        # A robust loss has intervals that do not count on sigma.
        if np.isfinite(statistics.local.freedom):
            return
        size = residual_statistics(residuals, statistics.identifiability.rank)
        # Noise that is not white is counted as the residuals show it, its size included.
        as_seen = statistics.local.coloured is not None
        counts = " take the size of the residuals in its place."
        if size.p_value < UNLIKELY and size.reduced_chi2 > NOTICEABLE:
            yield finding(
                "sigma-too-small",
                "The residuals are larger than the given sigma allows: the intervals"
                + (counts if as_seen else ", which count on it, are too narrow."),
            )
        if residuals.size > _MANY and size.reduced_chi2 < _TOO_SMALL:
            yield finding(
                "sigma-too-large",
                f"The residuals are only {np.sqrt(size.reduced_chi2):.2g} times as large as the "
                "given sigma: the intervals"
                + (counts if as_seen else ", which count on it, are too wide.")
                + " With 'decimate', sigma is that of the decimated samples.",
            )
        return
    modelled = any(m.noise is not None for m in measurements)
    if np.isfinite(statistics.local.residual_variance) and not modelled:
        yield finding(
            "noise-not-given",
            "The noise is not given for every output; the intervals use the size of the residuals.",
        )
    unknown = [m for m in measurements if m.sigma is None]
    by_spread = sorted({m.variable for m in unknown if not m.weight_given})
    if by_spread and len({m.variable for m in unknown}) > 1:
        yield finding(
            "noise-by-spread",
            f"These outputs have neither sigma nor weight ({quoted(by_spread, 3)}): each counts"
            " relative to the spread of its measured values. Give them a sigma or a weight if they"
            " should count otherwise.",
        )
    if len(unknown) < len(measurements):
        yield finding(
            "noise-not-given",
            "Some outputs have a sigma and others have none: the estimated noise scales both.",
        )


def unequal_noise(fit: Fit) -> Iterator[Finding]:
    """Note outputs without sigma whose noise differs in size.

    The intervals may account for it. The estimate does not: noisier outputs have too much
    weight.
    """
    same = residual_layout(fit.problem).size == fit.residuals.size
    if fit.problem.sigma_known or not same or not fit.fits:
        return
    sizes = {}
    for output, one in zip(recorded_outputs(fit.problem), fit.fits, strict=True):
        own = fit.residuals[output.rows]
        if own.size >= _ENOUGH and one.is_noisy:
            sizes[f"'{one.name}' of '{one.experiment}'"] = float(np.sqrt(np.mean(own**2)))
    if len(sizes) < 2:
        return
    loud, quiet = max(sizes, key=sizes.__getitem__), min(sizes, key=sizes.__getitem__)
    ratio = sizes[loud] / sizes[quiet]
    if ratio >= _UNEQUAL:
        effect = (
            "the intervals allow for that, but the estimate gives the former too much weight"
            if fit.statistics.local.coloured is not None
            else "the intervals assume that they are equally large, and are too narrow where the"
            " former count, too wide where the latter do"
        )
        yield finding(
            "noise-unequal",
            f"The residuals of {loud} are {ratio:.2g} times as large as those of {quiet}, each by"
            f" its weight; {effect}",
            "Give each output its sigma.",
        )


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


def validated(
    problem: Problem, result: EstimationResult, executor_of: Callable[[Problem], Executor]
) -> EstimationResult:
    """Return a result with predictions for the validation experiments, if there are any."""
    if not problem.validation:
        return result
    values = {e.name: e.value for e in result.estimates}
    p = np.array([values[q.name] for q in problem.free])
    held_out = held_out_problem(problem)
    try:
        with executor_of(held_out) as executor, Evaluator(held_out, executor) as evaluator:
            validation = validate(held_out, evaluator, p, result)
    except KeyboardInterrupt:
        text = "The experiments for validation were not simulated: the run was interrupted."
        return result.with_findings([finding("validation", text)])
    except FmidentError as error:  # what was estimated must not be lost
        validation = Validation((), None, {e.name: error.message for e in problem.validation})
    return replace(result, validation=validation).with_findings(_validation_notes(validation))


def held_out_problem(problem: Problem) -> Problem:
    """Return the problem with only the validation experiments."""
    return replace(
        problem,
        experiments=problem.validation,
        validation=(),
        stages=(),
        constraints=(),
        cost=TimeDomain(),
    )


def validate(
    problem: Problem, evaluator: Evaluator, p: F64, result: EstimationResult
) -> Validation:
    """Compare experiments with predictions by parameters that were not fitted to them.

    `problem` and `evaluator` are those of these experiments, `result` that of the fitted
    ones, whose residuals of outputs with the same name replace an unknown noise.
    """
    initial, final = evaluator.simulate(problem.initial), evaluator.simulate(p)
    noise = _fitted_noise(result)
    failures = {
        e.name: after.message
        for e, after in zip(problem.experiments, final, strict=True)
        if isinstance(after, SimulationFailure)
    }
    fits: list[OutputFit] = []
    ratios: dict[str, float] = {}
    for i, (experiment, before, after) in enumerate(
        zip(problem.experiments, initial, final, strict=True)
    ):
        if isinstance(after, SimulationFailure):
            continue
        one = replace(problem, experiments=(experiment,))
        # NaN if the simulation at the initial parameters failed.
        first = np.full_like(after, np.nan) if isinstance(before, SimulationFailure) else before
        own = [
            fit
            if np.isfinite(fit.sigma).any() or fit.name not in noise
            else replace(fit, sigma=np.full(fit.times.shape, noise[fit.name]))
            for fit in output_fits(one, [first], [after], p, float("nan"))
        ]
        fits += own
        ratio = _predicted_ratio(problem, evaluator, p, result, i, own)
        if not math.isnan(ratio):
            ratios[experiment.name] = ratio
    simulated = tuple(e for e in problem.experiments if e.name not in failures)
    residuals = check_fits(replace(problem, experiments=simulated), fits, parameters=0)
    if residuals is not None and ratios:
        residuals = replace(residuals, noise_ratio=max(ratios.values()))
    if residuals is not None and not failures:
        residuals = replace(
            residuals,
            courses=other_courses(problem, evaluator, p),
            gathered=gathered_residuals(problem, evaluator.data_residuals(p)),
        )
    return Validation(tuple(fits), residuals, failures, ratios)


def _predicted_ratio(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    result: EstimationResult,
    number: int,
    fits: Sequence[OutputFit],
) -> float:
    """Return the size of an experiment's residuals; at most 1 if it is within its limits.

    The residuals of a correct model consist of noise and the effect of parameter errors. If
    the noise is not given, its variance is that of the fitted residuals, and F replaces
    chi-squared; correlated neighbours count as fewer samples.
    """
    parts, places, count = [], [], 0.0
    for output in recorded_outputs(problem):
        fit = fits[output.j]
        if output.i != number or not np.isfinite(fit.sigma).any() or not (fit.sigma > 0.0).all():
            continue
        left = (fit.measured - fit.fitted) / fit.sigma
        there = np.isfinite(left)
        parts.append(left[there])
        places.append((output.rows, 1.0 / (fit.sigma[there] * output.measurement.whitening)))
        count += parts[-1].size * _independent(result, fit.name)
    left = np.concatenate(parts) if parts else np.empty(0)
    if not left.size:
        return math.nan

    def likely(square: float) -> bool:
        reduced = square / left.size
        if reduced <= NOTICEABLE:
            return True
        if problem.sigma_known:
            return chi_squared_tail(max(count, 1.0), reduced * count) >= UNLIKELY
        fitted = sum(
            np.count_nonzero(np.isfinite(f.measured)) * _independent(result, f.name)
            for f in result.fits
        )
        freedom = fitted - sum(e.searched for e in result.estimates)
        return not f_tail(max(count, 1.0), max(freedom, 1.0), reduced) < UNLIKELY

    ratio = math.sqrt(float(left @ left) / left.size)
    if likely(float(left @ left)):
        return min(ratio, 1.0)
    jacobian = _scaled_jacobian(evaluator, p, places)
    spread = _spread(problem, result)
    if jacobian is None or spread is None:
        return ratio
    # r^T (I + J C J^T)^-1 r; what no data have determined may be anything.
    columns, free = jacobian @ spread[0], jacobian @ spread[1]
    basis = np.linalg.svd(free, full_matrices=False)
    open_ones = basis.U[:, _RELATIVE * basis.S.max(initial=0.0) < basis.S]
    rest = left - open_ones @ (open_ones.T @ left)
    columns = columns - open_ones @ (open_ones.T @ columns)
    inner = np.eye(columns.shape[1]) + columns.T @ columns
    explained = float(rest @ columns @ np.linalg.solve(inner, columns.T @ rest))
    return min(ratio, 1.0) if likely(float(rest @ rest) - explained) else ratio


def _independent(result: EstimationResult, name: str) -> float:
    """Return the fraction of an output's samples that are independent for its variance.

    For noise whose neighbours are correlated like the fitted residuals (AR(1)).
    """
    seen = [residual_statistics(f.measured - f.fitted) for f in result.fits if f.name == name]
    rho = max((s.autocorrelation for s in seen if not s.white), default=0.0)
    return (1.0 - rho**2) / (1.0 + rho**2)


def _scaled_jacobian(
    evaluator: Evaluator, p: F64, places: Sequence[tuple[npt.NDArray[np.intp], F64]]
) -> F64 | None:
    """Return the derivatives of residuals over sigma; ``None`` if there are none."""
    try:
        jacobian = evaluator.data_jacobian(p)
    except JacobianError:
        return None
    return np.concatenate([factors[:, np.newaxis] * jacobian[rows] for rows, factors in places])


def _spread(problem: Problem, result: EstimationResult) -> tuple[F64, F64] | None:
    """Return a root of the covariance, and the directions of parameters without any, (n, k)."""
    covariance = result.covariance_of([q.name for q in problem.free])
    if covariance is None:
        return None
    errors = np.sqrt(np.diag(covariance))
    known = errors > 0.0
    correlation = covariance[np.ix_(known, known)] / np.outer(errors[known], errors[known])
    values, vectors = np.linalg.eigh(correlation)
    root = np.zeros((errors.size, values.size))
    root[known] = errors[known, np.newaxis] * vectors * np.sqrt(np.clip(values, 0.0, None))
    return root, np.eye(errors.size)[:, np.isnan(errors)]


def _fitted_noise(result: EstimationResult) -> dict[str, float]:
    """Return the standard deviation of the fitted residuals of each output separately.

    The common one does not describe an output: without sigma, each is weighted by the
    spread of its measured values in the fit, which is unrelated to its noise.
    """
    left: dict[str, list[F64]] = {}
    for f in result.fits:
        residual = f.measured - f.fitted
        left.setdefault(f.name, []).append(residual[np.isfinite(residual)])
    together = {name: np.concatenate(parts) for name, parts in left.items()}
    samples = sum(r.size for r in together.values())
    freedom = 1.0 - sum(e.searched for e in result.estimates) / max(samples, 1)
    return {
        name: math.sqrt(float(r @ r) / (r.size * freedom))
        for name, r in together.items()
        if r.size and freedom > 0.0
    }


def _validation_notes(validation: Validation) -> Iterator[Finding]:
    for name, message in validation.failures.items():
        text = f"The experiment '{name}' for validation could not be simulated: {message}."
        yield finding("validation", text)
    if validation.failed:
        sizes = [f"'{name}' are {ratio:.3g} times" for name, ratio in validation.failed.items()]
        shown = ", those of ".join(sizes[:3]) + (", ..." if len(sizes) > 3 else "")
        yield finding(
            "validation",
            f"Validation: the residuals of {shown} the noise, more than noise and the uncertainty"
            " of the parameters make.",
        )
    if validation.residuals is not None:
        for f in course_notes(validation.residuals):
            yield finding("validation", f"Validation: {f.note}")
    worse = [f"'{f.name}' of '{f.experiment}'" for f in validation.fits if f.nrmse > 1.0]
    if worse:
        yield finding(
            "validation",
            f"Validation: the model predicts {listed(worse, 3)} worse than the mean of the measured"
            " values would.",
        )
