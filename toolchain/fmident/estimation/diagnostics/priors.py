"""Contributions of data and priors to an estimate, and conflicts between them.

Near the solution, with the information :math:`I = J^T J / s^2` of the data and
:math:`P = D^T D` of the priors (:math:`D` the derivatives of their standardised
deviations), the covariance :math:`C = (I + P)^{-1}` is the sum of the contributions of
the noise of the data and of the uncertainty of the priors,

.. math:: C = C I C + C P C,

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
from fmident.estimation.comparisons import PriorCheck, PriorKnowledge
from fmident.problem.priors import Priors
from fmident.statistics.distributions import chi_squared_tail, f_tail
from fmident.statistics.rank import RankAnalysis, analyse_rank
from fmident.words import listed

if TYPE_CHECKING:
    from fmident.problem.model import Problem
    from fmident.statistics.local_model import LocalModel

_ALONE = 0.99
"""Share of a prior above which a parameter counts as determined by it alone."""

_SILENT = 1e-3
"""Part of a prior's variance that data must remove for the two to be compared."""


@dataclass(frozen=True, eq=False)
class _DataAlone:
    """Least squares without the priors, linearised at the estimate.

    `left` are the orthonormal columns that span the determined changes of the residuals, shape
    (m, rank), and `back` leads from them to the moving parameters. All n parameters have `values`
    and `errors`, NaN for those that the data leave `open`. The `variance` of the residuals has
    `freedom` degrees of freedom, infinite if it is known.
    """

    rank: RankAnalysis
    columns: F64
    left: F64
    values: F64
    errors: F64
    open: npt.NDArray[np.bool_]
    variance: float
    freedom: float

    @classmethod
    def of(cls, model: LocalModel) -> _DataAlone:
        moving, count = model.moving, model.values.size
        jacobian, spread, errors = model.derivatives
        residuals = model.right[: model.samples]
        rank = analyse_rank(
            jacobian[:, moving],
            None if errors is None else errors[moving],
            None if spread is None else spread[:, moving],
        )
        columns, back = rank.scaled(jacobian[:, moving]) * rank.lengths, rank.back
        left = columns @ back
        pulled = left.T @ residuals
        least = max(float(residuals @ residuals - pulled @ pulled), 0.0)
        known, freedom = np.isinf(model.freedom), residuals.size - rank.rank
        variance = 1.0 if known else least / freedom if freedom > 0 else np.nan
        if model.scores is not None:
            variance = model.scores.variance(rank.rank)
        clear = ~rank.involved & ~rank.without_influence
        values, deviations = np.full(count, np.nan), np.full(count, np.nan)
        values[moving[clear]] = (model.values[moving] - back @ pulled)[clear]
        if model.coloured is None:
            own = np.sqrt(variance * np.sum(back**2, axis=1))
        else:
            own = np.linalg.norm(model.coloured.answers_to_innovations(-back @ left.T), axis=1)
        deviations[moving[clear]] = own[clear]
        left_open = np.zeros(count, dtype=np.bool_)
        left_open[moving[~clear]] = True
        return cls(
            rank, columns, left, values, deviations, left_open,
            variance, np.inf if known else float(freedom),
        )  # fmt: skip


