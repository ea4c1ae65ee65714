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
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.statistics.noise.autoregression import variance_of
from fmident.statistics.noise.restricted import (
    FittedAutoregression,
    RestrictedLikelihood,
    chosen_order,
    rough_partial,
)
from fmident.statistics.noise.series import (
    Indices,
    Series,
    Shared,
    Whitening,
    sampling_interval,
    series_of,
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
"""Of the size of an innovation over that of its output, where waves come on top."""


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
        columns = self._rescaled(self._whitened(np.hstack(parts)), 1)
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

    def _with_waves(self, values: F64, power: int) -> F64:
        """Return innovations including the waves (``power`` 1), or without them (-1)."""
        return self._with(self._on_top, values, power)

    @staticmethod
    def _with(waves: tuple[F64, F64] | None, values: F64, power: int) -> F64:
        if waves is None:
            return values
        left, sizes = waves
        combined: F64 = values + left @ ((sizes**power - 1.0) * (left.T @ values).T).T
        return combined

    @cached_property
    def _whitenings(self) -> tuple[tuple[Series, Whitening], ...]:
        return tuple(
            (s, Whitening.of(s, f.partial, f.deviation))
            for o, f in zip(self.outputs, self.fits, strict=True)
            for s in o.series
        )

    @property
    def log_determinant(self) -> float:
        """Logarithm of the determinant of the whitening matrix."""
        logarithm = sum(w.log_determinant for _, w in self._whitenings)
        return (
            logarithm
            if self._on_top is None
            else logarithm - float(np.sum(np.log(self._on_top[1])))
        )

    def whiten(self, values: F64) -> F64:
        """Return residuals as innovations of variance 1, or a filtered Jacobian, (m,) or (m, n).

        Innovations of different sizes keep their size.
        """
        return self._rescaled(self._with_waves(self._rescaled(self._whitened(values), 1), -1), -1)

    def _whitened(self, values: F64) -> F64:
        innovations = np.empty_like(values)
        for series, whitening in self._whitenings:
            innovations[series.rows] = whitening.whiten(values[series.rows])
        return innovations

    def colour(self, innovations: F64) -> F64:
        """Return noise from innovations of variance 1, the inverse of `whiten`, (m,) or (m, n)."""
        plain = self._rescaled(self._with_waves(self._rescaled(innovations, 1), 1), -1)
        return self._coloured(plain)

    def _coloured(self, innovations: F64) -> F64:
        noise = np.empty_like(innovations)
        for series, whitening in self._whitenings:
            noise[series.rows] = whitening.colour(innovations[series.rows])
        return noise

    def simulate(self, generator: np.random.Generator, count: int = 1) -> F64:
        """Return `count` records of new noise: Gaussian innovations, waves of random phase."""
        innovations = generator.standard_normal((self.size, count))
        for shared in self.shared:
            shared.mix(innovations)
        if self.scales is not None:
            innovations *= self.scales[:, np.newaxis]
        noise = self._coloured(innovations)
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
        responses = np.empty_like(answers)
        for series, whitening in self._whitenings:
            responses[:, series.rows] = whitening.coloured_answers(answers[:, series.rows])
        if self.scales is not None:
            responses *= self.scales
        return responses

    def answers_to_samples(self, answers: F64) -> F64:
        """Return responses to residuals from those to innovations of equal variance, (n, m)."""
        answers = self._rescaled(self._with_waves(self._rescaled(answers.T, -1), -1), 1).T
        responses = np.empty_like(answers)
        for series, whitening in self._whitenings:
            responses[:, series.rows] = whitening.whitened_answers(answers[:, series.rows])
        return responses

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
                responses = whitening.coloured_answers(answers[:, series.rows])
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
    basis: F64 = left[:, singular > 1e-10 * singular[0]]
    return basis


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
