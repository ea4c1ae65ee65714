"""Directions that an estimate held at the start, in a result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.findings import Finding, finding
from fmident.statistics import ParameterStatistics
from fmident.statistics.distributions import chi_squared_tail, f_tail, student_quantile
from fmident.statistics.truncated import TruncatedParameter, TruncatedStatistics, Truncation

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimate, HeldDirections
    from fmident.evaluation import Evaluator
    from fmident.problem.model import Problem

_SMALL = 0.2
"""Standard errors that the start may add, if it is wrong by one unit, to a parameter that counts as
resolved: intervals cover 94.6 % in place of 95 %."""

_ROUNDING = 1e-6
"""The same in units."""


def with_held(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    found: ParameterStatistics,
    directions: HeldDirections | None,
) -> ParameterStatistics:
    """Return the statistics of an estimate that moved along some directions only.

    `found` are those of a move along all; ``None`` as `directions` means all.
    """
    if directions is None:
        return found
    return truncated_statistics(
        found,
        p,
        directions.moved,
        evaluator.space.derivative(p),
        (evaluator.cost(p), directions.least_cost),
        sigma_known=problem.sigma_known,
    )


def truncated_statistics(
    found: ParameterStatistics,
    values: F64,
    moved: F64,
    units: F64,
    costs: tuple[float, float],
    *,
    sigma_known: bool,
    level: float = 0.95,
) -> ParameterStatistics:
    """Return statistics of an estimate that moved only along some directions, `moved`.

    `found` are those of a move along all; `costs` are half the sum of squares at the
    estimate, and the minimum.
    """
    before = found.linearisation
    on_bound, count, rank = before.on_bound, values.size, moved.shape[1]
    moved = np.where(on_bound[:, np.newaxis], 0.0, moved)
    freedom, noise = before.freedom, before.noise
    if not sigma_known and before.residuals.size > rank:
        freedom = float(before.residuals.size - rank)
        noise = float(np.linalg.norm(before.residuals) / np.sqrt(freedom))
    linear = replace(before, within=units[:, np.newaxis] * moved, freedom=freedom, noise=noise)
    answers = linear.answer_to_noise()
    covariance: F64 = answers @ answers.T
    errors: F64 = np.sqrt(np.diag(covariance))
    freedoms = linear.freedoms(np.eye(count))
    quantiles = np.array(
        [student_quantile(0.5 * (1.0 + level), nu) if nu > 0.0 else np.nan for nu in freedoms]
    )
    half = np.where(errors > 0.0, quantiles, 0.0) * errors
    intervals = np.column_stack([values - half, values + half])
    scaled = before.jacobian[:, ~on_bound] * units[~on_bound] / (noise if noise > 0.0 else 1.0)
    singular = np.linalg.svd(np.linalg.qr(scaled, mode="r"), compute_uv=False)
    held = TruncatedStatistics(
        units, moved @ moved.T, singular, errors, intervals, np.zeros(count, dtype=np.bool_)
    )
    small = held.start_errors <= np.maximum(_SMALL * errors, _ROUNDING * units)
    compared, p_value = _contradiction(
        costs, noise, before.analysis.rank - rank, freedom, sigma_known=sigma_known
    )
    held = replace(held, resolved=small & ~on_bound, compared=compared, p_value=p_value)
    unknown = np.isnan(found.intervals).any(axis=1) & ~on_bound  # derivatives are too inexact
    lost = ~held.resolved & ~on_bound
    hidden = lost | unknown | on_bound
    covariance[hidden, :] = covariance[:, hidden] = np.nan
    deviations: F64 = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: F64 = covariance / np.outer(deviations, deviations)
    np.fill_diagonal(correlation, np.where(np.isfinite(deviations), 1.0, np.nan))
    ends = np.where(on_bound[:, np.newaxis], found.intervals, intervals)
    ends[lost] = (-np.inf, np.inf)
    ends[unknown] = np.nan
    return replace(
        found,
        covariance=covariance,
        correlation=correlation,
        standard_errors=deviations,
        intervals=ends,
        residual_variance=noise**2,
        degrees_of_freedom=int(before.residuals.size - rank),
        linearisation=linear,
        remaining_step=linear.answer(linear.residuals),
        freedoms=freedoms,
        truncated=held,
    )


def _contradiction(
    costs: tuple[float, float], noise: float, compared: int, freedom: float, *, sigma_known: bool
) -> tuple[int, float]:
    """Return the number of compared directions, and the probability of the increase in cost."""
    higher = costs[0] - costs[1]
    if compared <= 0 or not higher >= -_ROUNDING * costs[0]:
        return 0, float("nan")
    if sigma_known:
        return compared, chi_squared_tail(compared, max(2.0 * higher, 0.0))
    left = freedom - compared
    if left <= 0.0 or not costs[1] > 0.0:
        return 0, float("nan")
    return compared, f_tail(compared, left, max(higher, 0.0) / compared / (costs[1] / left))


def truncation_of(
    problem: Problem, estimate: Estimate, statistics: ParameterStatistics | None
) -> Truncation | None:
    """Return what an estimate held; ``None`` for nothing, or if nothing is known of it."""
    truncated = None if statistics is None else statistics.truncated
    held = estimate.held_directions
    if truncated is None or held is None or statistics is None:
        return None
    inside = [j for j, on in enumerate(statistics.linearisation.on_bound) if not on]
    names = [q.name for q in problem.free]
    bias = truncated.bias
    return Truncation(
        held.rule,
        held.limit,
        held.moved.shape[1],
        tuple(truncated.singular_values.tolist()),
        tuple(
            TruncatedParameter(
                names[j],
                problem.free[j].unit,
                float(problem.initial[j]),
                float(estimate.parameters[j]),
                float(truncated.units[j]),
                float(truncated.shares[j]),
                float(truncated.start_errors[j]),
                float(truncated.standard_errors[j]),
                (float(truncated.intervals[j, 0]), float(truncated.intervals[j, 1])),
                bool(truncated.resolved[j]),
            )
            for j in inside
        ),
        {names[j]: {names[k]: float(bias[j, k]) for k in inside} for j in inside},
        truncated.compared,
        truncated.p_value,
    )


def truncation_notes(found: Truncation | None) -> list[Finding]:
    """Return a note if the data contradict what was held."""
    if found is None or not found.conflict:
        return []
    one = found.compared == 1
    return [
        finding(
            "interval-of-start",
            "The data contradict the start values that were held: the fit would be better without"
            f" them, by more than chance allows ({found.compared} direction{'' if one else 's'}"
            f" compared, p = {found.p_value:.2g}). The start is wrong by more than one scale there",
            "Give a larger scale to what is known less, or correct the start.",
        )
    ]
