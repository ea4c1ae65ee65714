"""Derivatives of a cost's residuals with respect to what is predicted, without a simulation.

Central differences with a sequence of steps are extrapolated to step zero (Ridders, Advances in
Engineering Software 4, 1982). Each residual takes the entry of the table that agrees best with its
neighbours, so that one with a bend nearby has shorter steps than the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fmident.arrays import F64

_LONGEST = 0.1
"""Change of a signal by the first step, in relation to its size."""

_FACTOR = 4.0
_STEPS = 13
"""Steps, each this much shorter than the one before: down to a change of 6e-9."""

_ORDERS = 5
"""Extrapolations of one difference: of higher order they only collect rounding errors."""

_EPS = float(np.finfo(np.float64).eps)


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
