r"""Series of samples of a noise process, and the matrix that whitens them exactly.

A sample is predicted from the samples before it. With an autoregression of order p the last p
instants contain all that the past says (Harvey, Forecasting, Structural Time Series Models and the
Kalman Filter, 1989, sections 3.3 and 3.4.7 on missing observations): where they are all there, the
prediction is the autoregression's. At the beginning of a series, and after samples that are
missing, the best prediction follows from the autocovariance and the samples that are there. Rows of
the whitening matrix W are these prediction errors over their standard deviations, so that
``W^T W`` is the inverse of the covariance matrix. It is a banded lower triangle.

**Noise that several outputs have in common** at the same instants: what shakes a machine, or
disturbs its amplifiers, is seen by more than one sensor. Innovations of outputs then go together at
each instant with a correlation R, so that two of them tell less than two independent ones: with
their autoregressions L the covariance of an estimate that answers to the samples with A is

.. math:: A L (1 \otimes R) L^T A^T

(Zellner, J. American Statistical Association 57, 1962; across sections Driscoll and Kraay, Review
of Economics and Statistics 80, 1998). R is that of the innovations themselves.

**Stationary autoregressions** have coefficients, partial autocorrelations and an autocovariance.
The process

.. math:: e_t = \sum_{k=1}^{p} \varphi_k \, e_{t-k} + u_t, \qquad u_t \sim N(0, \sigma^2)

is stationary if and only if all its partial autocorrelations lie between -1 and 1, and
these determine the coefficients uniquely by the recursion of Durbin and Levinson
(Barndorff-Nielsen and Schou, J. Multivariate Analysis 3, 1973; Jones, Technometrics 22,
1980). A search over them always stays stationary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy
from scipy import sparse
from scipy.linalg import lapack

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail

_EVEN = 0.05
"""Part of the sampling interval by which distances of samples may be off a multiple of it."""

_APART = 2000
"""Sampling intervals between two samples above which these are taken for independent."""

_ROUNDING = 1e-14

_MOST = 60
"""Samples that a prediction takes into account where many are missing: more tell nothing."""

Indices = npt.NDArray[np.intp]


_FEWEST = 20
"""Least number of common instants for a correlation."""


_LAGS = 20
_FEWEST_OF_TEST = 10
"""Least number of samples for a test."""

_SHARE = 5
"""Samples per lag."""

_LOOKS = (1, 5, _LAGS)
"""Lags of the test."""

_PER_SAMPLE, _STRICT, _LENIENT = 2.5, 1e-3, 0.05
"""Probability below which a record counts as correlated, times its samples; its limits."""


@dataclass(frozen=True, eq=False)
class Series:
    """Samples of one output in one experiment, in order of time.

    `rows` are their indices among all residuals, and `positions` their times over the
    sampling interval `step`, s: integers on an equidistant grid, possibly with missing
    samples, if `even`. `record` is the number of the experiment, ``None`` if it has no
    other series.
    """

    rows: Indices
    positions: F64
    even: bool
    step: float = 1.0
    record: int | None = None


def series_of(
    rows: Indices, times: F64, step: float | None = None, record: int | None = None
) -> Series:
    """Return samples at times, s, as a series; the default step is the median distance."""
    if times.size < 2:
        return Series(rows, np.zeros(times.size), True, record=record)
    between = np.diff(times)
    interval = sampling_interval(times) if step is None else step
    lengths = between / interval
    whole = np.rint(lengths)
    # What is far apart is independent, whatever part of an interval lies between.
    off = np.where(lengths > _APART, 0.0, np.abs(lengths - whole))
    even = bool((off <= _EVEN).all() and (whole >= 1.0).all())
    positions = np.concatenate([[0.0], np.cumsum(whole if even else lengths)])
    return Series(rows, positions, even, interval, record)


def sampling_interval(times: F64) -> float:
    """Return the median interval of increasing times, s; NaN for a single one."""
    return float(np.median(np.diff(times))) if times.size > 1 else float("nan")


@dataclass(frozen=True, eq=False)
class Pattern:
    """Samples that are predicted from previous ones at the same distances, in intervals."""

    distances: npt.NDArray[np.int64]
    rows: Indices

    @cached_property
    def regular(self) -> bool:
        """Whether the previous samples are consecutive, as at the beginning of a series."""
        return np.array_equal(self.distances, np.arange(1, self.distances.size + 1))

    @property
    def farthest(self) -> int:
        """Largest distance."""
        return int(self.distances[-1]) if self.distances.size else 0


@dataclass(frozen=True, eq=False)
class Layout:
    """Scheme for predicting the samples of a series by an autoregression of some order."""

    patterns: tuple[tuple[Pattern, Indices], ...]
    size: int

    @cached_property
    def reach(self) -> int:
        """Largest index difference between a sample and those that predict it."""
        return max(
            (int(np.max(p.rows[:, np.newaxis] - e)) for p, e in self.patterns if e.size), default=0
        )


def layout_of(series: Series, order: int) -> Layout:
    """Return the samples from which each sample of an even series is predicted."""
    positions = series.positions.astype(np.int64)
    size = positions.size
    if order == 0:
        rows = np.arange(size)
        nothing = np.empty((size, 0), dtype=np.intp)
        return Layout(((Pattern(np.empty(0, dtype=np.int64), rows), nothing),), size)
    runs = _consecutive(positions)
    by_distances: dict[tuple[int, ...], list[tuple[int, list[int]]]] = {}
    whole = np.flatnonzero(runs >= order)
    for i in np.flatnonzero(runs < order):
        places = _informative(positions, runs, int(i), order)
        distances = tuple(int(positions[i] - positions[j]) for j in places)
        by_distances.setdefault(distances, []).append((int(i), places))
    patterns = []
    if whole.size:
        steps = np.arange(1, order + 1)
        patterns.append((Pattern(steps, whole), whole[:, np.newaxis] - steps))
    for distances, members in by_distances.items():
        rows = np.array([i for i, _ in members], dtype=np.intp)
        earlier = np.array([p for _, p in members], dtype=np.intp).reshape(rows.size, -1)
        patterns.append((Pattern(np.array(distances, dtype=np.int64), rows), earlier))
    return Layout(tuple(patterns), size)


def _consecutive(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the number of samples that precede each one without a gap, shape (k,)."""
    joined = np.concatenate([[False], np.diff(positions) == 1])
    index = np.arange(positions.size)
    start = np.maximum.accumulate(np.where(joined, 0, index))
    return index - start


