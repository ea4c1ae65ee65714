"""A sampled signal shifted in time, so that it can be differentiated with respect to the shift."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64


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
        Shape (n,).
    delay
        In s; negative moves the signal forward.

    Returns
    -------
    numpy.ndarray
        Shape (n,).
    """
    if delay == 0.0 or times.size < 2:
        return y
    at = np.clip(times - delay, times[0], times[-1])
    slope = np.gradient(y, times, edge_order=2 if times.size > 2 else 1)
    k = np.clip(np.searchsorted(times, at, side="right") - 1, 0, times.size - 2)
    h = times[k + 1] - times[k]
    s = (at - times[k]) / h
    return (
        y[k] * (1.0 + 2.0 * s) * (1.0 - s) ** 2
        + h * slope[k] * s * (1.0 - s) ** 2
        + y[k + 1] * s**2 * (3.0 - 2.0 * s)
        + h * slope[k + 1] * s**2 * (s - 1.0)
    )
