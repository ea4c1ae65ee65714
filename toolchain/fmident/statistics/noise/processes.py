r"""A model of the noise of all residuals: independent outputs, each an autoregression.

It whitens residuals and Jacobians, gives the covariance of linear functions of the
residuals and its uncertainty, and simulates new noise of the same kind. An output
without correlation has order 0; outputs differ in size.

Waves of a random phase, C C^T of low rank, are added to the autoregressions' covariance
L L^T:

.. math:: L L^T + C C^T = L (1 + K K^T) L^T, \qquad K = L^{-1} C

and the root of the middle is known from K's singular values. Whitening treats each wave
as a separate unknown: the phases of waves of several outputs relative to each other are
known only from the same samples.

**The fit** of an autoregression to the residuals of a regression, by exact restricted likelihood.
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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Literal

import numpy as np
from scipy import linalg, optimize

from fmident.arrays import F64
from fmident.statistics.noise.series import (
    Indices,
    Layout,
    Series,
    Shared,
    Whitening,
    autocovariance,
    coefficients_of,
    continuous_predictors,
    layout_of,
    predictors,
    sampling_interval,
    series_of,
    variance_of,
)
from fmident.statistics.noise.waves import Wave, factor_of, in_common

Order = int | Literal["auto"]

_MOST = 16
"""Largest order that is tried."""

_PER_COEFFICIENT = 8
"""Samples that it takes to try one more coefficient."""

_STEP = 1e-5
_SAME = 1e-3
"""Relative difference of sampling intervals that are the same."""

_SMALLEST = 1e-6
"""Smallest size of an innovation over that of its output, where waves are added."""


_CHUNK = 4096
_LARGEST = 5.0
"""Largest hyperbolic area tangent of a partial autocorrelation: 0.9999."""

_ENOUGH = 3.0
"""Whole stretches of the longest order that it takes to choose an order, per coefficient."""

_SHORT = 4
"""Orders up to which the information is that of this likelihood; of longer ones that of large
samples."""

_NEIGHBOURS = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
"""Correlations of neighbours, as hyperbolic area tangents, from which a search may begin."""

_LARGEST_VARIANCE = 18.0
"""Logarithm of the variance of the process over that of its innovations."""

_ROUNDING = 1e-10
_CURVATURE_STEP, _SLOPE_STEP = 1e-3, 1e-4
_FLAT = 1e-3
"""Length of the slopes of a deviance at its minimum: standard errors are then known to 1e-5."""

_SCORINGS = 25
"""Steps of Fisher scoring at most. It takes five to ten, but next to the limit of representable
processes, where the deviance has a kink, it would not end."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class NoisyOutput:
    """Residuals with a common noise: those of one output at one sampling rate.

    There is one series per experiment, independent of each other. `name` includes the
    sampling rate if necessary; `measurement` is then the output's name alone.
    """

    name: str
    series: tuple[Series, ...]
    measurement: str = ""

    @property
    def even(self) -> bool:
        """Whether all series lie on grids, so that any order can be fitted."""
        return all(s.even for s in self.series)

    @property
    def size(self) -> int:
        """Number of samples."""
        return sum(s.rows.size for s in self.series)


def outputs_of(
    signals: Iterable[tuple[str, Indices, F64]], records: Iterable[int] | None = None
) -> tuple[NoisyOutput, ...]:
    """Return the residuals of each noise: those of one output at one sampling rate.

    `signals` are, for each output of each experiment, its name, the indices of its samples
    among all residuals, and their times, s; `records` are the numbers of the experiments,
    by default all different.
    """
    by_name: dict[str, list[tuple[float, list[Series]]]] = {}
    numbers: Iterable[int | None] = repeat(None) if records is None else records
    for (name, rows, times), record in zip(signals, numbers, strict=False):
        if not rows.size:
            continue
        step = sampling_interval(times)
        groups = by_name.setdefault(name, [])
        place = next((g for g in groups if _alike(g[0], step)), None)
        if place is None:
            place = (step, [])
            groups.append(place)
        place[1].append(series_of(rows, times, place[0], record))
    return tuple(
        NoisyOutput(
            name if len(groups) == 1 else f"{name}, every {step:.3g} s", tuple(series), name
        )
        for name, groups in by_name.items()
        for step, series in groups
    )


