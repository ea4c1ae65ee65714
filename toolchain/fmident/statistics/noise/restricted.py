r"""Fit of an autoregression to regression residuals by exact restricted likelihood.

Residuals of a fit are smaller and whiter than the noise, because the parameters have
absorbed a part of it, especially noise that resembles the effect of a parameter, as
slow noise resembles an offset. The likelihood of the combinations of samples that no
parameter can change avoids this (Patterson and Thompson, Biometrika 58, 1971; Harville,
J. American Statistical Association 72, 1977; for autoregressions Tunnicliffe Wilson, J.
Royal Statistical Society B 51, 1989):

.. math:: -2 \ell_R = \log|R| + \log|Q^T R^{-1} Q| + (m - r) \log \min_b \, (e - Q b)^T R^{-1}
    (e - Q b)

with the covariance R of the samples for innovations of variance 1, and columns Q that
span the possible changes by the r parameters. The stationary start and missing samples
are treated exactly, see :mod:`fmident.statistics.noise.series`. Products of samples at
the occurring distances are summed once, so that the cost of a likelihood value does not
grow with the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from fmident.arrays import F64
from fmident.statistics.noise.autoregression import autocovariance, coefficients_of
from fmident.statistics.noise.series import (
    Layout,
    Series,
    continuous_predictors,
    layout_of,
    predictors,
)

_CHUNK = 4096
_LARGEST = 5.0
"""Of the hyperbolic area tangent of a partial autocorrelation: 0.9999."""

_ENOUGH = 3.0
"""Whole stretches of the longest order that it takes to choose an order, per coefficient."""

_SHORT = 4
"""Orders up to which the information is that of this likelihood; of longer ones that of large
samples."""

_NEIGHBOURS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Of the correlation of neighbours: where a search may begin."""

_LARGEST_VARIANCE = 18.0
"""Logarithm of the variance of the process over that of its innovations."""

_ROUNDING = 1e-10
_STEP = 1e-3
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class FittedAutoregression:
    """An autoregression and its uncertainty.

    `partial` are the partial autocorrelations, shape (p,), and `deviation` is that of the
    innovations; `spread` is the covariance of ``(log deviation^2, artanh(partial))``.
    `freedom` is the number of samples minus the dimensions lost to parameters;
    `log_likelihood` is restricted, up to a constant.
    """

    partial: F64
    deviation: float
    spread: F64
    freedom: int
    log_likelihood: float

    @property
    def order(self) -> int:
        """Order p of the autoregression."""
        return self.partial.size

    @property
    def coefficients(self) -> F64:
        """Coefficients, shape (p,)."""
        return coefficients_of(self.partial)

    @property
    def unknowns(self) -> F64:
        """``(log deviation^2, artanh(partial))``, shape (1 + p,)."""
        return np.concatenate([[2.0 * np.log(self.deviation)], np.arctanh(self.partial)])


