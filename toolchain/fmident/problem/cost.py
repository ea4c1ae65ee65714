"""The objective: residuals computed from measured and predicted signals.

A cost is a frozen dataclass whose fields are its options, with one method that turns
signals into a residual vector r; an estimator minimises ``1/2 sum r^2``. Every cost is
a sum of squares, so that all of them work with least-squares methods as well as with
methods that need only a number.

Derivatives of the residuals with respect to predicted signals take no simulation:
central differences with decreasing steps are extrapolated to step zero (Ridders,
Advances in Engineering Software 4, 1982). Each residual uses the entry of the
extrapolation table that agrees best with its neighbours, so that a residual with a kink
nearby uses shorter steps than the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

_JITTER = 1e-3
"""Instants off an equidistant grid by up to this part of the step still count as on it."""

_LONGEST = 0.1
"""Change of a signal by the first step, in relation to its size."""

_FACTOR = 4.0
_STEPS = 13
"""Steps, each this much shorter than the one before: down to a change of 6e-9."""

_ORDERS = 5
"""Extrapolations of one difference: of higher order they only collect rounding errors."""

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class EquidistantGrid:
    """Equidistant instants, shape (N,), s, and interpolation to them.

    `known` are the instants of the available samples, shape (k,), s; ``None`` if they are
    `times`.
    """

    times: F64
    known: F64 | None = None

    @property
    def step(self) -> float:
        """Spacing of the instants, s."""
        return float(self.times[-1] - self.times[0]) / (self.times.size - 1)

    def values(self, at_known: F64) -> F64:
        """Return values of shape (k,) interpolated linearly to the grid, shape (N,)."""
        if self.known is None:
            return at_known
        return np.interp(self.times, self.known, at_known)


@dataclass(frozen=True, eq=False)
class MeasuredSignal:
    """A measured output of an experiment as used by the cost.

    Parameters
    ----------
    experiment, output
        Names.
    times
        Shape (n,), s.
    measured
        Shape (n,), in the output's unit; NaN for a missing sample.
    scale
        Factor that makes outputs comparable, ``weight / sigma``, shape (n,).
    """

    experiment: str
    output: str
    times: F64
    measured: F64
    scale: F64

    @cached_property
    def rows(self) -> npt.NDArray[np.intp]:
        """Indices of the available samples, shape (k,)."""
        return np.flatnonzero(np.isfinite(self.measured))

    @cached_property
    def grid(self) -> EquidistantGrid:
        """Equidistant instants from the first to the last sample, for spectra.

        These are the instants of the samples if they are equidistant apart from missing ones,
        otherwise equally many new instants.
        """
        known = self.times[self.rows]
        if _equidistant(known):
            return EquidistantGrid(known)
        whole = self.times[self.rows[0] : self.rows[-1] + 1]
        if _equidistant(whole):
            return EquidistantGrid(whole, known)
        return EquidistantGrid(np.linspace(known[0], known[-1], known.size), known)

    def differences(self, predicted: F64) -> F64:
        """Return ``scale * (measured - predicted)`` of the available samples, shape (k,)."""
        return self._scale * (self._measured - self._there(predicted))

    def differences_in_units(self, predicted: F64) -> F64:
        """Return ``measured - predicted`` of the available samples, shape (k,)."""
        return self._measured - self._there(predicted)

    def size_with(self, predicted: F64) -> float:
        """Return the largest absolute value in measurement and prediction."""
        measured = float(np.max(np.abs(self._measured), initial=0.0))
        return max(measured, float(np.max(np.abs(predicted), initial=0.0)))

    def scaled(self, values: F64) -> F64:
        """Return ``scale * values`` of the available samples: (n,) -> (k,) or (n, c) -> (k, c)."""
        scale = self._scale if values.ndim == 1 else self._scale[:, np.newaxis]
        return scale * self._there(values)

    def _there(self, values: F64) -> F64:
        """Return the values at the available samples; copied only if some are missing."""
        return values if self.rows.size == len(values) else values[self.rows]

    @cached_property
    def _measured(self) -> F64:
        return self.measured[self.rows]

    @cached_property
    def _scale(self) -> F64:
        return self.scale[self.rows]


@dataclass(frozen=True)
class Cost(ABC):
    """Base class of all costs; a subclass is a frozen dataclass whose fields are its options.

    The fields are the keys of the problem file's ``[cost]`` table; a ``ValueError`` raised
    by ``__post_init__`` is reported with its location in the file.

    Class attributes
    ----------------
    name
        Name in the ``[cost]`` table.
    summary
        One line for ``fmident plugins``.
    by_sample
        Whether each residual belongs to one sample. Finite differences then look for
        residuals that jump because of a model event; in mixtures of samples, such as
        spectra, an outlying residual means nothing.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    by_sample: ClassVar[bool] = False

    @property
    def gives_intervals(self) -> bool:
        """Whether the residuals of a correct model are independent with equal variance.

        Standard errors follow from the Jacobian of the residuals only in this case; for other
        costs the result has none.
        """
        return False

    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        """Raise `ValueError` with the reason if the cost cannot use these data.

        It is called before the run.
        """
        return

    @abstractmethod
    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return the residuals; the cost is ``1/2 sum r^2``.

        Parameters
        ----------
        signals
            One per experiment and measured output.
        predicted
            Model prediction for each signal, shape (n,) like ``signals[i].times``; finite.

        Returns
        -------
        numpy.ndarray
            Shape (m,); m must not depend on `predicted`.
        """

    def derivatives(
        self,
        signals: Sequence[MeasuredSignal],
        predicted: Sequence[F64],
        changes: Sequence[F64],
    ) -> F64:
        """Return the directional derivatives of the residuals with respect to the predictions.

        The default uses extrapolated differences of :meth:`residuals`, accurate to about twelve
        digits if it is smooth, and needs no simulation. A cost may override it with formulas.

        Parameters
        ----------
        signals, predicted
            As for :meth:`residuals`.
        changes
            For each signal k directions as columns, shape (n, k).

        Returns
        -------
        numpy.ndarray
            Shape (m, k).
        """
        sizes = [s.size_with(y) for s, y in zip(signals, predicted, strict=True)]
        return differentiated(lambda ys: self.residuals(signals, ys), predicted, changes, sizes)

    def options(self) -> dict[str, object]:
        """Return the options by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class SignalCost(Cost):
    """Base class of costs that treat signals separately, with analytical derivatives."""

    @abstractmethod
    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the residuals of one signal, shape (m,).

        `predicted` is the model prediction, shape (n,) like ``signal.times``; finite.
        """

    @abstractmethod
    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the derivatives of one signal's residuals, shape (m, k).

        `changes` holds directions of `predicted` as columns, shape (n, k).
        """

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return the residuals ordered by experiment, then output."""
        parts = [self.residuals_of(s, y) for s, y in zip(signals, predicted, strict=True)]
        return np.concatenate(parts) if parts else np.empty(0)

    def derivatives(
        self,
        signals: Sequence[MeasuredSignal],
        predicted: Sequence[F64],
        changes: Sequence[F64],
    ) -> F64:
        """Return the directional derivatives of the residuals from formulas."""
        together = zip(signals, predicted, changes, strict=True)
        return np.concatenate([self.slopes_of(s, y, change) for s, y, change in together])


@dataclass(frozen=True)
class TimeDomain(SignalCost):
    """Squares of the whitened differences at each sample: the default cost.

    Parameters
    ----------
    normalisation
        ``"none"``: ``1/2 sum r^2``, which for Gaussian noise of known sigma is the negative
        log-likelihood. ``"mean-square"``: the sum of the mean squares of the signals
        (Ludwig and Gerstmayr, eq. 9), so that long records count as much as short ones.
    """

    name: ClassVar[str] = "time-domain"
    summary: ClassVar[str] = "squares of the differences, sample by sample (the default)"
    by_sample: ClassVar[bool] = True

    normalisation: Literal["none", "mean-square"] = "none"

    @property
    def gives_intervals(self) -> bool:
        """True unless each signal is divided by its length."""
        return self.normalisation == "none"

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the differences in order of time."""
        return self._normalised(signal.differences(predicted))

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives; exact, since this cost is linear."""
        return self._normalised(-signal.scaled(changes))

    def _normalised(self, rows: F64) -> F64:
        if self.normalisation == "none":
            return rows
        mean: F64 = np.sqrt(2.0 / max(len(rows), 1)) * rows
        return mean


def _equidistant(times: F64) -> bool:
    if times.size < 2:
        return True
    even = np.linspace(times[0], times[-1], times.size)
    step = float(even[1] - even[0])
    return bool(np.max(np.abs(times - even)) <= _JITTER * step)


def differentiated(
    residuals: Callable[[Sequence[F64]], F64],
    predicted: Sequence[F64],
    changes: Sequence[F64],
    sizes: Sequence[float],
) -> F64:
    """Return the derivatives of a residual function, shape (m, k), at `predicted`.

    `changes` has k directions as columns for each signal, shape (n, k), and `sizes` the
    largest absolute value of each signal.
    """
    base = np.asarray(residuals(predicted), dtype=np.float64)
    count = changes[0].shape[1] if changes else 0
    jacobian = np.zeros((base.size, count))
    for j in range(count):
        way = [change[:, j] for change in changes]
        steps = [
            _LONGEST * (size if size > 0.0 else 1.0) / float(np.max(np.abs(d)))
            for d, size in zip(way, sizes, strict=True)
            if d.any()
        ]
        if steps:

            def at(step: float, way: Sequence[F64] = way) -> F64:
                shifted = [y + step * d for y, d in zip(predicted, way, strict=True)]
                return np.asarray(residuals(shifted), dtype=np.float64)

            jacobian[:, j] = _extrapolated(at, min(steps), np.abs(base))
    return jacobian


def _extrapolated(at: Callable[[float], F64], longest: float, size: F64) -> F64:
    """Return the derivative at step zero, shape (m,).

    `at` returns the residuals at a step, `longest` is the first step, and `size` has the
    magnitudes of the residuals at zero for their rounding error, shape (m,).
    """
    best = np.zeros_like(size)
    least = np.full(size.shape, np.inf)
    before: list[F64] = []
    for number in range(_STEPS):
        step = longest / _FACTOR**number
        up, down = at(step), at(-step)
        row = [(up - down) / (2.0 * step)]
        rounding = _EPS * np.maximum(np.maximum(np.abs(up), np.abs(down)), size) / step
        for order in range(1, min(number, _ORDERS) + 1):
            factor = _FACTOR ** (2 * order)
            value = row[-1] + (row[-1] - before[order - 1]) / (factor - 1.0)
            apart = np.maximum(np.abs(value - row[-1]), np.abs(value - before[order - 1]))
            error = np.maximum(apart, rounding)
            better = error < least
            best, least = np.where(better, value, best), np.where(better, error, least)
            row.append(value)
        before = row
    return best
