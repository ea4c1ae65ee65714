"""The covariance of an estimate and its degrees of freedom, under any noise.

An estimate answers to the noise e of the residuals with ``d = A e``; its covariance is
``A S A^T``, with S the covariance of the noise: the sandwich ``(J^T J)^-1 J^T S J (J^T J)^-1`` of
least squares. Where tests find nothing against white noise of one size, S is that (classical
formulas). Else it is that of a :class:`NoiseModel` fitted to the residuals: an autoregression for
each output whose order grows with the record, that is the autoregressive estimate of the spectrum
at all frequencies (Berk, Annals of Statistics 2, 1974; for covariances of estimates den Haan and
Levin, A practitioner's guide to robust covariance matrix estimation, Handbook of Statistics 15,
1997). Kernels with Andrews' bandwidth (Newey and West, Econometrica 55, 1987; Andrews, Econometrica
59, 1991; with prewhitening Andrews and Monahan, Econometrica 60, 1992) need no model, but do not
know how much the fit has taken out of the residuals, nor how far to trust themselves: at a
correlation of 0.98 over some hundred samples their intervals hold the truth in 70 to 90 % of the
cases, in which these hold 93 to 97 % (docs/explanation/uncertainty.md). Unequal variances over
time are counted with the estimator HC3 of MacKinnon and White (J. Econometrics 29, 1985), of the
innovations.

**The long-run covariance** needs no model of the noise. An estimate moves by the sum of its scores,
``a_t r_t`` with its answer a to the samples and their residuals r. Sums of the scores times K slow
cosines are nearly independent of each other and have the variance of that sum; their mean square
estimates it, and Student's t with K degrees of freedom counts that they are few (Müller, J.
Econometrics 141, 2007; Lazarus, Lewis, Stock and Watson, J. Business and Economic Statistics 36,
2018; Phillips, Econometric Theory 21, 2005). K follows from the correlation of the scores as
Andrews' bandwidth does.

**Residuals that repeat in other experiments** show what a model lacks: noise does not come back.
Innovations of independent series are uncorrelated, whatever the noise of each (Haugh, J. American
Statistical Association 71, 1976). This is not true of residuals that have a part in common.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail
from fmident.statistics.noise.processes import (
    NoiseModel,
    NoisyOutput,
    fit_noise,
    spanned,
    without_parameters,
)
from fmident.statistics.noise.series import (
    Indices,
    Series,
    bartlett,
    colour_level,
    neighbours,
    portmanteau,
    shared_noise,
    white_chance,
    white_test,
)
from fmident.statistics.noise.waves import Steps, Wave, steps_in, tones_in, with_amplitudes

REJECTED = 1e-3
"""Probability below which a hypothesis about the noise is rejected."""

_LEFT = 0.5
"""Part of the cost that a last step leaves at least where an estimate is near the minimum."""

_TOO_SMALL = 0.01
"""Chi-square per degree of freedom below which the residuals are not the noise that was given."""

_TOO_QUIET = 0.1
"""Sum of squares over the one that a model of the noise expects: of a random walk less than this
has a probability of about 0.1 %."""

_SAME = 1e-3
"""Part of the variance by which ordinary and generalised least squares differ at least, for a
comparison of both."""

_MOVE = 1e-3
"""Change of an area tangent in central differences."""

_MOST_UNSURE = 3.0
"""Part of a variance that counts for the noise model's uncertainty at most: what is more is beyond
the first order, from which it comes."""

_FEWEST_OF_TEST = 20
"""Least number of samples of an output to which an autoregression is fitted."""


_FEWEST_COSINES, _SHARE = 6, 4
"""Least number of cosines; samples per cosine."""

_BEFORE_BEST = 0.5
"""Part of the cosines of the least mean square error that is taken: intervals suffer more from bias
than from spread."""


_FEWEST_REPEATS = 30
"""Samples that two series have in common at least."""

_MATTERS = 0.2
"""Correlation below which intervals hardly suffer."""

_LARGEST = 1.0 - 1e-12


@dataclass(frozen=True)
class OutputNoise:
    """The noise of one output, determined from its residuals.

    The name includes the sampling interval if the output has several. `p_white` is the
    probability of autocorrelations as large in white noise, and `p_innovations` the same
    for the innovations of the autoregression, whose `deviation` is relative to that of
    whitened residuals. An order of 0 means white noise; probabilities and autocorrelation
    are NaN if unknown.
    """

    name: str
    samples: int
    autocorrelation: float
    p_white: float
    order: int
    coefficients: tuple[float, ...]
    deviation: float
    p_innovations: float = float("nan")


@dataclass(frozen=True, eq=False)
class NoiseFinding:
    """The noise in the covariance of an estimate.

    An output may be `coloured` in time, outputs may have `unequal` sizes, and the size may
    be `uneven` along a record. With `whitened`, residuals and Jacobian were whitened with
    the model to the standard deviation `size`, and `unsure` has the Jacobian and a factor of the
    part missing from its covariance because the model is estimated, shape (n, k). If the residuals
    contradict the model, `sums` of scores give the covariance.
    """

    model: NoiseModel
    outputs: tuple[OutputNoise, ...]
    coloured: bool
    unequal: bool
    uneven: bool
    whitened: bool = False
    size: float = 1.0
    sums: ScoreSums | None = None
    unsure: tuple[F64, F64] | None = None

    def answers_to_innovations(self, answers: F64) -> F64:
        """Return the answers of quantities to innovations of variance 1, shape (n, m).

        The product with its own transpose is their covariance. `answers` are those to the
        residuals, shape (n, m).
        """
        if self.sums is not None:
            responses = np.zeros_like(answers)
            responses[:, : sum(self.sums.counts)] = answers @ self.sums.weights
            return responses
        if self.whitened:
            scales = self.size if self.model.scales is None else self.model.scales
            responses = answers * scales
            responses = self.model.mixed(responses)
            if self.unsure is None:
                return responses
            # An error of the model acts on whole innovations, not on scores that bound them.
            jacobian, more = self.unsure
            known = np.sum(responses**2, axis=1, keepdims=True)
            added = np.sum((answers @ jacobian @ more) ** 2, axis=1, keepdims=True)
            with np.errstate(invalid="ignore", divide="ignore"):
                share = np.minimum(added / known, _MOST_UNSURE)
                return np.asarray(responses * np.sqrt(1.0 + share))
        return self.model.answers_to_innovations(answers)

    def freedoms(self, answers: F64) -> F64:
        """Return the effective degrees of freedom of the variances of quantities, shape (n,)."""
        if self.sums is not None:
            return self.sums.freedoms(answers)
        if self.whitened:
            answers = self.model.answers_to_samples(answers)
        return self.model.freedoms(answers)


def noise_found(
    outputs: Sequence[NoisyOutput],
    residuals: F64,
    jacobian: F64,
    *,
    sigma_known: bool,
    steps: Sequence[Steps] = (),
    together: Sequence[Indices] = (),
) -> NoiseFinding | None:
    """Return the noise of the residuals of a least-squares estimate.

    ``None`` if nothing contradicts white noise of one size, known or not. The `residuals`
    are those at the estimate; `jacobian` has columns for all fitted parameters; `steps` are
    the series whose sensor has steps. `together` has, for each experiment, the indices of
    samples of its outputs at the same instants among all residuals, shape (k, outputs)
    each.
    """
    # An estimator need not end where the cost is least: what a last step would take is not noise.
    columns = spanned(jacobian)
    left = residuals - columns @ (columns.T @ residuals)
    if not _is_noise(residuals, left, columns.shape[1], sigma_known=sigma_known):
        return None
    waves = waves_found(outputs, left, columns, steps)
    seen = without_parameters(outputs, left, columns)[0]
    residuals = left
    if waves:
        # Each wave is one more thing that the data tell, beside the parameters.
        jacobian = np.hstack([jacobian, *(w.columns(left.size) for w in waves)])
        columns = spanned(jacobian)
        residuals = left - columns @ (columns.T @ left)
    untouched, ranks = without_parameters(outputs, residuals, columns)
    own = [[untouched[s.rows] for s in o.series] for o in outputs]
    coloured = [
        o.size >= _FEWEST_OF_TEST and white_chance(o.series, v) < colour_level(o.size)
        for o, v in zip(outputs, own, strict=True)
    ]
    orders: list[int | Literal["auto"]] = ["auto" if c else 0 for c in coloured]
    squares = np.array([sum(float(v @ v) for v in values) for values in own])
    sizes = np.array([o.size - rank for o, rank in zip(outputs, ranks, strict=True)], dtype=float)
    unequal = not sigma_known and bartlett(squares, sizes) < REJECTED
    model = fit_noise(outputs, residuals, jacobian, orders)
    if any(coloured) and (
        contradicted(model, residuals, columns) < REJECTED
        or float(residuals @ residuals) < _TOO_QUIET * expected_squares(model, columns)
    ):
        every = [s for o in outputs for s in o.series]
        sums = score_sums(every, left, columns.T, together)
        model = dataclasses.replace(model, waves=waves)
        return NoiseFinding(model, output_noise(model, seen), True, unequal, False, sums=sums)
    shared = shared_noise(model.whiten(untouched), together, REJECTED)
    model = with_uneven_noise(model, residuals, jacobian)
    uneven = model.scales is not None
    if not (any(coloured) or unequal or uneven or waves or shared):
        return None
    model = dataclasses.replace(model, waves=waves, shared=shared)
    return NoiseFinding(
        model,
        output_noise(model, seen),
        not model.white,
        unequal,
        uneven,
    )


def waves_found(
    outputs: Sequence[NoisyOutput], residuals: F64, columns: F64, steps: Sequence[Steps] = ()
) -> tuple[Wave, ...]:
    """Return the waves of random phase in residuals; `columns` are as in `contradicted`."""
    waves: list[Wave] = []
    untouched = without_parameters(outputs, residuals, columns)[0]
    for output in outputs:
        for series in output.series:
            basis, values = spanned(columns[series.rows]), untouched[series.rows]
            for known in steps:
                if np.array_equal(known.rows, series.rows):
                    rounded = steps_in(series, values, basis, known.simulated, known.step)
                    own = spanned(np.hstack([basis, *(w.shape for w in rounded)]))
                    values = values - own @ (own.T @ values)
                    waves += rounded
            waves += tones_in(series, values, basis)
    return with_amplitudes(waves, residuals, columns)


def expected_squares(model: NoiseModel, columns: F64) -> float:
    """Return the sum of squared residuals expected for a noise model."""
    absorbed = float(np.sum(model.answers_to_innovations(columns.T) ** 2))
    return len(columns) * model.deviation**2 - absorbed


def contradicted(model: NoiseModel, residuals: F64, columns: F64) -> float:
    """Return the probability of the difference between generalised and ordinary least squares.

    The test of Hausman (Econometrica 46, 1978): under the model both estimate the same, and
    the variance of their difference is the difference of their variances. Model errors in
    the residuals increase the difference. The residuals are those of ordinary least
    squares; `columns` are orthonormal and span the possible changes by parameters, shape
    (m, r).
    """
    left, triangle = np.linalg.qr(model.whiten(columns))
    step = np.linalg.solve(triangle, left.T @ model.whiten(residuals))
    ordinary = model.answers_to_innovations(columns.T)
    inverse = np.linalg.inv(triangle)
    apart = ordinary @ ordinary.T - inverse @ inverse.T
    values, vectors = np.linalg.eigh(apart)
    distinct = values > _SAME * np.max(np.sum(ordinary**2, axis=1))
    if not distinct.any():
        return float("nan")
    statistic = float(np.sum((vectors[:, distinct].T @ step) ** 2 / values[distinct]))
    return chi_squared_tail(int(distinct.sum()), statistic)


def _is_noise(residuals: F64, left: F64, rank: int, *, sigma_known: bool) -> bool:
    """Return whether residuals are noise that can be modelled.

    Far from the minimum most of them are not. If they are much smaller than the given
    noise, they come from the solver or a filter, and the given noise is used.
    """
    freedom = residuals.size - rank
    size = float(left @ left)
    if rank == 0 or freedom <= 0 or not size > 0.0 or size < _LEFT * float(residuals @ residuals):
        return False
    return not sigma_known or size >= _TOO_SMALL * freedom


def with_uneven_noise(model: NoiseModel, residuals: F64, jacobian: F64) -> NoiseModel:
    """Return the model with the sizes of innovations, if they are unequal (HC3)."""
    white, left = model.whiten(residuals), spanned(model.whiten(jacobian))
    innovations = white - left @ (left.T @ white)
    # Those of the parameters' combinations, by least squares on the residuals as they are.
    answers = model.answers_to_innovations(spanned(jacobian).T)
    return _scaled_if_uneven(model, innovations, left, answers)


def _scaled_if_uneven(model: NoiseModel, innovations: F64, left: F64, answers: F64) -> NoiseModel:
    """Return the model with sizes of innovations that the columns `left` are fitted to, (m, r)."""
    if not left.shape[1] or not white_test(innovations, answers**2) < REJECTED:
        return model
    leverage = np.minimum(np.sum(left**2, axis=1), 0.99)
    return dataclasses.replace(model, scales=np.abs(innovations) / (1.0 - leverage))


def whitened_finding(
    model: NoiseModel,
    residuals: F64,
    jacobian: F64,
    together: Sequence[Indices] = (),
    size: float = 1.0,
) -> NoiseFinding:
    """Return the noise of an estimate whose residuals were whitened with a model to a `size`."""
    left = spanned(jacobian)
    innovations = residuals - left @ (left.T @ residuals)
    untouched = without_parameters(model.outputs, residuals, left)[0]
    model = dataclasses.replace(model, shared=shared_noise(untouched, together, REJECTED))
    model = _scaled_if_uneven(model, innovations, left, left.T)
    plain = dataclasses.replace(model, scales=None, shared=())
    return NoiseFinding(
        model,
        output_noise(plain, plain.colour(residuals)),
        not model.white,
        len(model.outputs) > 1,
        model.scales is not None,
        whitened=True,
        size=size,
        unsure=(jacobian, _unsure(plain, jacobian)),
    )


def _unsure(model: NoiseModel, jacobian: F64) -> F64:
    """Return a factor of the part missing from the covariance, shape (n, k).

    Estimated weights add to the variance of the estimate, and make it look smaller: to
    first order both by the same amount (Kackar and Harville, J. American Statistical
    Association 79, 1984; Kenward and Roger, Biometrics 53, 1997).
    """
    norms = np.linalg.norm(jacobian, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    raw = model.colour(jacobian / norms)
    parts = []
    for place, fit in enumerate(model.fits):
        moves = []
        for j in range(1, fit.unknowns.size):
            ends = [_answers_with(model, place, j, sign * _MOVE, raw) for sign in (1.0, -1.0)]
            moves.append((ends[0] - ends[1]) / (2.0 * _MOVE))
        if moves:
            root = _square_root(fit.spread[1:, 1:])
            responses = np.array([model.answers_to_innovations(m) for m in moves])
            parts.append(np.einsum("jk,jnm->nkm", root, responses).reshape(len(norms), -1))
    if not parts:
        return np.zeros((norms.size, 1))
    wide = np.sqrt(2.0) * np.hstack(parts) / norms[:, np.newaxis]
    return np.asarray(np.linalg.qr(wide.T, mode="r"), dtype=np.float64).T


def _answers_with(model: NoiseModel, place: int, unknown: int, move: float, raw: F64) -> F64:
    """Return the response of generalised least squares to samples with one unknown changed."""
    fit = model.fits[place]
    unknowns = fit.unknowns.copy()
    unknowns[unknown] += move
    changed = dataclasses.replace(fit, partial=np.tanh(unknowns[1:]))
    fits = (*model.fits[:place], changed, *model.fits[place + 1 :])
    other = NoiseModel(model.outputs, fits, waves=model.waves)
    inverse = np.asarray(np.linalg.pinv(other.whiten(raw), rcond=1e-10), dtype=np.float64)
    return other.answers_to_samples(inverse)


def _square_root(matrix: F64) -> F64:
    """Return a factor whose product with its own transpose is a positive matrix."""
    values, vectors = np.linalg.eigh(matrix)
    root: F64 = vectors * np.sqrt(np.maximum(values, 0.0))
    return root


def output_noise(model: NoiseModel, residuals: F64) -> tuple[OutputNoise, ...]:
    """Return the noise of each output, and tests of the residuals of its model."""
    white = model.whiten(residuals)
    noises = []
    for output, fit in zip(model.outputs, model.fits, strict=True):
        before = [residuals[s.rows] for s in output.series]
        after = [white[s.rows] for s in output.series]
        noises.append(
            OutputNoise(
                output.name,
                output.size,
                neighbours(output.series, before),
                white_chance(output.series, before),
                fit.order,
                tuple(fit.coefficients.tolist()),
                fit.deviation,
                portmanteau(output.series, after, fit.order) if fit.order else float("nan"),
            )
        )
    return tuple(noises)


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """Sums of scores, which give the covariance of an estimate.

    ``answers @ weights``, with weights of shape (m, K), times its own transpose is the
    covariance of the quantities; `counts` is the number of the K sums in each series, or in
    several that were sampled together.
    """

    weights: F64
    counts: tuple[int, ...]

    def freedoms(self, answers: F64) -> F64:
        """Return the Welch-Satterthwaite degrees of freedom of the variances, shape (n,)."""
        squares = (answers @ self.weights) ** 2
        starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        parts = np.add.reduceat(squares, starts, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            degrees: F64 = np.sum(parts, axis=1) ** 2 / np.sum(parts**2 / self.counts, axis=1)
        return degrees


def score_sums(
    series: Sequence[Series],
    residuals: F64,
    answers: F64,
    together: Sequence[Indices] = (),
) -> ScoreSums:
    """Return sums of scores over cosines.

    Each series has its own cosines, which continue over gaps but not between experiments.
    Outputs with samples at the same instants share them, so that common noise is included.
    `answers`, shape (n, m), determine the number of cosines; `together` is as in
    :func:`noise_found`.
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
    """Return groups of series whose samples are all at the same instants."""
    by_place: dict[tuple[int, bytes], list[Series]] = {}
    for number, one in enumerate(series):
        place = next((k for k, rows in enumerate(together) if np.isin(one.rows[0], rows)), None)
        whole = place is not None and len(together[place]) == one.rows.size
        key = (-1 - number, b"") if place is None or not whole else (place, one.positions.tobytes())
        by_place.setdefault(key, []).append(one)
    return list(by_place.values())


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
    return max(1, int(min(max(_BEFORE_BEST * best, _FEWEST_COSINES), size / _SHARE)))


