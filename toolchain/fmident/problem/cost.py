"""What is minimised: from measured and predicted signals to residuals.

A cost is a frozen dataclass whose fields are its options, with one method that turns signals into a
vector of residuals r; an estimator minimises ``1/2 sum r^2``. Every cost is a sum of squares, so
least-squares methods can use each of them, not only methods that need a number.

Derivatives of the residuals with respect to predicted signals take no simulation: central
differences with a sequence of steps are extrapolated to step zero (Ridders, Advances in Engineering
Software 4, 1982). Each residual takes the entry of the table that agrees best with its neighbours,
so that one with a bend nearby has shorter steps than the others.
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
"""Time stamps off by this part of the step are equidistant all the same."""


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
    """Equidistant instants, and how the values at the known samples get there.

    Parameters
    ----------
    times
        Shape (N,), s.
    known
        Instants of the samples that are there, shape (k,), s; ``None`` when they are `times`.
    """

    times: F64
    known: F64 | None = None

    @property
    def step(self) -> float:
        """Distance of neighbouring instants, s."""
        return float(self.times[-1] - self.times[0]) / (self.times.size - 1)

    def values(self, at_known: F64) -> F64:
        """Return values of shape (k,) on the grid, shape (N,), by linear interpolation."""
        if self.known is None:
            return at_known
        return np.interp(self.times, self.known, at_known)


@dataclass(frozen=True, eq=False)
class MeasuredSignal:
    """One measured output of one experiment as it is compared.

    Parameters
    ----------
    experiment, output
        Names.
    times
        Shape (n,), s.
    measured
        Shape (n,), in the output's unit; NaN where a sample is missing.
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
        """Indices of the samples that are not missing, shape (k,)."""
        return np.flatnonzero(np.isfinite(self.measured))

    @cached_property
    def grid(self) -> EquidistantGrid:
        """Equidistant instants from the first to the last sample, for spectra.

        Those of the samples themselves if they are equidistant, or are so but for missing
        ones; else as many as there are samples.
        """
        known = self.times[self.rows]
        if _equidistant(known):
            return EquidistantGrid(known)
        whole = self.times[self.rows[0] : self.rows[-1] + 1]
        if _equidistant(whole):
            return EquidistantGrid(whole, known)
        return EquidistantGrid(np.linspace(known[0], known[-1], known.size), known)

    def differences(self, predicted: F64) -> F64:
        """Return ``scale * (measured - predicted)`` of the samples that are there, shape (k,)."""
        return self._scale * (self._measured - self._there(predicted))

    def differences_in_units(self, predicted: F64) -> F64:
        """Return ``measured - predicted`` of the samples that are there, shape (k,)."""
        return self._measured - self._there(predicted)

    def size_with(self, predicted: F64) -> float:
        """Return the largest absolute value of measurement and prediction."""
        measured = float(np.max(np.abs(self._measured), initial=0.0))
        return max(measured, float(np.max(np.abs(predicted), initial=0.0)))

    def scaled(self, values: F64) -> F64:
        """Return ``scale * values`` of the samples that are there: (n,) -> (k,).

        Of several signals as columns likewise, (n, c) -> (k, c).
        """
        scale = self._scale if values.ndim == 1 else self._scale[:, np.newaxis]
        return scale * self._there(values)

    def _there(self, values: F64) -> F64:
        """Return the values at the samples that are there; copied only if some are missing."""
        return values if self.rows.size == len(values) else values[self.rows]

    @cached_property
    def _measured(self) -> F64:
        return self.measured[self.rows]

    @cached_property
    def _scale(self) -> F64:
        return self.scale[self.rows]


