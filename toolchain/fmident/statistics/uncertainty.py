"""Covariance, standard errors, intervals and correlation of least-squares estimates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.distributions import student_quantile
from fmident.statistics.identifiability import (
    Identifiability,
    RankAnalysis,
    analyse_rank,
    describe,
    determined_combinations,
    weakest_directions,
)
from fmident.statistics.linearisation import Linearisation
from fmident.statistics.noise import NoiseFinding
from fmident.statistics.prior import (
    PriorContribution,
    PriorRows,
    freedoms_of,
    prior_contribution,
    prior_sentences,
    prior_shares,
    with_prior_rows,
    without_invisible,
)
from fmident.statistics.residuals import ResidualScores
from fmident.statistics.truncated import TruncatedStatistics

_FINEST = 1e-6
"""Noise by which priors are weighed at least, in what the parameters contribute to the outputs:
less is rounding of the derivatives, in which priors would drown."""

_POORLY = 0.25
"""Relative standard error from which on a parameter counts as not determined."""


ALLOWED = 0.03
"""Relative change of a standard error that the derivatives may leave open."""


@dataclass(frozen=True)
class ParameterStatistics:
    """Uncertainty of the free parameters.

    Covariance and correlation, shape (n, n), and standard errors, shape (n,), are NaN for
    parameters that are not identifiable or lie on a bound. The 95 % `intervals` are
    infinite for the former, and NaN on a bound and for derivatives that are too inexact.

    Parameters
    ----------
    residual_variance
        Factor on ``(J^T J)^-1``: 1 if the noise is known, otherwise ``sum r^2 / dof``; for
        a robust loss, from its scores.
    freedoms
        Degrees of freedom of each standard error: infinite for known noise, effective ones
        unless it is white noise of one size.
    linearisation
        The basis of all of these, for later estimates that hold this one.
    remaining_step
        Gauss-Newton step that would still lower the cost; 0 on a bound and along open
        directions. Intervals are valid if it is small compared with the standard errors.
    doubts
        Relative change of each standard error from one estimate of the derivatives to
        another; 0 if that was not measured.
    """

    covariance: F64
    correlation: F64
    standard_errors: F64
    intervals: F64
    residual_variance: float
    degrees_of_freedom: int
    identifiability: Identifiability
    linearisation: Linearisation
    remaining_step: F64
    doubts: F64
    freedoms: F64
    prior: PriorContribution | None = None
    truncated: TruncatedStatistics | None = None


def parameter_statistics(
    jacobian: F64,
    residuals: F64,
    values: F64,
    names: Sequence[str],
    *,
    sigma_known: bool,
    at_bound: npt.NDArray[np.bool_] | None = None,
    column_errors: F64 | None = None,
    spread: F64 | None = None,
    scores: ResidualScores | None = None,
    prior: PriorRows | None = None,
    level: float = 0.95,
    units: Sequence[str | None] | None = None,
    coloured: NoiseFinding | None = None,
) -> ParameterStatistics:
    """Return covariance, intervals and identifiability at a least-squares solution.

    The covariance is ``s^2 (J^T J)^-1`` by singular values of the column-scaled Jacobian;
    ``s^2 = 1`` if the noise was given, otherwise the residual variance
    ``sum r^2 / (m - rank)``. The interval is ``p +- t * standard error`` with Student's t
    for ``m - rank`` degrees of freedom if the variance is estimated, and the normal
    quantile if it is known (Seber and Wild, Nonlinear Regression, sections 2.1.2 and 5.1).
    For a deficient rank, parameters outside the null space keep their variance by the
    pseudo-inverse. Parameters on a bound are held there.

    Parameters
    ----------
    jacobian, residuals
        Whitened, of the data alone, in physical parameters, shapes (m, n), (m,).
    column_errors, spread
        Lengths of the errors of the Jacobian's columns, ``None`` if exact, or the
        difference of two independent estimates of it: a standard error uncertain by more
        than 3 % is withheld.
    scores
        Of a robust loss, from which the variance follows, for known noise, too.
    prior
        Of the parameters, with absolute standard deviations; not together with `scores`.
    coloured
        Noise other than white noise of one size: the covariance is the sandwich with its
        covariance, and Student's t has effective degrees of freedom.
    """
    count = values.size
    held = np.zeros(count, dtype=np.bool_) if at_bound is None else at_bound
    indices = [int(i) for i in np.flatnonzero(~held)]
    kept_names = [names[i] for i in indices]
    data = jacobian, residuals, spread
    if prior is not None:
        jacobian, spread, column_errors = without_invisible(jacobian, spread, column_errors, prior)
        data = jacobian, residuals, spread
        noise = 1.0 if sigma_known else _prior_noise(*data[:2], values, indices)
        jacobian, residuals, spread = with_prior_rows(*data, prior, noise)
    analysis = analyse_rank(
        jacobian[:, indices],
        None if column_errors is None else column_errors[indices],
        None if spread is None else spread[:, indices],
    )
    freedom = int(residuals.size) - analysis.rank
    residual_variance: float | None = None
    if prior is not None:
        freedom = int(data[1].size) - len(indices)
        variance = noise**2
        residual_variance = 1.0 if sigma_known else _variance(data[1], freedom)
    elif scores is not None:
        variance, sigma_known = scores.variance(analysis.rank), False
    else:
        variance = 1.0 if sigma_known else _variance(residuals, freedom)

    linearisation = Linearisation(
        jacobian,
        analysis,
        np.array(indices, dtype=np.intp),
        np.zeros(count, dtype=np.bool_),
        float(np.sqrt(variance)),
        np.inf if sigma_known else float(freedom),
        residuals if scores is None else scores.as_residuals,
        priors=0 if prior is None else len(prior.names),
        coloured=coloured,
    )
    if coloured is None:
        partial = _pseudo_inverse_covariance(
            analysis.right[:, : analysis.rank],
            analysis.singular_values[: analysis.rank],
            analysis.column_norms,
        )
        partial *= variance
    else:
        answers = linearisation.answer_to_noise()[indices]
        partial = answers @ answers.T
    partial[analysis.involved, :] = np.nan
    partial[:, analysis.involved] = np.nan
    covariance = np.full((count, count), np.nan)
    covariance[np.ix_(indices, indices)] = partial
    errors: F64 = np.sqrt(np.diag(covariance))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation: F64 = covariance / np.outer(errors, errors)
    np.fill_diagonal(correlation, np.where(np.isfinite(errors), 1.0, np.nan))

    freedoms = np.full(count, np.inf if sigma_known else float(freedom))
    if coloured is not None:
        freedoms = linearisation.freedoms(np.eye(count))
    elif prior is not None:
        freedoms = freedoms_of(
            covariance, prior_shares(covariance, linearisation), float(freedoms[0])
        )
    quantile = np.array([t_quantile(level, nu) for nu in freedoms])
    intervals = np.column_stack([values - quantile * errors, values + quantile * errors])
    doubts = np.zeros(count)
    if spread is not None:
        doubts[indices] = standard_error_doubts(jacobian[:, indices], spread[:, indices], analysis)
    inexact = doubts > ALLOWED
    covariance[inexact] = covariance[:, inexact] = np.nan
    correlation[inexact] = correlation[:, inexact] = np.nan
    errors[inexact] = np.nan
    lost = np.array(indices, dtype=np.intp)[analysis.involved | ~np.isfinite(errors[indices])]
    intervals[lost] = (-np.inf, np.inf)

    undecided: dict[str, float] = {}
    intervals[inexact] = np.nan
    if spread is not None or column_errors is not None:
        undecided = _undecided(analysis, kept_names, values[indices], variance)
        open_ones = [indices[kept_names.index(name)] for name in undecided]
        intervals[open_ones] = np.nan
    kept_units = None if units is None else [units[i] for i in indices]
    combinations = () if undecided else determined_combinations(analysis, kept_names, kept_units)
    full = []
    for combination in (c for c in combinations if c.text):
        sums = np.zeros((1, count))
        sums[:, indices] = combination.sums
        full.append(replace(combination, sums=sums, leading=indices[combination.leading]))
    withheld = {names[int(j)]: float(doubts[j]) for j in np.flatnonzero(inexact)}
    identifiability = Identifiability(
        analysis.singular_values,
        analysis.rank,
        describe(analysis, kept_names, combinations, undecided, withheld),
        tuple(full),
        tuple(undecided),
        withheld=tuple(withheld),
        weakest=weakest_directions(analysis, kept_names),
        silent=tuple(kept_names[int(j)] for j in np.flatnonzero(analysis.without_influence)),
    )
    doubtful = np.zeros(count, dtype=np.bool_)
    doubtful[[names.index(name) for name in undecided]] = True
    linearisation = replace(linearisation, undecided=doubtful)
    contribution = None
    if prior is not None:
        contribution = prior_contribution(
            data[0],
            data[1],
            values,
            prior,
            covariance,
            linearisation,
            sigma_known=sigma_known,
            column_errors=column_errors,
            spread=data[2],
        )
        more = prior_sentences(contribution, names, len(indices))
        verdict = f"{identifiability.verdict} {more}".rstrip()
        identifiability = replace(identifiability, verdict=verdict)
    return ParameterStatistics(
        covariance,
        correlation,
        errors,
        intervals,
        variance if residual_variance is None else residual_variance,
        freedom,
        identifiability,
        linearisation,
        linearisation.answer(linearisation.residuals),
        doubts,
        freedoms,
        contribution,
    )


def _undecided(
    analysis: RankAnalysis, names: Sequence[str], values: F64, variance: float
) -> dict[str, float]:
    """Return parameters that might be well determined if the derivatives were exact.

    A singular value below the errors of the Jacobian is at most the sum of both. If that
    leaves the standard error of a parameter a considerable fraction of its value, the data
    are the cause. Returns the smallest possible standard error by name.
    """
    tangled = [int(j) for j in np.flatnonzero(analysis.involved & ~analysis.without_influence)]
    if not tangled or analysis.rank == len(names):
        return {}
    largest = analysis.singular_values + analysis.tolerance
    silent = analysis.right[analysis.without_influence, analysis.rank :]
    hidden = [
        analysis.rank + k
        for k in range(len(names) - analysis.rank)
        if not (np.abs(silent[:, k]) > 0.5).any()
    ]
    if not hidden:
        return {}
    shares = analysis.right[np.ix_(tangled, hidden)] / largest[hidden]
    least = np.sqrt(variance * np.sum(shares**2, axis=1)) / analysis.column_norms[tangled]
    with np.errstate(divide="ignore"):
        relative = least / np.abs(values[tangled])
    if not float(relative.max()) < _POORLY:
        return {}
    return {names[j]: float(error) for j, error in zip(tangled, least, strict=True)}


def _variance(residuals: F64, freedom: int) -> float:
    return float(residuals @ residuals) / freedom if freedom > 0 else float("nan")


def _prior_noise(jacobian: F64, residuals: F64, values: F64, kept: Sequence[int]) -> float:
    """Return the standard deviation of unknown noise that weighs the priors.

    Without any noise, priors still determine what the data leave open.
    """
    reach = np.linalg.norm(jacobian[:, kept], axis=0) * np.abs(values[kept])
    least = _FINEST * float(np.max(reach, initial=0.0)) / float(np.sqrt(residuals.size))
    variance = _variance(residuals, residuals.size - len(kept))
    return max(float(np.sqrt(variance)), least)


def t_quantile(level: float, freedom: float) -> float:
    """Return Student's t of a two-sided interval; the normal quantile for infinite `freedom`."""
    return student_quantile(0.5 * (1.0 + level), freedom)


