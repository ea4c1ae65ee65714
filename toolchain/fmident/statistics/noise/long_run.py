r"""Covariance of sums of correlated scores without a model of the noise.

An estimate moves by the sum of its scores, ``a_t r_t`` with its answer a to the samples and their
residuals r. Sums of the scores times K slow cosines are nearly independent of each other and have
the variance of that sum; their mean square estimates it, and Student's t with K degrees of freedom
counts that they are few (Müller, J. Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, J.
Business and Economic Statistics 36, 2018; Phillips, Econometric Theory 21, 2005). It is a HAC
estimate as that of Newey and West is (Econometrica 55, 1987), and needs no kernel; K follows from
the correlation of the scores as Andrews' bandwidth does (Econometrica 59, 1991).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.statistics.noise.series import Indices, Series

_FEWEST, _SHARE = 6, 4
"""Least number of cosines; samples per cosine."""

_BEFORE_BEST = 0.5
"""Part of the cosines of the least mean square error that is taken: intervals suffer more from bias
than from spread."""


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums of scores, from which the covariance of an estimate follows.

    Parameters
    ----------
    weights
        What turns answers to samples into the sums, shape (m, K): ``answers @ weights`` times its
        own transpose is the covariance of the quantities.
    counts
        How many of the K sums each series has, or several that were sampled together.
    """

    weights: F64
    counts: tuple[int, ...]

    def freedoms(self, answers: F64) -> F64:
        """Return the degrees of freedom of the variances, shape (n,): Welch and Satterthwaite's.

        Parameters
        ----------
        answers
            Of the quantities to samples, shape (n, m).
        """
        squares = (answers @ self.weights) ** 2
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        parts = np.add.reduceat(squares, starts, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            found: F64 = np.sum(parts, axis=1) ** 2 / np.sum(parts**2 / self.counts, axis=1)
        return found


def score_sums(
    series: Sequence[Series],
    residuals: F64,
    answers: F64,
    together: Sequence[Indices] = (),
) -> ScoreSums:
    """Return sums of scores over cosines.

    Each series has cosines of its own: over gaps time goes on, between experiments it does not.
    Outputs with samples at the same instants have the same ones, so that what they have in common
    counts.

    Parameters
    ----------
    series
        All of them, of all outputs.
    residuals
        Shape (m,).
    answers
        Of the quantities by which the number of cosines is chosen, shape (n, m).
    together
        Of each experiment the places of samples of its outputs at the same instants, shape
        (k, outputs) each.
    """
    groups = _groups(series, together)
    # The fewest of those that go together: slow sums need as many as the slowest allows.
    counts = tuple(min(_count(s, residuals, answers) for s in group) for group in groups)
    total = np.zeros((residuals.size, sum(counts)))
    each = [(s, g) for g, group in enumerate(groups) for s in group]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    for one, group in each:
        start, count = int(starts[group]), counts[group]
        span = one.positions[-1] + 1.0
        # From 0 to 1, the first and last sample half a sampling interval from the ends.
        places = (one.positions + 0.5) / span
        waves = np.cos(np.pi * np.outer(places, np.arange(1, count + 1)))
        # The residuals' mean square over all samples, missing ones included, stays what it is.
        share = np.sqrt(one.rows.size / np.sum(waves**2, axis=0))
        scaled = waves * share / np.sqrt(count)
        total[one.rows, start : start + count] = residuals[one.rows, np.newaxis] * scaled
    return ScoreSums(total, counts)


def _groups(series: Sequence[Series], together: Sequence[Indices]) -> list[list[Series]]:
    """Return series with all samples at the same instants beside each other, in groups."""
    found: dict[tuple[int, bytes], list[Series]] = {}
    for number, one in enumerate(series):
        place = next((k for k, rows in enumerate(together) if np.isin(one.rows[0], rows)), None)
        whole = place is not None and len(together[place]) == one.rows.size
        key = (-1 - number, b"") if place is None or not whole else (place, one.positions.tobytes())
        found.setdefault(key, []).append(one)
    return list(found.values())


def _count(series: Series, residuals: F64, answers: F64) -> int:
    """Return the number of cosines for one series."""
    size = series.rows.size
    scores = answers[:, series.rows] * residuals[series.rows]
    power = np.sum(scores**2, axis=1)
    products = np.sum(scores[:, 1:] * scores[:, :-1], axis=1)
    seen = power > 0.0
    if size < 2 or not seen.any():
        return 1
    correlation = float(np.clip(np.max(products[seen] / power[seen]), 0.0, 0.999))
    # Of an autoregression of first order: the bend of the spectrum at zero over its value.
    bend = np.pi**2 / 6.0 * 2.0 * correlation / (1.0 - correlation) ** 2 / size**2
    best = (2.0 * bend**2) ** -0.2 if bend > 0.0 else np.inf
    return max(1, int(min(max(_BEFORE_BEST * best, _FEWEST), size / _SHARE)))