class _Products:
    """Sums of products of samples and of columns at the distances in a layout."""

    def __init__(self, layout: Layout, columns: F64) -> None:
        self.layout = layout
        self._width = columns.shape[1]
        self._parts: list[tuple[bool, F64]] = []
        for pattern, earlier in layout.patterns:
            places = np.column_stack([pattern.rows, earlier])
            wide = places.shape[1] * self._width
            if places.shape[0] <= wide:
                self._parts.append((False, columns[places]))
                continue
            total = np.zeros((wide, wide))
            for start in range(0, places.shape[0], _CHUNK):
                lagged = columns[places[start : start + _CHUNK]].reshape(-1, wide)
                total += lagged.T @ lagged
            shape = (places.shape[1], self._width) * 2
            self._parts.append((True, total.reshape(shape)))

    def at(self, partial: F64) -> tuple[F64, float]:
        """Return the columns' products over the covariance, and its log determinant.

        For innovations of variance 1; shape (c, c) for c columns.
        """
        products = np.zeros((self._width, self._width))
        logs = 0.0
        each = zip(self.layout.patterns, self._parts, predictors(self.layout, partial), strict=True)
        for (pattern, _), (summed, part), predictor in each:
            weights = np.concatenate([[1.0], -predictor.weights])
            if summed:
                inner = np.tensordot(weights, part, axes=(0, 0))
                products += np.tensordot(inner, weights, axes=(1, 0)) / predictor.variance
            else:
                errors = np.tensordot(part, weights, axes=(1, 0))
                products += errors.T @ errors / predictor.variance
            logs += pattern.rows.size * float(np.log(predictor.variance))
        return products, logs

    def largest(self) -> tuple[F64, int]:
        """Return the products of the first column with complete past, and their number.

        The products have the shape (p + 1, p + 1).
        """
        place = max(
            range(len(self._parts)),
            key=lambda k: self.layout.patterns[k][0].rows.size,
        )
        summed, part = self._parts[place]
        count = self.layout.patterns[place][0].rows.size
        if summed:
            return part[:, 0, :, 0], count
        return part[:, :, 0].T @ part[:, :, 0], count