def _pseudo_inverse_covariance(right: F64, singular: F64, norms: F64) -> F64:
    safe = np.where(norms > 0.0, norms, 1.0)
    factor = (right / singular) / safe[:, np.newaxis]
    covariance: F64 = factor @ factor.T
    return covariance


def standard_error_doubts(jacobian: F64, spread: F64, analysis: RankAnalysis) -> F64:
    """Return the relative change of the standard errors with the Jacobian, shape (n,).

    They are computed again with each of two Jacobians at the same distance from this one as
    the two estimates for its verification, whose difference is `spread`, from each other.
    Undetermined directions are the same in both. Infinite if another estimate leaves a
    direction undetermined; 0 for parameters without standard error.
    """
    rank = analysis.rank
    right = analysis.right[:, :rank]
    if rank == 0:
        return np.zeros(right.shape[0])
    safe = np.where(analysis.column_norms > 0.0, analysis.column_norms, 1.0)
    seen = analysis.column_norms > 0.0
    both = np.column_stack(
        [(np.where(seen, part, 0.0) / safe) @ right for part in (jacobian, spread)]
    )
    triangle = np.asarray(np.linalg.qr(both, mode="r"), dtype=np.float64)
    plain, apart = triangle[:, :rank], triangle[:, rank:]
    reference = _sizes(plain, right)
    doubts = np.zeros(right.shape[0])
    for sign in (1.0, -1.0):
        other = _sizes(plain + sign * apart, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(other / reference - 1.0)
        doubts = np.maximum(doubts, np.where(reference > 0.0, change, 0.0))
    doubts[analysis.involved] = 0.0
    return doubts


def _sizes(matrix: F64, right: F64) -> F64:
    """Return the standard errors in scaled parameters for noise of 1, shape (n,)."""
    _, values, rotation = np.linalg.svd(matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (right @ rotation.T) / values
    errors: F64 = np.linalg.norm(np.where(np.isnan(shares), 0.0, shares), axis=1)
    return errors