def _informative(
    positions: npt.NDArray[np.int64], runs: npt.NDArray[np.int64], i: int, order: int
) -> list[int]:
    """Return the previous samples with all information on sample i, the latest first."""
    places: list[int] = []
    j = i - 1
    while j >= 0 and len(places) < _MOST and positions[i] - positions[j] <= _APART:
        places.append(j)
        if runs[j] >= order - 1:  # what is before as many samples without a gap tells no more
            places += range(j - 1, j - order, -1)
            break
        j -= 1
    return places


def predictors(layout: Layout, partial: F64) -> list[tuple[F64, float]]:
    """Return the weights of the previous samples, and the variance of the error, by pattern.

    For innovations of variance 1.
    """
    orders = orders_of(partial)
    # Variances of what each order leaves: the process itself, ..., the innovations.
    left = np.cumprod(np.r_[variance_of(partial), 1.0 - partial**2])
    farthest = max((p.farthest for p, _ in layout.patterns if not p.regular), default=0)
    gamma = autocovariance(partial, farthest + 1) if farthest else np.empty(0)
    return [
        (orders[p.distances.size], float(left[p.distances.size]))
        if p.regular
        else _predictor(p.distances, gamma)
        for p, _ in layout.patterns
    ]


def _predictor(distances: npt.NDArray[np.int64], gamma: F64) -> tuple[F64, float]:
    among = gamma[np.abs(distances[:, np.newaxis] - distances)]
    # A search also tries processes that rounding makes singular.
    among[np.diag_indices_from(among)] += _ROUNDING * gamma[0]
    weights = np.linalg.solve(among, gamma[distances])
    # Rounding must not leave less than the innovation's own variance.
    return weights, max(float(gamma[0] - weights @ gamma[distances]), 1.0)


