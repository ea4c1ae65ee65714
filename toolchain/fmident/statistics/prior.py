"""Contributions of data and priors to an estimate, and conflicts between them.

Near the solution, with the information :math:`A = J^T J / s^2` of the data and
:math:`P = D^T D` of the priors (:math:`D` the derivatives of their standardised
deviations), the covariance :math:`C = (A + P)^{-1}` is the sum of the contributions of
the noise of the data and of the uncertainty of the priors,

.. math:: C = C A C + C P C,

so that the diagonal of :math:`C P C` over that of :math:`C` is the share of the priors.

Conflict is tested by the prior predictive distribution (Box, Sampling and Bayes'
inference in scientific modelling and robustness, Journal of the Royal Statistical
Society A 143, 1980; Evans and Moshonov, Checking for prior-data conflict, Bayesian
Analysis 1, 2006) of the estimate from the data alone: the increase of the sum of
squares needed to satisfy the priors, too, is the squared Mahalanobis distance between
the two, with one degree of freedom for each prior on which the data have information.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.problem.priors import Priors
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.identifiability import INVISIBLE, analyse_rank
from fmident.statistics.linearisation import Linearisation
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.problem.model import Problem

ALONE = 0.99
"""Share of a prior from which on a parameter counts as determined by it alone."""

_SILENT = 1e-3
"""Part of a prior's variance that data must remove for the two to be compared."""


@dataclass(frozen=True, eq=False)
class PriorRows:
    """The priors at the solution.

    `deviations` are the distances above the prior's centre in standard deviations, shape
    (q,), and `slopes` their derivatives with respect to the physical parameters, shape
    (q, n).
    """

    names: tuple[str, ...]
    deviations: F64
    slopes: F64

    @classmethod
    def at(cls, problem: Problem, p: F64) -> PriorRows | None:
        """Return the priors of a problem at a point, shape (n,); ``None`` if no prior counts."""
        priors = Priors.of(problem)
        if not priors.count:
            return None
        return cls(priors.names, priors.deviations(p), priors.slopes(p))

    def along(self, basis: F64) -> PriorRows:
        """Return the priors for parameters that move along the columns of a basis, (n, n)."""
        return PriorRows(self.names, self.deviations, self.slopes @ basis)


@dataclass(frozen=True, eq=False)
class PriorContribution:
    """Contributions of q priors to an estimate of n parameters.

    `shares` are those of the priors in the variance of each parameter, 0 to 1. The data
    alone give `data_values` with `data_errors`, to first order, determine `data_rank`
    combinations and leave `open` parameters. `deviations`, shape (q,), are the distances of
    each prior from the estimate by data and other priors, in standard deviations of the
    difference. `distance` is the squared Mahalanobis distance between all priors and the
    data, with `compared` degrees of freedom. P-values are probabilities of larger ones; all
    are NaN if there is nothing to compare.
    """

    names: tuple[str, ...]
    shares: F64
    data_values: F64
    data_errors: F64
    deviations: F64
    p_values: F64
    distance: float
    compared: int
    p_value: float
    data_rank: int
    open: npt.NDArray[np.bool_]

    def alone(self) -> npt.NDArray[np.bool_]:
        """Return which parameters are determined by priors alone, shape (n,)."""
        by_prior: npt.NDArray[np.bool_] = np.nan_to_num(self.shares) > ALONE
        return by_prior


def with_prior_rows(
    jacobian: F64, residuals: F64, spread: F64 | None, prior: PriorRows, noise: float
) -> tuple[F64, F64, F64 | None]:
    """Return a least-squares problem with the priors as further rows, scaled by the noise."""
    rows = np.vstack([jacobian, noise * prior.slopes])
    right = np.concatenate([residuals, noise * prior.deviations])
    exact = None if spread is None else np.vstack([spread, np.zeros_like(prior.slopes)])
    return rows, right, exact


def without_invisible(
    jacobian: F64, spread: F64 | None, column_errors: F64 | None, prior: PriorRows
) -> tuple[F64, F64 | None, F64 | None]:
    """Return derivatives of the data without columns that are smaller than their own errors.

    Only columns of parameters with a prior are dropped, which is exact and should not be
    obscured by these errors. The others are those of
    :func:`~fmident.statistics.identifiability.analyse_rank`.
    """
    if spread is None and column_errors is None:
        return jacobian, None, None
    errors = column_errors if spread is None else np.linalg.norm(spread, axis=0) / INVISIBLE
    assert errors is not None
    hidden = np.linalg.norm(jacobian, axis=0) <= errors
    hidden &= (prior.slopes != 0.0).any(axis=0)
    seen = np.where(hidden, 0.0, 1.0)
    return (
        jacobian * seen,
        None if spread is None else spread * seen,
        None if column_errors is None else column_errors * seen,
    )


