r"""Where the samples of a noise process lie, and the matrix that whitens them exactly.

A sample is predicted from the samples before it. With an autoregression of order p the last p
instants tell all that the past tells (Harvey, Forecasting, Structural Time Series Models and the
Kalman Filter, 1989, sections 3.3 and 3.4.7 on missing observations): where they are all there, the
prediction is the autoregression's. At the beginning of a series, and after samples that are
missing, the best prediction follows from the autocovariance and the samples that are there. Rows of
the whitening matrix W are these prediction errors over their standard deviations, so that
``W^T W`` is the inverse of the covariance matrix. It is a banded lower triangle.

Noise that several outputs have in common at the same instants.

What shakes a machine, or disturbs its amplifiers, is seen by more than one sensor. Innovations of
outputs then go together at each instant with a correlation R, so that two of them tell less than
two independent ones: with their autoregressions L the covariance of an estimate that answers to the
samples with A is

.. math:: A L (1 \otimes R) L^T A^T

(Zellner, J. American Statistical Association 57, 1962; across sections Driscoll and Kraay, Review
of Economics and Statistics 80, 1998). R is that of the innovations themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from fmident.arrays import F64
from fmident.statistics.distributions import chi_squared_tail
from fmident.statistics.noise.autoregression import autocovariance, orders_of, variance_of

_EVEN = 0.05
"""Part of the sampling interval by which distances of samples may be off a multiple of it."""

_APART = 2000
"""Sampling intervals between two samples from which on these are taken for independent."""

_ROUNDING = 1e-14

_MOST = 60
"""Samples that a prediction takes into account where many are missing: more tell nothing."""

Indices = npt.NDArray[np.intp]


_FEWEST = 20
"""Common instants from which on a correlation is looked for."""


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


@dataclass(frozen=True, eq=False)
class Predictor:
    """Prediction of a pattern: weights of the previous samples, variance of the error."""

    weights: F64
    variance: float


def predictors(layout: Layout, partial: F64) -> list[Predictor]:
    """Return the predictor of each pattern, for innovations of variance 1."""
    orders = orders_of(partial)
    # Variances of what each order leaves: the process itself, ..., the innovations.
    left = np.cumprod(np.r_[variance_of(partial), 1.0 - partial**2])
    farthest = max((p.farthest for p, _ in layout.patterns if not p.regular), default=0)
    gamma = autocovariance(partial, farthest + 1) if farthest else np.empty(0)
    return [
        Predictor(orders[p.distances.size], float(left[p.distances.size]))
        if p.regular
        else _predictor(p.distances, gamma)
        for p, _ in layout.patterns
    ]


def _predictor(distances: npt.NDArray[np.int64], gamma: F64) -> Predictor:
    among = gamma[np.abs(distances[:, np.newaxis] - distances)]
    # A search also tries processes that rounding makes singular.
    among[np.diag_indices_from(among)] += _ROUNDING * gamma[0]
    weights = np.linalg.solve(among, gamma[distances])
    # Rounding must not leave less than the innovation's own variance.
    return Predictor(weights, max(float(gamma[0] - weights @ gamma[distances]), 1.0))


class Whitening:
    """The whitening matrix of a series, a banded lower triangle.

    `bands` are LAPACK's lower bands: ``bands[d, i]`` is the element in row ``i + d`` and
    column ``i``, shape (b + 1, k).
    """

    def __init__(self, bands: F64) -> None:
        self._bands = bands

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
        for (pattern, earlier), predictor in zip(
            layout.patterns, predictors(layout, partial), strict=True
        ):
            size = deviation * np.sqrt(predictor.variance)
            bands[0, pattern.rows] = 1.0 / size
            if earlier.size:
                bands[pattern.rows[:, np.newaxis] - earlier, earlier] = -predictor.weights / size
        return cls(bands)

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant."""
        return float(np.sum(np.log(self._bands[0])))

    def whiten(self, values: F64) -> F64:
        """Return ``W @ values``: (k,) -> (k,) or (k, c) -> (k, c)."""
        columns = values.reshape(len(values), -1)
        whitened: F64 = self._bands[0][:, np.newaxis] * columns
        for d in range(1, len(self._bands)):
            whitened[d:] += (
                self._bands[d, : len(columns) - d, np.newaxis] * columns[: len(columns) - d]
            )
        return whitened.reshape(values.shape)

    def colour(self, innovations: F64) -> F64:
        """Return ``W^-1 @ innovations``: samples of the process from white ones of variance 1."""
        return self._solved(innovations, "N")

    def whitened_answers(self, answers: F64) -> F64:
        """Return ``answers @ W``, shape (n, k), the inverse of :meth:`coloured_answers`."""
        whitened: F64 = answers * self._bands[0]
        for d in range(1, len(self._bands)):
            whitened[:, :-d] += answers[:, d:] * self._bands[d, :-d]
        return whitened

    def coloured_answers(self, answers: F64) -> F64:
        """Return ``answers @ W^-1``, responses to innovations from those to samples, (n, k).

        Its product with its own transpose is ``answers @ covariance @ answers^T``.
        """
        return self._solved(np.ascontiguousarray(answers.T), "T").T

    def _solved(self, right: F64, transposed: str) -> F64:
        if len(self._bands) == 1:  # white noise, of which the matrix is diagonal
            scaled: F64 = (right.T / self._bands[0]).T
            return scaled
        columns = np.asfortranarray(right.reshape(len(right), -1))
        solution, _ = lapack.dtbtrs(
            np.asfortranarray(self._bands), columns, uplo="L", trans=transposed
        )
        solved: F64 = np.asarray(solution).reshape(right.shape)
        return solved


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