class Whitening:
    """The whitening matrix of a series, a banded lower triangle.

    `bands` are LAPACK's lower bands: ``bands[d, i]`` is the element in row ``i + d`` and
    column ``i``, shape (b + 1, k).
    """

    def __init__(self, bands: F64) -> None:
        self._bands = bands

    @cached_property
    def _matrix(self) -> sparse.dia_array:
        count, size = self._bands.shape
        return sparse.dia_array((self._bands, -np.arange(count)), shape=(size, size))

    @classmethod
    def of(cls, series: Series, partial: F64, deviation: float) -> Whitening:
        """Return the whitening matrix of an autoregression.

        If the samples are not on a grid, the order is at most 1, and the autoregression is one
        in continuous time with this correlation over one sampling interval. `partial` are the
        partial autocorrelations, shape (p,); `deviation` is that of the innovations over one
        sampling interval.
        """
        if not series.even:
            return cls(
                _continuous(series.positions, float(partial[0]) if partial.size else 0.0, deviation)
            )
        layout = layout_of(series, partial.size)
        bands = np.zeros((layout.reach + 1, layout.size))
        each = zip(layout.patterns, predictors(layout, partial), strict=True)
        for (pattern, earlier), (weights, variance) in each:
            size = deviation * np.sqrt(variance)
            bands[0, pattern.rows] = 1.0 / size
            if earlier.size:
                bands[pattern.rows[:, np.newaxis] - earlier, earlier] = -weights / size
        return cls(bands)

    def whiten(self, values: F64) -> F64:
        """Return ``W @ values``: (k,) -> (k,) or (k, c) -> (k, c)."""
        return np.asarray(self._matrix @ values, dtype=np.float64)

    def colour(self, innovations: F64) -> F64:
        """Return ``W^-1 @ innovations``: samples of the process from white ones of variance 1."""
        return self._solved(innovations, "N")

    def whitened_answers(self, answers: F64) -> F64:
        """Return ``W^T @ answers``, shape (k, n), the inverse of :meth:`coloured_answers`."""
        return np.asarray(self._matrix.T @ answers, dtype=np.float64)

    def coloured_answers(self, answers: F64) -> F64:
        """Return ``W^-T @ answers``, responses to innovations from those to samples, (k, n).

        The product of its transpose with it is ``answers^T @ covariance @ answers``.
        """
        return self._solved(np.ascontiguousarray(answers), "T")

    def _solved(self, right: F64, transposed: str) -> F64:
        if len(self._bands) == 1:  # white noise, of which the matrix is diagonal
            scaled: F64 = (right.T / self._bands[0]).T
            return scaled
        columns = np.asfortranarray(right.reshape(len(right), -1))
        solution, _ = lapack.dtbtrs(
            np.asfortranarray(self._bands), columns, uplo="L", trans=transposed
        )
        return np.asarray(solution).reshape(right.shape)


def continuous_predictors(positions: F64, correlation: float) -> tuple[F64, F64]:
    """Return weights and variances of an autoregression in continuous time, shape (k,) each.

    Over one sampling interval it has the correlation `correlation` and innovations of
    variance 1; over d of them ``correlation^d`` (Jones, Fitting a continuous time
    autoregression to discrete data, in Applied Time Series Analysis II, 1981). The weights
    are those of the sample before each, 0 for the first; the variances are those of the
    prediction errors.
    """
    weights = np.zeros(positions.size)
    weights[1:] = max(correlation, 0.0) ** np.diff(positions)
    variance = 1.0 / (1.0 - correlation**2)
    return weights, variance * -np.expm1(2.0 * np.log(np.maximum(weights, 1e-300)))


def _continuous(positions: F64, correlation: float, deviation: float) -> F64:
    weights, variances = continuous_predictors(positions, correlation)
    bands = np.zeros((2 if correlation > 0.0 else 1, positions.size))
    sizes = deviation * np.sqrt(variances)
    bands[0] = 1.0 / sizes
    if correlation > 0.0:
        bands[1, :-1] = -(weights / sizes)[1:]
    return bands


@dataclass(frozen=True, eq=False)
class Shared:
    """Outputs of one experiment with correlated innovations.

    `rows` are the indices of their samples at common instants among all residuals, shape
    (k, outputs); `pairs` are those correlated beyond chance, as columns of `rows`.
    """

    rows: Indices
    correlation: F64
    pairs: tuple[tuple[int, int], ...]

    def mix(self, innovations: F64) -> None:
        """Correlate independent innovations, shape (m, n), in place.

        Responses to innovations, transposed, become responses to independent ones with the same
        covariance.
        """
        innovations[self.rows] = np.einsum("ij,kjn->kin", self._root, innovations[self.rows])

    def doubt(self, answers: F64) -> F64:
        """Return the additional variances of estimated variances, shape (n,).

        Of a Wishart distribution, ``2 tr(R M R M) / k`` with ``M`` the sum of the products of
        responses, instead of the part that each output contributes separately. `answers` are
        the responses of quantities to innovations before mixing, shape (n, m).
        """
        own = answers[:, self.rows]
        products = np.einsum("nki,nkj->nij", own, own, optimize=True)
        together = self.correlation @ products
        squares = np.einsum("nij,nji->n", together, together)
        alone = np.sum(np.einsum("nii->ni", products) ** 2, axis=1)
        additional: F64 = 2.0 * np.maximum(squares - alone, 0.0) / len(self.rows)
        return additional

    @property
    def _root(self) -> F64:
        """Symmetric root of the correlation."""
        values, vectors = np.linalg.eigh(self.correlation)
        root: F64 = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return root