def _alike(first: float, second: float) -> bool:
    return bool(np.isnan(second)) or abs(first - second) <= _SAME * first


@dataclass(frozen=True, eq=False)
class NoiseModel:
    """Noise of all residuals.

    Each output has an autoregression, and possibly waves of random phase in addition;
    `scales` are the standard deviations of innovations over that of their output.
    Simulations and variances include what outputs have in common: one phase of waves of one
    frequency in several outputs of an experiment, and the correlated innovations of
    `shared`. Whitening treats each wave and each output separately.
    """

    outputs: tuple[NoisyOutput, ...]
    fits: tuple[FittedAutoregression, ...]
    scales: F64 | None = None
    waves: tuple[Wave, ...] = ()
    shared: tuple[Shared, ...] = ()

    @property
    def white(self) -> bool:
        """Whether no output is correlated in time."""
        return all(f.order == 0 for f in self.fits) and not self.waves

    @property
    def size(self) -> int:
        """Number of all samples."""
        return sum(o.size for o in self.outputs)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise, the root mean square over all samples."""
        parts = [
            o.size * f.deviation**2 * variance_of(f.partial)
            for o, f in zip(self.outputs, self.fits, strict=True)
        ]
        parts += [0.5 * w.rows.size * w.amplitude**2 for w in self.waves]
        return float(np.sqrt(sum(parts) / self.size))

    @cached_property
    def _on_top(self) -> tuple[F64, F64] | None:
        """Orthonormal columns of the waves among the innovations, (m, k), and their deviations."""
        return self._innovations_of([factor_of((w,), self.size) for w in self.waves])

    @cached_property
    def _in_common(self) -> tuple[F64, F64] | None:
        """The same with one phase for waves that outputs have in common."""
        if len(self.groups) == len(self.waves):
            return self._on_top
        return self._innovations_of([factor_of(g, self.size) for g in self.groups])

    def _innovations_of(self, parts: Sequence[F64]) -> tuple[F64, F64] | None:
        if not parts:
            return None
        columns = self._rescaled(self._each(Whitening.whiten, np.hstack(parts)), 1)
        left, singular, _ = np.linalg.svd(columns, full_matrices=False)
        return left, np.sqrt(1.0 + singular**2)

    @cached_property
    def groups(self) -> tuple[tuple[Wave, ...], ...]:
        """The waves, grouped by those that outputs of an experiment have in common."""
        return in_common(self.waves)

    def _rescaled(self, values: F64, sign: int) -> F64:
        """Return innovations divided by their sizes (``sign`` 1), or multiplied (-1)."""
        if self.scales is None:
            return values
        sizes = np.maximum(self.scales, _SMALLEST) ** sign
        scaled: F64 = (values.T / sizes).T
        return scaled

    @staticmethod
    def _with(waves: tuple[F64, F64] | None, values: F64, power: int) -> F64:
        """Return innovations including waves (``power`` 1), or without them (-1)."""
        if waves is None:
            return values
        left, sizes = waves
        return values + left @ ((sizes**power - 1.0) * (left.T @ values).T).T

    @cached_property
    def _whitenings(self) -> tuple[tuple[Series, Whitening], ...]:
        return tuple(
            (s, Whitening.of(s, f.partial, f.deviation))
            for o, f in zip(self.outputs, self.fits, strict=True)
            for s in o.series
        )

    def whiten(self, values: F64) -> F64:
        """Return residuals as innovations of variance 1, or a filtered Jacobian, (m,) or (m, n).

        Innovations of different sizes keep their size.
        """
        plain = self._rescaled(self._each(Whitening.whiten, values), 1)
        return self._rescaled(self._with(self._on_top, plain, -1), -1)

    def _each(self, operation: Callable[[Whitening, F64], F64], values: F64) -> F64:
        """Return what an operation makes of the samples of each series, (m,) or (m, n)."""
        results = np.empty_like(values)
        for series, whitening in self._whitenings:
            results[series.rows] = operation(whitening, values[series.rows])
        return results

    def colour(self, innovations: F64) -> F64:
        """Return noise from innovations of variance 1, the inverse of `whiten`, (m,) or (m, n)."""
        plain = self._with(self._on_top, self._rescaled(innovations, 1), 1)
        return self._each(Whitening.colour, self._rescaled(plain, -1))

    def simulate(self, generator: np.random.Generator, count: int = 1) -> F64:
        """Return `count` records of new noise: Gaussian innovations, waves of random phase."""
        innovations = generator.standard_normal((self.size, count))
        for shared in self.shared:
            shared.mix(innovations)
        if self.scales is not None:
            innovations *= self.scales[:, np.newaxis]
        noise = self._each(Whitening.colour, innovations)
        for group in self.groups:
            phases = generator.uniform(0.0, 2.0 * np.pi, count)
            mix = np.array([np.cos(phases), np.sin(phases)])
            for wave in group:
                noise[wave.rows] += wave.seen @ mix
        return noise.T

    def answers_to_innovations(self, answers: F64) -> F64:
        """Return the responses of quantities to innovations of variance 1.

        The product with its own transpose is the covariance of the quantities. `answers` are
        their responses to the residuals' noise, shape (n, m).
        """
        return self._with(self._in_common, self.mixed(self._to_own_innovations(answers)).T, 1).T

    def mixed(self, answers: F64) -> F64:
        """Return responses to independent innovations from those to correlated ones, (n, m)."""
        if not self.shared:
            return answers
        responses = answers.T.copy()
        for shared in self.shared:
            shared.mix(responses)
        return responses.T

    def _to_own_innovations(self, answers: F64) -> F64:
        responses = self._each(Whitening.coloured_answers, answers.T).T
        if self.scales is not None:
            responses *= self.scales
        return responses

    def answers_to_samples(self, answers: F64) -> F64:
        """Return responses to residuals from those to innovations of equal variance, (n, m)."""
        plain = self._with(self._on_top, self._rescaled(answers.T, -1), -1)
        return self._each(Whitening.whitened_answers, self._rescaled(plain, 1)).T

    def freedoms(self, answers: F64) -> F64:
        """Return the effective degrees of freedom of the variances of quantities, shape (n,).

        ``2 V^2 / Var(V)`` (Satterthwaite, Biometrics Bulletin 2, 1946), with the variance of
        the estimated variance V from the information on all unknowns of the noise by the delta
        method (Kenward and Roger, Biometrics 53, 1997; Fai and Cornelius, J. Statistical
        Computation and Simulation 54, 1996). For white noise of one size it is the number of
        residuals minus that of parameters. `answers` are as in :meth:`answers_to_innovations`.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            total = np.sum(self.answers_to_innovations(answers) ** 2, axis=1)
            doubt = np.zeros(len(answers))
            for output, fit in zip(self.outputs, self.fits, strict=True):
                slopes = self._slopes(answers, output, fit)
                doubt += np.einsum("jn,jk,kn->n", slopes, fit.spread, slopes)
            for shared in self.shared:
                doubt += shared.doubt(self._to_own_innovations(answers))
            for group in self.groups:
                power = np.sum((answers @ factor_of(group, self.size)) ** 2, axis=1)
                for wave in group:
                    own = np.sum((answers @ factor_of((wave,), self.size)) ** 2, axis=1)
                    doubt += wave.doubt * power * own
            if self.scales is not None:
                parts = self.answers_to_innovations(answers) ** 2
                # The fourth power of a Gaussian innovation is three times its variance squared.
                doubt += 2.0 / 3.0 * np.sum(parts**2, axis=1)
            degrees: F64 = 2.0 * total**2 / doubt
        return np.maximum(degrees, 1.0)

    def _slopes(self, answers: F64, output: NoisyOutput, fit: FittedAutoregression) -> F64:
        """Return derivatives of the variances with respect to an output's unknowns, (1 + p, n)."""

        def variances(unknowns: F64) -> F64:
            total = np.zeros(len(answers))
            partial, deviation = np.tanh(unknowns[1:]), float(np.exp(0.5 * unknowns[0]))
            for series in output.series:
                whitening = Whitening.of(series, partial, deviation)
                responses = whitening.coloured_answers(answers.T[series.rows]).T
                if self.scales is not None:
                    responses = responses * self.scales[series.rows]
                total += np.sum(responses**2, axis=1)
            return total

        at = fit.unknowns
        rows = [variances(at)]  # the variance is proportional to that of the innovations
        for j in range(1, at.size):
            move = np.zeros(at.size)
            move[j] = _STEP
            rows.append((variances(at + move) - rows[0]) / _STEP)
        return np.array(rows)


