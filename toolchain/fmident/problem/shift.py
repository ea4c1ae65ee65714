"""A sampled signal shifted in time, so that it can be differentiated with respect to the shift."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

_ROUNDING = 1e-12
"""Part of the record by which two instants that are meant to be equal may differ."""


def delayed(times: F64, y: F64, delay: float) -> F64:
    """Return ``y(t - delay)`` at the samples' own instants.

    Between samples the signal is a cubic Hermite polynomial whose slopes are the central
    differences of second order at the samples. It goes through the samples, is exact for
    parabolas, has a continuous derivative, and a jump spoils no more than the two intervals
    on either side; so the result is differentiable with respect to `delay` and linear in `y`.
    Before the first instant the first value holds, after the last one (negative delay) the
    last.

    Parameters
    ----------
    times
        Shape (n,), s, strictly increasing; steps may differ.
    y
        Shape (n,), or several signals as columns, shape (n, k).
    delay
        In s; negative moves the signal forward.

    Returns
    -------
    numpy.ndarray
        Of the shape of `y`.
    """
    if delay == 0.0 or times.size < 2:
        return y
    at = np.clip(times - delay, times[0], times[-1])
    slope = _slopes(times, y)
    k, h, s = _places(times, at, y.ndim)
    return (
        y[k] * (1.0 + 2.0 * s) * (1.0 - s) ** 2
        + h * slope[k] * s * (1.0 - s) ** 2
        + y[k + 1] * s**2 * (3.0 - 2.0 * s)
        + h * slope[k + 1] * s**2 * (s - 1.0)
    )


def delay_derivative(times: F64, y: F64, delay: float, *, towards_smaller: bool = False) -> F64:
    """Return the derivative of :func:`delayed` with respect to the delay, shape (n,).

    It is that of the interpolating polynomials, which is continuous, and zero where the first or
    the last value holds. The instants at which these begin to hold have a bend: there it is the
    derivative towards larger delays.

    Parameters
    ----------
    times, y
        As of :func:`delayed`, shape (n,).
    delay
        In s; may be 0.
    towards_smaller
        Take the derivative towards smaller delays at a bend, for a delay on its upper bound.
    """
    if times.size < 2:
        return np.zeros_like(y)
    wanted = times - delay
    first, last = times[0], times[-1]
    near = _ROUNDING * (last - first)  # a delay of whole steps meets the ends but for rounding
    if towards_smaller:
        moves = (wanted >= first - near) & (wanted < last - near)
    else:
        moves = (wanted > first + near) & (wanted <= last + near)
    slope = _slopes(times, y)
    k, h, s = _places(times, np.clip(wanted, first, last), 1)
    rise = (
        6.0 * s * (1.0 - s) * (y[k + 1] - y[k]) / h
        + slope[k] * (1.0 - s) * (1.0 - 3.0 * s)
        + slope[k + 1] * s * (3.0 * s - 2.0)
    )
    return np.where(moves, -rise, 0.0)


def _slopes(times: F64, y: F64) -> F64:
    """Return the slopes at the samples, of the shape of `y`."""
    order = 2 if times.size > 2 else 1
    slopes: F64 = np.gradient(y, times, axis=0, edge_order=order)  # type: ignore[call-overload]
    return slopes


def _places(times: F64, at: F64, dimensions: int) -> tuple[npt.NDArray[np.intp], F64, F64]:
    """Return interval, its length, and the place in it from 0 to 1, of each instant."""
    k = np.clip(np.searchsorted(times, at, side="right") - 1, 0, times.size - 2)
    h = times[k + 1] - times[k]
    s = (at - times[k]) / h
    return (k, h, s) if dimensions == 1 else (k, h[:, np.newaxis], s[:, np.newaxis])