def _conflict(model: LocalModel, data: _DataAlone) -> tuple[F64, F64, tuple[float, int, float]]:
    """Return how far q priors are from the data, to first order at the minimum.

    First the distances of each prior from the estimate by data and other priors, in standard
    deviations of the difference, and their p-values, shape (q,). Then the squared Mahalanobis
    distance between all priors and the data, its degrees of freedom, and its p-value. All are NaN
    if there is nothing to compare.
    """
    assert model.prior is not None
    prior, moving = model.prior.along(model.tangent.basis), model.moving
    count, move = prior.deviations.size, model.remaining_step
    deviations = prior.deviations + prior.slopes @ move
    # Of the deviations: what is left of the priors' own doubt, and what the noise adds.
    answers = np.nan_to_num(prior.slopes @ model.answer_to_noise)
    left_over = np.eye(count) + answers[:, model.samples :]
    by_noise = answers[:, : model.samples]
    doubt = left_over @ left_over.T + by_noise @ by_noise.T
    known = bool(np.isfinite(np.diag(model.covariance)[moving]).all())
    comparable = (np.diag(left_over) > _SILENT) & known
    apart = np.full(count, np.nan)
    apart[comparable] = deviations[comparable] / np.sqrt(np.diag(doubt)[comparable])
    limit, limits = data.freedom, np.full(count, data.freedom)
    distance, compared = float("nan"), 0
    if data.variance > 0.0:
        residuals = model.right[: model.samples]
        off = data.left.T @ (residuals + data.columns @ move[moving])
        distance = float(off @ off) / data.variance + float(deviations @ deviations)
        compared = count + data.rank.rank - model.analysis.rank
        compared = int(np.clip(compared, 0, np.count_nonzero(comparable)))
    if model.coloured is not None and compared:  # the noise is not what the residuals suppose
        inverse = np.linalg.pinv(doubt, rcond=_SILENT**2, hermitian=True)
        distance = float(deviations @ inverse @ deviations)
        # The part of the doubt that is the priors' own is known.
        limits = model.freedoms(prior.slopes, np.sum(left_over**2, axis=1))
        limit = float(np.min(limits[comparable]))
    p_values = [_probability(z**2, 1, f) for z, f in zip(apart, limits, strict=True)]
    return apart, np.array(p_values), (distance, compared, _probability(distance, compared, limit))


def _probability(squared: float, compared: int, freedom: float) -> float:
    """Return the probability of a larger squared distance; chi-squared, or F without sigma."""
    if not np.isfinite(squared) or freedom <= 0.0 or compared == 0:
        return float("nan")
    if np.isinf(freedom):
        return chi_squared_tail(compared, squared)
    return f_tail(compared, freedom, squared / compared)


def prior_knowledge(problem: Problem, model: LocalModel) -> tuple[PriorKnowledge | None, str]:
    """Return the contributions of data and priors, and which of both determine the parameters.

    ``None`` and an empty text if no prior counts; the text is empty, too, if the data alone
    determine everything.
    """
    if model.prior is None:
        return None, ""
    data, names, shares = _DataAlone.of(model), model.names, model.prior_shares
    deviations, p_values, joint = _conflict(model, data)
    place = {name: j for j, name in enumerate(names)}
    units = {q.name: q.unit for q in problem.parameters}
    alone, checks = np.nan_to_num(shares) > _ALONE, []
    for k, (name, prior) in enumerate(Priors.of(problem).terms):
        known, by_prior = (np.nan, np.nan, np.nan), False
        if (j := place.get(name)) is not None:
            known = (float(shares[j]), float(data.values[j]), float(data.errors[j]))
            by_prior = bool(alone[j])
        distance = float(deviations[k]), float(p_values[k])
        checks.append(PriorCheck(name, units[name], str(prior), *known, *distance, by_prior))
    left_open = tuple(name for name, flag in zip(names, data.open, strict=True) if flag)
    each = dict(zip(names, shares.tolist(), strict=True))
    knowledge = PriorKnowledge(tuple(checks), each, *joint, left_open)
    by_priors = [name for name, flag in zip(names, alone, strict=True) if flag]
    text = _sentences(by_priors, left_open, data.rank.rank, model.moving.size)
    return knowledge, text


def _sentences(alone: Sequence[str], left_open: Sequence[str], rank: int, count: int) -> str:
    mixed = [name for name in left_open if name not in alone]
    sentences = []
    if mixed or alone:
        sentences.append(f"The data alone have rank {rank} of {count}.")
    if alone:
        verb = "is determined by its prior" if len(alone) == 1 else "are determined by their priors"
        sentences.append(f"{listed(alone)} {verb} alone: the data say nothing of it.")
    if mixed:
        sentences.append(
            f"{listed(mixed)} {'is' if len(mixed) == 1 else 'are'} determined only by data and"
            " priors together."
        )
    return " ".join(sentences)


def after_stages(stages: Sequence[PriorKnowledge | None]) -> PriorKnowledge | None:
    """Return the priors' contribution in a run with stages, by last stage of a parameter."""
    known = [k for k in stages if k is not None]
    if len(known) < 2:
        return known[0] if known else None
    checks = {c.name: c for k in known for c in k.checks}
    shares = {name: share for k in known for name, share in k.shares.items()}
    open_ones = {n: n in k.left_open for k in known for n in k.shares}
    return PriorKnowledge(
        tuple(checks.values()), shares, left_open=tuple(n for n, o in open_ones.items() if o)
    )
