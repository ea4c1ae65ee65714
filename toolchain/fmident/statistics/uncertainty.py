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

    Parameters
    ----------
    covariance
        Shape (n, n), physical units; NaN for parameters that are not identifiable or lie
        on a bound.
    correlation
        Shape (n, n); NaN likewise.
    standard_errors
        Shape (n,); NaN likewise.
    intervals
        95 % intervals, shape (n, 2); infinite for parameters that are not identifiable,
        NaN for those on a bound and where the derivatives are too inexact.
    residual_variance
        Factor on ``(J^T J)^-1``: 1 when the noise is known, else ``sum r^2 / dof``; of a robust
        loss what its scores tell.
    degrees_of_freedom
        Residuals minus determined parameters.
    freedoms
        Degrees of freedom of each standard error, shape (n,): infinite where the noise is known,
        effective ones where it is not white noise of one size.
    identifiability
        Rank and verdict.
    linearisation
        What all of these follow from, for estimates that hold what this one has found.
    remaining_step
        Gauss-Newton step that would still lower the cost, shape (n,); 0 for parameters on a
        bound and along what the data leave open. Intervals hold where it is small in relation
        to the standard errors.
    doubts
        Relative change of each standard error from one estimate of the derivatives to another,
        shape (n,); 0 where that was not measured.
    prior
        What priors contributed; ``None`` where there are none.
    truncated
        What was held at the start; ``None``: nothing.
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
    """Return covariance, intervals and the rank verdict at a least-squares solution.

    The covariance is ``s^2 (J^T J)^-1`` by singular values of the column-scaled Jacobian;
    ``s^2 = 1`` when the standard deviations of the noise were given, else the residual
    variance ``sum r^2 / (m - rank)``. The interval is ``p +- t * standard error`` with
    Student's t for ``m - rank`` degrees of freedom when the variance is estimated, and its
    limit, the normal quantile, when it is known (Seber and Wild, Nonlinear Regression,
    sections 2.1.2 and 5.1). Where the rank is deficient, parameters outside of the null space
    keep their (estimable) variance by the pseudo-inverse.

    Parameters
    ----------
    jacobian
        Of the whitened residuals with respect to the physical parameters, shape (m, n).
    residuals
        Whitened, shape (m,).
    values
        Parameters, shape (n,).
    names
        Of the parameters, for the verdict, length n.
    sigma_known
        Whether the residuals were divided by known standard deviations of the noise.
    at_bound
        Parameters that lie on a bound, boolean, shape (n,): held there, so that the
        uncertainty of the others is conditional on them.
    column_errors
        Lengths of the errors of the Jacobian's columns, shape (n,); ``None`` if exact.
    spread
        Difference of two independent estimates of the Jacobian, shape (m, n): where it leaves more
        than 3 % of a standard error open, that is withheld. Takes the place of `column_errors`.
    scores
        Of an estimate that minimises a robust loss: they tell the variance, whether or not the
        noise is known.
    prior
        Of the parameters. The residuals and the Jacobian are those of the data alone, from which
        the variance is estimated; standard deviations of priors are absolute. Not together with
        `scores`.
    level
        Probability of the intervals.
    units
        Of the parameters, for the verdict; ``None`` where unknown.
    coloured
        The noise of the residuals, where it is not white noise of one size: the covariance is the
        sandwich with its covariance, Student's t has effective degrees of freedom.
    """
    count = values.size
    held = np.zeros(count, dtype=np.bool_) if at_bound is None else at_bound
    kept = [int(i) for i in np.flatnonzero(~held)]
    kept_names = [names[i] for i in kept]
    data = jacobian, residuals, spread
    if prior is not None:
        jacobian, spread, column_errors = without_invisible(jacobian, spread, column_errors, prior)
        data = jacobian, residuals, spread
        noise = 1.0 if sigma_known else _prior_noise(*data[:2], values, kept)
        jacobian, residuals, spread = with_prior_rows(*data, prior, noise)
    analysis = analyse_rank(
        jacobian[:, kept],
        None if column_errors is None else column_errors[kept],
        None if spread is None else spread[:, kept],
    )
    freedom = int(residuals.size) - analysis.rank
    shown: float | None = None
    if prior is not None:
        freedom = int(data[1].size) - len(kept)
        variance = noise**2
        shown = 1.0 if sigma_known else _variance(data[1], freedom)
    elif scores is not None:
        variance, sigma_known = scores.variance(analysis.rank), False
    else:
        variance = 1.0 if sigma_known else _variance(residuals, freedom)

    linearisation = Linearisation(
        jacobian,
        analysis,
        np.array(kept, dtype=np.intp),
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
        answers = linearisation.answer_to_noise()[kept]
        partial = answers @ answers.T
    partial[analysis.involved, :] = np.nan
    partial[:, analysis.involved] = np.nan
    covariance = np.full((count, count), np.nan)
    covariance[np.ix_(kept, kept)] = partial
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
        doubts[kept] = standard_error_doubts(jacobian[:, kept], spread[:, kept], analysis)
    inexact = doubts > ALLOWED
    covariance[inexact] = covariance[:, inexact] = np.nan
    correlation[inexact] = correlation[:, inexact] = np.nan
    errors[inexact] = np.nan
    lost = np.array(kept, dtype=np.intp)[analysis.involved | ~np.isfinite(errors[kept])]
    intervals[lost] = (-np.inf, np.inf)

    undecided: dict[str, float] = {}
    intervals[inexact] = np.nan
    if spread is not None or column_errors is not None:
        undecided = _undecided(analysis, kept_names, values[kept], variance)
        open_ones = [kept[kept_names.index(name)] for name in undecided]
        intervals[open_ones] = np.nan
    kept_units = None if units is None else [units[i] for i in kept]
    combinations = () if undecided else determined_combinations(analysis, kept_names, kept_units)
    full = []
    for combination in (c for c in combinations if c.text):
        sums = np.zeros((1, count))
        sums[:, kept] = combination.sums
        full.append(replace(combination, sums=sums, leading=kept[combination.leading]))
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
        more = prior_sentences(contribution, names, len(kept))
        verdict = f"{identifiability.verdict} {more}".rstrip()
        identifiability = replace(identifiability, verdict=verdict)
    return ParameterStatistics(
        covariance,
        correlation,
        errors,
        intervals,
        variance if shown is None else shown,
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

    A singular value that the errors of the Jacobian hide is at most the sum of both. Where even
    that leaves a parameter uncertain by a good part of its value, the data are to blame.

    Returns
    -------
    dict
        Name to the smallest standard error; empty when the rank is full or the data are to blame.
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
    """Return the standard deviation of noise of unknown size by which priors are weighed.

    Without any noise, priors still decide what the data leave open.
    """
    reach = np.linalg.norm(jacobian[:, kept], axis=0) * np.abs(values[kept])
    least = _FINEST * float(np.max(reach, initial=0.0)) / float(np.sqrt(residuals.size))
    shown = _variance(residuals, residuals.size - len(kept))
    return max(float(np.sqrt(shown)), least)


def t_quantile(level: float, freedom: float) -> float:
    """Return Student's t of a two-sided interval; the normal quantile for infinite `freedom`."""
    return student_quantile(0.5 * (1.0 + level), freedom)


def _pseudo_inverse_covariance(right: F64, singular: F64, norms: F64) -> F64:
    safe = np.where(norms > 0.0, norms, 1.0)
    factor = (right / singular) / safe[:, np.newaxis]
    covariance: F64 = factor @ factor.T
    return covariance


def standard_error_doubts(jacobian: F64, spread: F64, analysis: RankAnalysis) -> F64:
    """Return by how much the standard errors change with the estimate of the Jacobian, shape (n,).

    They are computed again with each of two Jacobians that are as far from this one as the two
    estimates that it was verified with are from each other. Both have the same undetermined
    directions, of which nothing is said.

    Parameters
    ----------
    jacobian
        Whitened, shape (m, n).
    spread
        Difference of two independent estimates of it, shape (m, n).
    analysis
        Of the Jacobian.

    Returns
    -------
    numpy.ndarray
        Relative; infinite where another estimate leaves a direction undetermined; 0 for parameters
        that have no standard error.
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
    found: F64 = np.linalg.norm(np.where(np.isnan(shares), 0.0, shares), axis=1)
    return found