def freedoms_of(covariance: F64, shares: F64, freedom: float) -> F64:
    """Return the effective degrees of freedom of each standard error, shape (n,).

    Priors have absolute standard deviations: only the part of the variance due to the noise
    of the data is as uncertain as the noise (Satterthwaite, Biometrics Bulletin 2, 1946).
    `shares` are those of the priors, `freedom` is that of the noise, infinite if known.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        effective: F64 = freedom / (1.0 - np.nan_to_num(shares)) ** 2
    return np.where(np.isfinite(np.diag(covariance)), effective, freedom)


def prior_shares(covariance: F64, linear: Linearisation) -> F64:
    """Return the share of the priors in each variance, 0 to 1, shape (n,); NaN without one."""
    by_priors = np.sum(linear.answer_to_noise()[:, linear.samples :] ** 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: F64 = np.minimum(by_priors / np.diag(covariance), 1.0)
    return shares


def prior_contribution(
    jacobian: F64,
    residuals: F64,
    values: F64,
    prior: PriorRows,
    covariance: F64,
    linear: Linearisation,
    *,
    sigma_known: bool,
    column_errors: F64 | None = None,
    spread: F64 | None = None,
) -> PriorContribution:
    """Return the contributions of data and priors.

    `jacobian` and `residuals` are those of the data alone, `covariance` and `linear` those
    of data and priors together, with a covariance of NaN if there is none. `column_errors`
    and `spread` are those of :func:`~fmident.statistics.identifiability.analyse_rank`, of
    all columns.
    """
    count, indices = values.size, linear.kept
    data = analyse_rank(
        jacobian[:, indices],
        None if column_errors is None else column_errors[indices],
        None if spread is None else spread[:, indices],
    )
    safe = np.where(data.column_norms > 0.0, data.column_norms, 1.0)
    seen_columns = np.where(data.column_norms > 0.0, jacobian[:, indices], 0.0)
    singular = data.singular_values[: data.rank]
    back = data.right[:, : data.rank] / safe[:, np.newaxis] / singular
    left = seen_columns @ back  # its columns are orthonormal
    pulled = left.T @ residuals
    least = max(float(residuals @ residuals - pulled @ pulled), 0.0)
    freedom = residuals.size - data.rank
    variance = 1.0 if sigma_known else least / freedom if freedom > 0 else np.nan

    clear = ~data.involved & ~data.without_influence
    data_values, data_errors = np.full(count, np.nan), np.full(count, np.nan)
    data_values[indices[clear]] = (values[indices] - back @ pulled)[clear]
    if linear.coloured is None:
        errors = np.sqrt(variance * np.sum(back**2, axis=1))
    else:
        errors = np.linalg.norm(linear.coloured.answers(-back @ left.T), axis=1)
    data_errors[indices[clear]] = errors[clear]
    left_open = np.zeros(count, dtype=np.bool_)
    left_open[indices[~clear]] = True

    # To first order at the minimum next to the values.
    move = linear.answer(linear.residuals)
    known = np.isfinite(np.diag(covariance)[indices]).all()
    deviations = prior.deviations + prior.slopes @ move
    # Of the deviations: what is left of the priors' own doubt, and what the noise adds.
    answers = np.nan_to_num(prior.slopes @ linear.answer_to_noise())
    left_over = np.eye(len(prior.names)) + answers[:, linear.samples :]
    by_noise = answers[:, : linear.samples]
    doubt = left_over @ left_over.T + by_noise @ by_noise.T
    comparable = (np.diag(left_over) > _SILENT) & bool(known)
    apart = np.full(len(prior.names), np.nan)
    apart[comparable] = deviations[comparable] / np.sqrt(np.diag(doubt)[comparable])
    limit = np.inf if sigma_known else float(freedom)
    limits = np.full(len(prior.names), limit)
    distance, compared = float("nan"), 0
    if variance > 0.0:
        off = left.T @ (residuals + seen_columns @ move[indices])
        distance = float(off @ off) / variance + float(deviations @ deviations)
        compared = len(prior.names) + data.rank - linear.analysis.rank
        compared = int(np.clip(compared, 0, np.count_nonzero(comparable)))
    if linear.coloured is not None and compared:  # the noise is not what the residuals suppose
        inverse = np.linalg.pinv(doubt, rcond=_SILENT**2, hermitian=True)
        distance = float(deviations @ inverse @ deviations)
        # The part of the doubt that is the priors' own is known.
        limits = linear.freedoms(prior.slopes, np.sum(left_over**2, axis=1))
        limit = float(np.min(limits[comparable]))
    return PriorContribution(
        prior.names,
        prior_shares(covariance, linear),
        data_values,
        data_errors,
        apart,
        np.array([_probability(z**2, 1, f) for z, f in zip(apart, limits, strict=True)]),
        distance,
        compared,
        _probability(distance, compared, limit),
        data.rank,
        left_open,
    )


def _probability(squared: float, compared: int, freedom: float) -> float:
    """Return the probability of a larger squared distance; chi-squared, or F without sigma."""
    if not np.isfinite(squared) or freedom <= 0.0 or compared == 0:
        return float("nan")
    if np.isinf(freedom):
        return chi_squared_tail(compared, squared)
    return f_tail(compared, freedom, squared / compared)


def prior_sentences(found: PriorContribution, names: Sequence[str], count: int) -> str:
    """Return what the data alone would determine, in words; empty if that is everything."""
    alone = [n for n, flag in zip(names, found.alone(), strict=True) if flag]
    mixed = [n for n, flag in zip(names, found.open, strict=True) if flag and n not in alone]
    sentences = []
    if mixed or alone:
        sentences.append(f"The data alone have rank {found.data_rank} of {count}.")
    if alone:
        verb = "is determined by its prior" if len(alone) == 1 else "are determined by their priors"
        sentences.append(f"{listed(alone)} {verb} alone: the data say nothing of it.")
    if mixed:
        sentences.append(
            f"{listed(mixed)} {'is' if len(mixed) == 1 else 'are'} determined only by data and"
            " priors together."
        )
    return " ".join(sentences)