def shared_noise(innovations: F64, together: Sequence[Indices], rare: float) -> tuple[Shared, ...]:
    """Return which outputs have noise in common.

    `together` is as in :func:`~fmident.statistics.noise.covariance.noise_found`; `rare` is
    the largest probability, over all pairs, of such a correlation by chance.
    """
    correlated = []
    for rows in together:
        pairs = [(i, j) for i in range(rows.shape[1]) for j in range(i)]
        if len(rows) < _FEWEST or not pairs:
            continue
        own = innovations[rows]
        own = own - own.mean(axis=0)
        sizes = np.sqrt(np.mean(own**2, axis=0))
        if not (sizes > 0.0).all():
            continue
        own = own / sizes
        # Over the root of the squared products, as for correlations in time (Dalla and others).
        seen = [
            (j, i)
            for i, j in pairs
            if len(pairs) * chi_squared_tail(1, _studentised(own[:, i] * own[:, j])) < rare
        ]
        if seen:
            correlated.append(Shared(rows, own.T @ own / len(rows), tuple(sorted(seen))))
    return tuple(correlated)


def _studentised(products: F64) -> float:
    total = float(products @ products)
    return float(np.sum(products)) ** 2 / total if total > 0.0 else 0.0


def portmanteau(
    series: Sequence[Series], values: Sequence[F64], fitted: int = 0, most: int = _LAGS
) -> float:
    """Return the probability of autocorrelations as large as these in white noise.

    The sum over lags of the test of Ljung and Box (Biometrika 65, 1978), with each
    correlation over the root of the sum of its squared products, which is its variance for
    any sizes and tails of the samples (Dalla, Giraitis and Phillips, Econometric Theory 38,
    2022). Pairs are formed by distance in time, so that missing samples do not turn others
    into neighbours; in series that do not lie on grids, by order.

    `fitted` is the number of coefficients of an autoregression that whitened the values,
    `most` the number of additional lags. NaN for too few samples.
    """
    size = sum(v.size for v in values)
    power = sum(float(v @ v) for v in values)
    lags = min(most + fitted, size // _SHARE)
    if size < _FEWEST_OF_TEST or lags <= fitted or power == 0.0:
        return float("nan")
    even = all(s.even for s in series)
    total, used = 0.0, 0
    for lag in range(1, (lags if even else 1) + 1):
        products, squares, pairs = 0.0, 0.0, 0
        for one, value in zip(series, values, strict=True):
            later, earlier = _pairs(one, lag)
            product = value[later] * value[earlier]
            products, squares = products + float(product.sum()), squares + float(product @ product)
            pairs += later.size
        if pairs < _FEWEST_OF_TEST or squares == 0.0:
            continue
        total += products**2 / squares
        used += 1
    freedom = used - fitted
    return chi_squared_tail(freedom, total) if freedom > 0 else float("nan")


def white_chance(series: Sequence[Series], values: Sequence[F64]) -> float:
    """Return the probability of autocorrelations as large as these in white noise.

    The minimum of :func:`portmanteau` over one, five and twenty lags, times three
    (Bonferroni): neighbours alone are most sensitive to slowly changing noise, which twenty
    lags hide in a short record. NaN for too few samples.
    """
    known = [portmanteau(series, values, most=lags) for lags in _LOOKS]
    known = [p for p in known if not np.isnan(p)]
    return min(len(known) * min(known), 1.0) if known else float("nan")


def colour_level(size: int) -> float:
    """Return the probability below which a record of `size` samples counts as correlated.

    It falls with the length of the record. In a short one, a correlation that doubles
    standard errors may give only weak evidence, and including a correlation that does not
    exist costs little.
    """
    return float(np.clip(_PER_SAMPLE / max(size, 1), _STRICT, _LENIENT))


def neighbours(series: Sequence[Series], values: Sequence[F64]) -> float:
    """Return the correlation of neighbouring samples; NaN for too few."""
    products, pairs = 0.0, 0
    for one, value in zip(series, values, strict=True):
        later, earlier = _pairs(one, 1)
        products += float(value[later] @ value[earlier])
        pairs += later.size
    size, power = sum(v.size for v in values), sum(float(v @ v) for v in values)
    return (
        products / pairs * size / power
        if pairs >= _FEWEST_OF_TEST and power > 0.0
        else float("nan")
    )


def _pairs(series: Series, lag: int) -> tuple[np.ndarray, np.ndarray]:
    """Return indices of samples that are `lag` sampling intervals apart."""
    if not series.even:
        index = np.arange(series.positions.size)
        return index[lag:], index[:-lag]
    positions = series.positions.astype(np.int64)
    earlier = np.searchsorted(positions, positions - lag)
    exists = positions[np.minimum(earlier, positions.size - 1)] == positions - lag
    later = np.flatnonzero(exists)
    return later, earlier[later]


def bartlett(squares: F64, freedoms: F64) -> float:
    """Return Bartlett's probability of variances as different in noise of one size.

    M. S. Bartlett, Proc. Royal Society A 160, 1937, from sums of squares and degrees of
    freedom.
    """
    usable = (freedoms > 1.0) & (squares > 0.0)
    squares, freedoms = squares[usable], freedoms[usable]
    if squares.size < 2:
        return float("nan")
    pooled = float(squares.sum() / freedoms.sum())
    statistic = float(np.sum(freedoms * np.log(pooled / (squares / freedoms))))
    correction = 1.0 + (float(np.sum(1.0 / freedoms)) - 1.0 / freedoms.sum()) / (
        3.0 * (squares.size - 1)
    )
    # Of sizes that are equal, rounding may make it negative.
    return chi_squared_tail(squares.size - 1, max(statistic / correction, 0.0))


def white_test(innovations: F64, shares: F64) -> float:
    """Return the probability of squares that follow the regressors so closely in even noise.

    The direct test of White (Econometrica 48, 1980) whether unequal variances change the
    standard errors, studentised like that of Breusch and Pagan by Koenker (J. Econometrics
    17, 1981): the squares of the innovations, shape (m,), are regressed on their
    contributions to the variance of each parameter, `shares`, shape (n, m).
    """
    totals = shares.sum(axis=1)
    columns = shares[totals > 0.0] / totals[totals > 0.0, np.newaxis]
    columns = columns - columns.mean(axis=1, keepdims=True)
    size = innovations.size
    if not len(columns) or size < _FEWEST_OF_TEST * (len(columns) + 1):
        return float("nan")
    squares = innovations**2
    squares = squares - squares.mean()
    left, singular, _ = np.linalg.svd(columns.T, full_matrices=False)
    left = left[:, singular > 1e-8 * singular[0]] if singular[0] > 0.0 else left[:, :0]
    power = float(squares @ squares)
    if not left.shape[1] or power == 0.0:
        return float("nan")
    explained = float(np.sum((left.T @ squares) ** 2)) / power
    return chi_squared_tail(left.shape[1], size * explained)


def coefficients_of(partial: F64) -> F64:
    """Return the coefficients for partial autocorrelations, (p,) -> (p,)."""
    return orders_of(partial)[-1]


def orders_of(partial: F64) -> list[F64]:
    """Return the coefficients of the best predictors from 0, 1, ..., p earlier samples."""
    coefficients = np.zeros(partial.size)
    orders = [coefficients[:0]]
    for k, value in enumerate(partial.tolist()):
        before = orders[-1]
        coefficients = np.empty(k + 1)
        coefficients[:k] = before - value * before[::-1]
        coefficients[k] = value
        orders.append(coefficients)
    return orders


def variance_of(partial: F64) -> float:
    """Return the variance of the process for innovations of variance 1."""
    return float(1.0 / np.prod(1.0 - partial**2))


def autocovariance(partial: F64, count: int) -> F64:
    """Return autocovariances at lags 0 to ``count - 1`` for innovations of variance 1."""
    order = partial.size
    covariances = np.zeros(max(count, order + 1))
    covariances[0] = left = variance_of(partial)
    orders = orders_of(partial)
    for k, value in enumerate(partial, start=1):
        covariances[k] = orders[k - 1] @ covariances[k - 1 : 0 : -1] + value * left
        left *= 1.0 - value**2
    before = orders[-1]
    if count > order + 1 and order:
        recursion = np.r_[1.0, -before]
        start = scipy.signal.lfiltic([1.0], recursion, covariances[order:0:-1])
        silent = np.zeros(count - order - 1)
        covariances[order + 1 :] = scipy.signal.lfilter(
            [1.0], np.r_[1.0, -before], silent, zi=start
        )[0]
    return covariances[:count]