@dataclass(frozen=True)
class Cost(ABC):
    """Base class of all costs; a subclass is a frozen dataclass, its fields are its options.

    The keys of the problem file's ``[cost]`` table are those fields; a ``ValueError`` of
    ``__post_init__`` becomes a message with the place in the file.

    Class attributes
    ----------------
    name
        Name in the ``[cost]`` table.
    summary
        One line for ``fmident plugins``.
    by_sample
        Whether residuals belong to one sample each. Finite differences then look for those that
        an event of the model jumps across; in mixtures of samples, such as spectra, a residual
        that stands out means nothing.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    by_sample: ClassVar[bool] = False

    @property
    def gives_intervals(self) -> bool:
        """Whether the residuals are independent and of equal variance for a right model.

        Only then do standard errors follow from the Jacobian of the residuals; of other costs
        the result has none.
        """
        return False

    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        """Refuse data that this cost cannot be computed from; called before the run.

        Raises
        ------
        ValueError
            With the reason.
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
            What the model says for each, shape (n,) like ``signals[i].times``; finite.

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
        """Return the derivatives of the residuals along directions of the predicted signals.

        By differences of :meth:`residuals`, extrapolated to about twelve digits where it is smooth:
        no simulation is needed. A cost may override it with formulas.

        Parameters
        ----------
        signals, predicted
            As of :meth:`residuals`.
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
    """Base class of costs that treat each signal by itself, with formulas for the derivatives."""

    @abstractmethod
    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the residuals of one signal, shape (m,).

        Parameters
        ----------
        signal
            Of one experiment and measured output.
        predicted
            What the model says, shape (n,) like ``signal.times``; finite.
        """

    @abstractmethod
    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the derivatives of the residuals of one signal, shape (m, k).

        Parameters
        ----------
        signal, predicted
            As of :meth:`residuals_of`.
        changes
            Directions of `predicted` as columns, shape (n, k).
        """

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return the residuals, by experiment, then output."""
        parts = [self.residuals_of(s, y) for s, y in zip(signals, predicted, strict=True)]
        return np.concatenate(parts) if parts else np.empty(0)

    def derivatives(
        self,
        signals: Sequence[MeasuredSignal],
        predicted: Sequence[F64],
        changes: Sequence[F64],
    ) -> F64:
        """Return the derivatives of the residuals along directions, by formulas."""
        together = zip(signals, predicted, changes, strict=True)
        return np.concatenate([self.slopes_of(s, y, change) for s, y, change in together])


@dataclass(frozen=True)
class TimeDomain(SignalCost):
    """Squares of the whitened differences, sample by sample: the default.

    Parameters
    ----------
    normalisation
        ``"none"``: ``1/2 sum r^2``, for Gaussian noise of known sigma the negative logarithm of
        the likelihood. ``"mean-square"``: the mean square of each signal, summed (Ludwig and
        Gerstmayr, eq. 9), so that long records count as much as short ones.
    """

    name: ClassVar[str] = "time-domain"
    summary: ClassVar[str] = "squares of the differences, sample by sample (the default)"
    by_sample: ClassVar[bool] = True

    normalisation: Literal["none", "mean-square"] = "none"

    @property
    def gives_intervals(self) -> bool:
        """True, unless each signal is divided by its length."""
        return self.normalisation == "none"

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the differences by time."""
        return self._normalised(signal.differences(predicted))

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the derivatives along directions; exact, as this cost is linear."""
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
    """Return the derivatives of residuals along directions of the predicted signals.

    Parameters
    ----------
    residuals
        Of predicted signals.
    predicted
        Where they are differentiated.
    changes
        For each signal k directions as columns, shape (n, k).
    sizes
        Of the signals: their largest values.

    Returns
    -------
    numpy.ndarray
        Shape (m, k).
    """
    base = np.asarray(residuals(predicted), dtype=np.float64)
    count = changes[0].shape[1] if changes else 0
    found = np.zeros((base.size, count))
    for j in range(count):
        way = [change[:, j] for change in changes]
        steps = [
            _LONGEST * (size if size > 0.0 else 1.0) / float(np.max(np.abs(d)))
            for d, size in zip(way, sizes, strict=True)
            if d.any()
        ]
        if steps:

            def at(step: float, way: Sequence[F64] = way) -> F64:
                moved = [y + step * d for y, d in zip(predicted, way, strict=True)]
                return np.asarray(residuals(moved), dtype=np.float64)

            found[:, j] = _extrapolated(at, min(steps), np.abs(base))
    return found


def _extrapolated(at: Callable[[float], F64], longest: float, size: F64) -> F64:
    """Return the derivative at 0, shape (m,).

    Parameters
    ----------
    at
        Residuals at a step.
    longest
        First step.
    size
        Sizes of the residuals at 0, for their rounding, shape (m,).
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