class RestrictedLikelihood:
    """Restricted likelihood of autoregressions of one order, common to several series.

    The series are independent of each other, with the same sampling interval. `columns`
    span the possible changes by parameters, for each series with shape (k, r), together
    orthonormal. The order is at most 1 if a series is not even.
    """

    def __init__(
        self, series: Sequence[Series], residuals: Sequence[F64], columns: Sequence[F64], order: int
    ) -> None:
        self.order = order
        self._even = all(s.even for s in series)
        together = [np.column_stack([e, q]) for e, q in zip(residuals, columns, strict=True)]
        self._rank = together[0].shape[1] - 1
        self.freedom = sum(len(t) for t in together) - self._rank
        self._products: list[_Products] = []
        self._uneven: list[tuple[F64, F64]] = []
        for one, values in zip(series, together, strict=True):
            if self._even:
                self._products.append(_Products(layout_of(one, order), values))
            else:
                self._uneven.append((one.positions, values))

    def parts(self, unknowns: F64) -> tuple[float, float]:
        """Return ``log|R| + log|Q^T R^-1 Q|`` and the least sum of squares."""
        partial = np.tanh(np.clip(unknowns, -_LARGEST, _LARGEST))
        total, logs = np.zeros((self._rank + 1, self._rank + 1)), 0.0
        for products in self._products:
            product, log = products.at(partial)
            total, logs = total + product, logs + log
        for positions, values in self._uneven:
            correlation = float(partial[0]) if partial.size else 0.0
            weights, variances = continuous_predictors(positions, max(correlation, 0.0))
            errors = values.copy()
            errors[1:] -= weights[1:, np.newaxis] * values[:-1]
            errors /= np.sqrt(variances)[:, np.newaxis]
            total, logs = total + errors.T @ errors, logs + float(np.sum(np.log(variances)))
        if not self._rank:
            return logs, float(total[0, 0])
        # Near a unit root the columns lose nearly all of what resembles a constant.
        values, vectors = np.linalg.eigh(total[1:, 1:])
        values = np.maximum(values, _EPS * max(float(values[-1]), 1e-300))
        absorbed = (vectors.T @ total[1:, 0]) / np.sqrt(values)
        logs += float(np.sum(np.log(values)))
        return logs, max(float(total[0, 0] - absorbed @ absorbed), _ROUNDING * float(total[0, 0]))

    def deviance(self, unknowns: F64) -> float:
        """Return ``-2`` times the log likelihood at the best variance, up to a constant."""
        logs, squares = self.parts(_representable(unknowns))
        return float(logs + self.freedom * (np.log(squares) + _beyond(unknowns)))

    def fitted(self, start: F64 | None = None) -> FittedAutoregression:
        """Return the maximum-likelihood autoregression from initial partial autocorrelations."""
        at = np.zeros(self.order)
        if start is not None:
            at = np.arctanh(np.clip(start, -0.999, 0.999))
        if self.order:
            limits = [(-_LARGEST if self._even else 0.0, _LARGEST)] * self.order
            solution = optimize.minimize(
                self.deviance,
                self._likely(np.clip(at, limits[0][0], None)),
                method="L-BFGS-B",
                bounds=limits,
                # Least squares begins near where long autoregressions end.
                options={"maxiter": 100 if self.order <= _SHORT else 8},
            )
            at = np.asarray(solution.x, dtype=np.float64)
        squares = self.parts(at)[1]
        deviation = float(np.sqrt(squares / self.freedom))
        return FittedAutoregression(
            np.tanh(at), deviation, self._spread(at), self.freedom, -0.5 * self.deviance(at)
        )

    def _likely(self, start: F64) -> F64:
        """Return the most likely of some points that differ in the correlation of neighbours.

        The likelihood is flat towards a unit root, to which a long step would lead.
        """
        points = [start]
        for first in _NEIGHBOURS if self._even else [z for z in _NEIGHBOURS if z > 0.0]:
            point = start.copy()
            point[0] = first
            points.append(point)
        return min(points, key=self.deviance)

    def _spread(self, at: F64) -> F64:
        """Return the inverse of the information of all unknowns, by finite differences."""
        size = at.size
        if size > _SHORT:
            return _spread_of_many(at, self.freedom)
        information = np.zeros((size + 1, size + 1))
        information[0, 0] = 0.5 * self.freedom
        if size:
            steps = np.full(size, _STEP) * (1.0 + np.abs(at))
            least = self.parts(at)[1]

            def value(z: F64) -> tuple[float, float]:
                logs, squares = self.parts(z)
                return logs + self.freedom * squares / least, squares / least

            offsets = np.eye(size) * steps
            high, low = [value(at + m) for m in offsets], [value(at - m) for m in offsets]
            middle = value(at)
            for j in range(size):
                slope = (high[j][1] - low[j][1]) / (2.0 * steps[j])
                information[0, j + 1] = information[j + 1, 0] = -0.5 * self.freedom * slope
                bend = (high[j][0] + low[j][0] - 2.0 * middle[0]) / steps[j] ** 2
                information[j + 1, j + 1] = 0.5 * bend
                for k in range(j):
                    up = (
                        value(at + offsets[j] + offsets[k])[0]
                        + value(at - offsets[j] - offsets[k])[0]
                    )
                    mixed = up + 2.0 * middle[0] - high[j][0] - low[j][0] - high[k][0] - low[k][0]
                    bend = mixed / (2.0 * steps[j] * steps[k])
                    information[j + 1, k + 1] = information[k + 1, j + 1] = 0.5 * bend
        values, vectors = np.linalg.eigh(information)
        floor = 1e-3 * max(float(values.max()), 1.0) / self.freedom
        inverse: F64 = (vectors / np.maximum(values, floor)) @ vectors.T
        return inverse


def _spread_of_many(at: F64, freedom: int) -> F64:
    """Return the covariance of the unknowns in large samples.

    That of the coefficients is the inverse of their Toeplitz matrix of autocovariances over
    the number of samples (Brockwell and Davis, Time Series: Theory and Methods, section
    8.8).
    """
    partial = np.tanh(at)
    moves = np.eye(at.size) * _STEP
    ends = [(coefficients_of(np.tanh(at + m)), coefficients_of(np.tanh(at - m))) for m in moves]
    slopes = np.column_stack([(up - down) / (2.0 * _STEP) for up, down in ends])
    toeplitz = linalg.toeplitz(autocovariance(partial, at.size))
    information = freedom * slopes.T @ toeplitz @ slopes
    values, vectors = np.linalg.eigh(information)
    covariance = np.zeros((at.size + 1, at.size + 1))
    covariance[0, 0] = 2.0 / freedom
    covariance[1:, 1:] = (vectors / np.maximum(values, 1e-3)) @ vectors.T
    return covariance


