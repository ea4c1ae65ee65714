"""Where a simulated signal breaks: instants at which it jumps, or bends, between two samples.

Contact, stick-slip, a relay or a limit leave such breaks in sampled outputs. Between two of them
the signal is smooth, so that a parabola through three samples foretells the next one. Across a
break it fails, from the left as well as from the right, while it holds on either side.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

_STANDS_OUT = 8.0
"""Times the defects on either side by which the defect at a break exceeds them. That of a smooth
signal changes from sample to sample by less, unless it is hardly sampled at all."""

_VISIBLE = 1e-3
"""Part of the range of a signal that a defect must have; less does not matter to a search."""

_FAINT_STANDS_OUT, _FAINT_VISIBLE = 2.0, 1e-4
"""The same for a break that is known from another simulation and may be smaller in this one."""

_BASE = 3
"""Samples of the parabola."""

_CALM = 3
"""Neighbouring defects on a side that are looked at."""

FEWEST = 2 * (_BASE + 1)
"""Samples of a signal in which a break can be found."""


def find_breaks(times: F64, values: F64, *, faint: bool = False) -> npt.NDArray[np.intp]:
    """Return the indices k for which a signal breaks between the samples k and k + 1.

    Parameters
    ----------
    times
        Shape (n,), increasing.
    values
        A signal without noise, shape (n,).
    faint
        Find also those that would not be seen for certain: to tell whether a break that is seen
        in one simulation is missing in another one.

    Returns
    -------
    numpy.ndarray
        Increasing, shape (b,). Breaks with fewer than four samples between them are not found.
    """
    n = times.size
    none = np.empty(0, dtype=np.intp)
    if n < FEWEST:
        return none
    visible, stands_out = _VISIBLE, _STANDS_OUT
    if faint:
        visible, stands_out = _FAINT_VISIBLE, _FAINT_STANDS_OUT
    floor = visible * float(np.ptp(values))
    if not floor > 0.0:
        return none
    left = np.full(n, np.inf)  # left[k]: at k + 1, from k - 2, k - 1, k
    right = np.full(n, np.inf)  # right[k]: at k, from k + 1, k + 2, k + 3
    left[2 : n - 1] = _defects(times, values)
    right[: n - 3] = _defects(-times[::-1], values[::-1])[::-1]
    both = np.minimum(left, right)
    both[~np.isfinite(both)] = 0.0
    k = np.flatnonzero(both > floor)
    k = k[(k > 2) & (k < n - 4)]  # a neighbour on either side
    left[:2] = right[n - 3 :] = 0.0
    before = np.max([left[k - i] for i in range(1, 1 + _CALM)], axis=0)
    after = np.max([right[k + i] for i in range(1, 1 + _CALM)], axis=0)
    # Where the defects after a sample are not numbers, those before it decide.
    calm = np.where(after > before, after, before)
    found: npt.NDArray[np.intp] = k[both[k] > stands_out * calm]
    return found


def _defects(times: F64, values: F64) -> F64:
    """Return by how much the parabola through three samples misses the next, (n,) -> (n-3,)."""
    t0, t1, t2, t3 = times[:-3], times[1:-2], times[2:-1], times[3:]
    foretold = (
        values[:-3] * (t3 - t1) * (t3 - t2) / ((t0 - t1) * (t0 - t2))
        + values[1:-2] * (t3 - t0) * (t3 - t2) / ((t1 - t0) * (t1 - t2))
        + values[2:-1] * (t3 - t0) * (t3 - t1) / ((t2 - t0) * (t2 - t1))
    )
    found: F64 = np.abs(values[3:] - foretold)
    return found