def repetitions(
    outputs: Sequence[NoisyOutput], innovations: F64, level: float = 1e-3
) -> list[tuple[NoisyOutput, list[Series], float]]:
    """Return outputs with series whose residuals have a common part, and their correlation.

    The correlation is the mean over pairs weighted by samples, or the largest of a pair if some
    change sign.

    Each pair of series is compared from its first sample over their common length, and all
    pairs together, which also detects many weak correlations of one sign. `innovations` are
    those of the noise model, shape (m,); `level` is the probability of any detection in
    independent noise, by Bonferroni.
    """
    each = [_pairs(output, innovations) for output in outputs]
    rare = level / max(sum(len(pairs) + (len(pairs) > 1) for pairs in each), 1)
    recurring = []
    for output, pairs in zip(outputs, each, strict=True):
        strong = {
            pair for pair, (r, n) in pairs.items() if abs(r) > _MATTERS and _chance(r, n) < rare
        }
        if _together(pairs) < rare:
            alike = {k for pair in pairs for k in pair if _mean(pairs, k) > _MATTERS}
            strong |= {pair for pair in pairs if alike.issuperset(pair)}
        if strong:
            values = [pairs[pair] for pair in strong]
            mean = sum(r * n for r, n in values) / sum(n for _, n in values)
            opposed = any(r < -_MATTERS for r, _ in values) and any(r > _MATTERS for r, _ in values)
            correlation = max((r for r, _ in values), key=abs) if opposed else mean
            series = [output.series[k] for k in sorted({k for p in strong for k in p})]
            recurring.append((output, series, correlation))
    return recurring