def _beyond(unknowns: F64) -> float:
    """Return a penalty that keeps a search away from numerically degenerate processes."""
    return max(_log_variance(unknowns) - _LARGEST_VARIANCE, 0.0) ** 2


def _log_variance(unknowns: F64) -> float:
    """Return the logarithm of the variance of the process, for innovations of variance 1."""
    return 2.0 * float(np.sum(np.log(np.cosh(unknowns))))


def _representable(unknowns: F64) -> F64:
    """Return the unknowns, shrunk to a numerically representable process."""
    low, high = 0.0, 1.0
    if _log_variance(unknowns) <= _LARGEST_VARIANCE:
        return unknowns
    for _ in range(40):
        middle = 0.5 * (low + high)
        if _log_variance(middle * unknowns) <= _LARGEST_VARIANCE:
            low = middle
        else:
            high = middle
    return low * unknowns


def chosen_order(
    series: Sequence[Series], residuals: Sequence[F64], most: int, criterion: str = "aicc"
) -> tuple[int, F64]:
    """Return an order for an autoregression, and initial partial autocorrelations.

    Least squares on the samples with complete past, with the same samples for each order
    (Hurvich and Tsai, Biometrika 76, 1989, for the corrected criterion of Akaike). The
    series lie on grids; `most` is the largest order, `criterion` is ``"aicc"`` or
    ``"bic"``.
    """
    total, count = np.zeros((most + 1, most + 1)), 0
    while most > 0:
        total, count = _lagged(series, residuals, most)
        if count >= _ENOUGH * most + 8:
            break
        most //= 2
    if most == 0:
        return 0, np.empty(0)
    scores, fits = [], []
    for order in range(most + 1):
        coefficients = _regressed(total, order)
        left = float(total[0, 0] - coefficients @ total[1 : order + 1, 0]) / count
        unknowns = order + 1
        likely = count * np.log(max(left, 1e-300))
        if criterion == "bic":
            scores.append(likely + unknowns * np.log(count))
        else:
            scores.append(likely + 2.0 * unknowns * count / max(count - unknowns - 1, 1))
        fits.append(coefficients)
    order = int(np.argmin(scores))
    return order, partial_of(fits[order])


def rough_partial(series: Sequence[Series], residuals: Sequence[F64], order: int) -> F64:
    """Return initial partial autocorrelations by least squares, for series on grids."""
    total, count = _lagged(series, residuals, order)
    return partial_of(_regressed(total, order)) if count > order else np.zeros(order)


def _lagged(series: Sequence[Series], residuals: Sequence[F64], most: int) -> tuple[F64, int]:
    """Return sums of products of samples and the `most` ones before, and their number."""
    total, count = np.zeros((most + 1, most + 1)), 0
    for one, values in zip(series, residuals, strict=True):
        layout = layout_of(one, most)
        pattern = layout.patterns[0][0]
        if not np.array_equal(pattern.distances, np.arange(1, most + 1)):
            continue
        products, rows = _Products(layout, values[:, np.newaxis]).largest()
        if products.shape == total.shape:
            total, count = total + products, count + rows
    return total, count


def _regressed(products: F64, order: int) -> F64:
    """Return the least-squares coefficients from sums of products, shape (order,)."""
    among, with_first = products[1 : order + 1, 1 : order + 1], products[1 : order + 1, 0]
    return np.asarray(np.linalg.lstsq(among, with_first)[0], dtype=np.float64)


def partial_of(coefficients: F64, largest: float = 0.99) -> F64:
    """Return partial autocorrelations, up to `largest`, near those of unstable coefficients."""
    partial = np.zeros(coefficients.size)
    left = coefficients
    for k in range(coefficients.size, 0, -1):
        value = float(np.clip(left[-1], -largest, largest))
        partial[k - 1] = value
        left = (left[:-1] + value * left[-2::-1]) / (1.0 - value**2)
    return partial