def fit_noise(
    outputs: Sequence[NoisyOutput],
    residuals: F64,
    jacobian: F64,
    order: Order | Sequence[Order] = "auto",
    criterion: str = "aicc",
    waves: Sequence[Wave] = (),
) -> NoiseModel:
    """Return the noise model of maximum restricted likelihood.

    The noise of each output follows from the part of its residuals that neither a parameter
    nor a wave can change. `jacobian` has columns for all fitted parameters; `order` is that
    of the autoregressions, common or for each output, ``"auto"`` chooses it by the
    criterion, ``"aicc"`` or ``"bic"``.
    """
    orders = [order] * len(outputs) if isinstance(order, (int, str)) else list(order)
    if waves:
        jacobian = np.hstack([jacobian, *(w.columns(residuals.size) for w in waves)])
        basis = spanned(jacobian)
        residuals = residuals - basis @ (basis.T @ residuals)
    fits = [
        _fitted(output, residuals, jacobian, wanted, criterion)
        for output, wanted in zip(outputs, orders, strict=True)
    ]
    return NoiseModel(tuple(outputs), tuple(fits), waves=tuple(waves))


def _fitted(
    output: NoisyOutput, residuals: F64, jacobian: F64, order: Order, criterion: str
) -> FittedAutoregression:
    rows = np.concatenate([s.rows for s in output.series])
    basis = spanned(jacobian[rows])
    ends = np.cumsum([s.rows.size for s in output.series])[:-1]
    columns = np.split(basis, ends)
    # What another output has made of the parameters tells nothing of the order.
    own = np.split(residuals[rows] - basis @ (basis.T @ residuals[rows]), ends)
    start = None
    if order == "auto":
        most = min(_MOST, output.size // _PER_COEFFICIENT) if output.even else 1
        if output.even:
            order, start = chosen_order(output.series, own, most, criterion)
        else:
            order = 1
    elif order and output.even:
        start = rough_partial(output.series, own, order)
    return RestrictedLikelihood(output.series, own, columns, order).fitted(start)


def spanned(columns: F64) -> F64:
    """Return orthonormal columns that span the same space, shape (m, r)."""
    norms = np.linalg.norm(columns, axis=0)
    seen = norms > 0.0
    if not seen.any():
        return np.empty((len(columns), 0))
    left, singular, _ = np.linalg.svd(columns[:, seen] / norms[seen], full_matrices=False)
    return left[:, singular > 1e-10 * singular[0]]


def without_parameters(
    outputs: Sequence[NoisyOutput], residuals: F64, columns: F64
) -> tuple[F64, list[int]]:
    """Return the part of each output that parameters cannot change, and its lost dimensions.

    A noisy output changes the parameters, and these the residuals of a quiet one: that
    change is not the noise of the quiet output. `columns` span the possible changes by
    parameters, shape (m, r); the first result has the shape (m,), the second one entry per
    output.
    """
    untouched, ranks = residuals.copy(), []
    for output in outputs:
        rows = np.concatenate([s.rows for s in output.series])
        basis = spanned(columns[rows])
        untouched[rows] -= basis @ (basis.T @ residuals[rows])
        ranks.append(basis.shape[1])
    return untouched, ranks


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
        for (pattern, _), (summed, part), (earlier, variance) in each:
            weights = np.concatenate([[1.0], -earlier])
            if summed:
                inner = np.tensordot(weights, part, axes=(0, 0))
                products += np.tensordot(inner, weights, axes=(1, 0)) / variance
            else:
                errors = np.tensordot(part, weights, axes=(1, 0))
                products += errors.T @ errors / variance
            logs += pattern.rows.size * float(np.log(variance))
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
        """Return the maximum-likelihood autoregression from initial partial autocorrelations.

        Fisher scoring within a trust region: the information is that of large samples.
        """
        at = np.zeros(self.order)
        if start is not None:
            at = np.arctanh(np.clip(start, -0.999, 0.999))
        if self.order:
            least = -_LARGEST if self._even else 0.0

            def curvature(unknowns: F64) -> F64:
                inside = np.clip(unknowns, least, _LARGEST)
                return 2.0 * _information(inside, self.freedom)

            solution = optimize.minimize(
                self.deviance,
                self._likely(np.clip(at, least, None)),
                method="trust-exact",
                jac=self._slopes,
                hess=curvature,
                options={"gtol": _FLAT, "maxiter": _SCORINGS},
            )
            at = np.clip(solution.x, least, _LARGEST)
        squares = self.parts(at)[1]
        deviation = float(np.sqrt(squares / self.freedom))
        return FittedAutoregression(
            np.tanh(at), deviation, self._spread(at), self.freedom, -0.5 * self.deviance(at)
        )

    def _slopes(self, unknowns: F64) -> F64:
        """Return the derivatives of the deviance, by central differences, shape (p,)."""
        moves = np.eye(unknowns.size) * _SLOPE_STEP
        ends = [(self.deviance(unknowns + m), self.deviance(unknowns - m)) for m in moves]
        return np.array([(up - down) / (2.0 * _SLOPE_STEP) for up, down in ends])

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
            steps = np.full(size, _CURVATURE_STEP) * (1.0 + np.abs(at))
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


def _information(at: F64, freedom: int) -> F64:
    """Return the information on partial autocorrelations in large samples, shape (p, p).

    That on the coefficients is the Toeplitz matrix of their autocovariances times the number of
    samples (Brockwell and Davis, Time Series: Theory and Methods, section 8.8).
    """
    partial = np.tanh(at)
    moves = np.eye(at.size) * _CURVATURE_STEP
    ends = [(coefficients_of(np.tanh(at + m)), coefficients_of(np.tanh(at - m))) for m in moves]
    slopes = np.column_stack([(up - down) / (2.0 * _CURVATURE_STEP) for up, down in ends])
    toeplitz = linalg.toeplitz(autocovariance(partial, at.size))
    information: F64 = freedom * slopes.T @ toeplitz @ slopes
    return information


def _spread_of_many(at: F64, freedom: int) -> F64:
    """Return the covariance of the unknowns in large samples, shape (1 + p, 1 + p)."""
    values, vectors = np.linalg.eigh(_information(at, freedom))
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
    if _log_variance(unknowns) <= _LARGEST_VARIANCE:
        return unknowns
    low, high = 0.0, 1.0
    for _ in range(40):  # from inside: the search ends elsewhere with a root beyond the limit
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