def _pairs(output: NoisyOutput, innovations: F64) -> dict[tuple[int, int], tuple[float, int]]:
    """Return correlation and number of common samples of each pair of series."""
    pairs = {}
    for (i, a), (j, b) in combinations(enumerate(output.series), 2):
        if a.even and b.even:
            first, second = _common(a, b)
            x, y = innovations[a.rows[first]], innovations[b.rows[second]]
            size = float(np.linalg.norm(x) * np.linalg.norm(y))
            if x.size >= _FEWEST_REPEATS and size > 0.0:
                pairs[i, j] = float(x @ y) / size, x.size
    return pairs


def _mean(pairs: dict[tuple[int, int], tuple[float, int]], series: int) -> float:
    own = [correlation for pair, correlation in pairs.items() if series in pair]
    return sum(r * n for r, n in own) / sum(n for _, n in own)


def _common(a: Series, b: Series) -> tuple[Indices, Indices]:
    _, first, second = np.intersect1d(
        np.rint(a.positions), np.rint(b.positions), assume_unique=True, return_indices=True
    )
    return first, second


def _chance(correlation: float, count: int) -> float:
    """Return the probability of a correlation at least as large, by Fisher's z."""
    bounded = min(abs(correlation), _LARGEST)
    return math.erfc(math.atanh(bounded) * math.sqrt(0.5 * (count - 3)))


def _together(pairs: dict[tuple[int, int], tuple[float, int]]) -> float:
    """Return the probability of so large a mean correlation of one sign.

    Pairs are uncorrelated, but not independent: for many series with n samples, the sum is
    distributed like chi-squared with n degrees of freedom, whose tail is longer.
    """
    counts = np.array([n for _, n in pairs.values()], dtype=np.float64)
    values = np.array([r for r, _ in pairs.values()])
    if counts.size < 2 or float(values @ counts) <= _MATTERS * float(counts.sum()):
        return 1.0
    z = float(values @ counts) / math.sqrt(counts.sum())
    least = float(counts.min())
    return chi_squared_tail(least, least + z * math.sqrt(2.0 * least))
