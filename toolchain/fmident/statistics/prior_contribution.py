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

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.identifiability import analyse_rank
from fmident.statistics.local_model import LocalModel
from fmident.words import listed

ALONE = 0.99
"""Share of a prior from which on a parameter counts as determined by it alone."""

_SILENT = 1e-3
"""Part of a prior's variance that data must remove for the two to be compared."""


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
        return np.nan_to_num(self.shares) > ALONE


def prior_shares(model: LocalModel) -> F64:
    """Return the share of the priors in each variance, 0 to 1, shape (n,); NaN without one."""
    by_priors = np.sum(model.answer_to_noise[:, model.samples :] ** 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: F64 = np.minimum(by_priors / np.diag(model.covariance), 1.0)
    return shares


def prior_contribution(model: LocalModel) -> PriorContribution | None:
    """Return the contributions of data and priors; ``None`` without priors."""
    if model.prior is None:
        return None
    prior, moving, count = model.prior.along(model.tangent.basis), model.moving, model.values.size
    jacobian, spread, errors = model.derivatives
    residuals, known_noise = model.right[: model.samples], np.isinf(model.freedom)
    data = analyse_rank(
        jacobian[:, moving],
        None if errors is None else errors[moving],
        None if spread is None else spread[:, moving],
    )
    columns, back = data.scaled(jacobian[:, moving]) * data.lengths, data.back
    left = columns @ back  # its columns are orthonormal
    pulled = left.T @ residuals
    least = max(float(residuals @ residuals - pulled @ pulled), 0.0)
    freedom = residuals.size - data.rank
    variance = 1.0 if known_noise else least / freedom if freedom > 0 else np.nan
    if model.scores is not None:
        variance = model.scores.variance(data.rank)

    clear = ~data.involved & ~data.without_influence
    data_values, data_errors = np.full(count, np.nan), np.full(count, np.nan)
    data_values[moving[clear]] = (model.values[moving] - back @ pulled)[clear]
    if model.coloured is None:
        own = np.sqrt(variance * np.sum(back**2, axis=1))
    else:
        own = np.linalg.norm(model.coloured.answers(-back @ left.T), axis=1)
    data_errors[moving[clear]] = own[clear]
    left_open = np.zeros(count, dtype=np.bool_)
    left_open[moving[~clear]] = True

    # To first order at the minimum next to the values.
    move = model.remaining_step
    known = np.isfinite(np.diag(model.covariance)[moving]).all()
    deviations = prior.deviations + prior.slopes @ move
    # Of the deviations: what is left of the priors' own doubt, and what the noise adds.
    answers = np.nan_to_num(prior.slopes @ model.answer_to_noise)
    left_over = np.eye(len(prior.names)) + answers[:, model.samples :]
    by_noise = answers[:, : model.samples]
    doubt = left_over @ left_over.T + by_noise @ by_noise.T
    comparable = (np.diag(left_over) > _SILENT) & bool(known)
    apart = np.full(len(prior.names), np.nan)
    apart[comparable] = deviations[comparable] / np.sqrt(np.diag(doubt)[comparable])
    limit = np.inf if known_noise else float(freedom)
    limits = np.full(len(prior.names), limit)
    distance, compared = float("nan"), 0
    if variance > 0.0:
        off = left.T @ (residuals + columns @ move[moving])
        distance = float(off @ off) / variance + float(deviations @ deviations)
        compared = len(prior.names) + data.rank - model.analysis.rank
        compared = int(np.clip(compared, 0, np.count_nonzero(comparable)))
    if model.coloured is not None and compared:  # the noise is not what the residuals suppose
        inverse = np.linalg.pinv(doubt, rcond=_SILENT**2, hermitian=True)
        distance = float(deviations @ inverse @ deviations)
        # The part of the doubt that is the priors' own is known.
        limits = model.freedoms(prior.slopes, np.sum(left_over**2, axis=1))
        limit = float(np.min(limits[comparable]))
    return PriorContribution(
        prior.names,
        prior_shares(model),
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


def prior_sentences(contribution: PriorContribution, names: Sequence[str], count: int) -> str:
    """Return what the data alone would determine, in words; empty if that is everything."""
    alone = [n for n, flag in zip(names, contribution.alone(), strict=True) if flag]
    mixed = [n for n, flag in zip(names, contribution.open, strict=True) if flag and n not in alone]
    sentences = []
    if mixed or alone:
        sentences.append(f"The data alone have rank {contribution.data_rank} of {count}.")
    if alone:
        verb = "is determined by its prior" if len(alone) == 1 else "are determined by their priors"
        sentences.append(f"{listed(alone)} {verb} alone: the data say nothing of it.")
    if mixed:
        sentences.append(
            f"{listed(mixed)} {'is' if len(mixed) == 1 else 'are'} determined only by data and"
            " priors together."
        )
    return " ".join(sentences)
