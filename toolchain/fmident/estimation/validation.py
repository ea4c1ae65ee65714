"""Predictions of experiments that were not fitted, beside their measured outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.errors import FmidentError
from fmident.estimation.comparisons import OutputFit, Validation
from fmident.estimation.diagnostics import recorded_outputs
from fmident.estimation.diagnostics.input_courses import gathered_residuals, other_courses
from fmident.estimation.diagnostics.notes import course_notes
from fmident.estimation.fits import check_fits, output_fits
from fmident.estimation.result import EstimationResult
from fmident.evaluation import Evaluator, JacobianError, SimulationFailure
from fmident.findings import Finding, finding
from fmident.problem.cost import TimeDomain
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.residuals import NOTICEABLE, UNLIKELY, residual_statistics
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.evaluation import Executor
    from fmident.problem.model import Problem


_RELATIVE = 1e-9
"""Part of the largest singular value below which a direction does not count."""


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
