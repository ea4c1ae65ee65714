"""Minima at kinks of the cost.

Where an event passes a sample, or an output stops following a parameter, the slope of the cost
jumps. A minimum can lie there: the slopes on both sides point to the kink, the step of Gauss and
Newton does not become short, and no step lowers the cost. The jump of the gradient is normal to
the kink, since the cost itself is continuous, and along it the cost is smooth: the search continues
within the kink (Mifflin and Sagastizabal, A VU-algorithm for convex minimization, Mathematical
Programming 104, 2005).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fmident.arrays import F64
from fmident_estimators.least_squares.convergence import INSIGNIFICANT

_ROUNDS = 10

_NARROW = 1e-6
"""Width, in steps, within which the kink is found."""

_JUMP = 1e-3
"""Jump of the slope at least, in that with which the step begins."""

Linear = Callable[[F64], tuple[F64, F64]]


def minimum_at_kink(z: F64, linear: Linear, lower: F64, upper: F64) -> F64 | None:
    """Return the minimum at a kink next to a point of the search space; ``None`` without one.

    `linear` returns the residuals, (m,), and their Jacobian, (m, n), at a point.
    """
    for _ in range(_ROUNDS):
        step = _step(*linear(z))
        if step is None or not _inside(z + step, lower, upper):
            return None
        edge = _edge(z, step, linear)
        if edge is None:
            return None
        z, normal = z + edge[0] * step, edge[1]
        residuals, jacobian = linear(z)
        along = _step(residuals, jacobian, normal)
        if along is None or not _inside(z + along, lower, upper):
            return None
        freedom = max(residuals.size - z.size, 1)
        deviation = float(np.linalg.norm(residuals)) / np.sqrt(freedom)
        if float(np.linalg.norm(jacobian @ along)) <= INSIGNIFICANT * deviation:
            return z
        z = z + along
    return None


def _inside(z: F64, lower: F64, upper: F64) -> bool:
    return bool(((lower < z) & (z < upper)).all())


def _step(residuals: F64, jacobian: F64, normal: F64 | None = None) -> F64 | None:
    """Return the step of Gauss and Newton, within a kink if its normal is given."""
    if not bool(np.isfinite(residuals).all() and np.isfinite(jacobian).all()):
        return None
    scale = np.linalg.norm(jacobian, axis=0)
    if not bool((scale > 0.0).all()):
        return None
    basis = np.eye(scale.size)
    if normal is not None:
        _, _, right = np.linalg.svd((normal / scale)[np.newaxis])
        basis = right[1:].T
    columns = jacobian / scale @ basis
    step: F64 = basis @ np.linalg.lstsq(columns, -residuals, rcond=None)[0] / scale
    return step


def _edge(z: F64, step: F64, linear: Linear) -> tuple[float, F64] | None:
    """Return how far along a step the slope jumps from falling to rising, and the normal."""

    def gradient(part: float) -> F64:
        residuals, jacobian = linear(z + part * step)
        return np.asarray(jacobian.T @ residuals, dtype=np.float64)

    near, far = 0.0, 1.0
    before, beyond = gradient(near), gradient(far)
    steepest = -float(before @ step)
    if not float(beyond @ step) > 0.0:
        return None
    while far - near > _NARROW:
        middle = 0.5 * (near + far)
        slope = gradient(middle)
        if not bool(np.isfinite(slope).all()):
            return None
        if float(slope @ step) < 0.0:
            near, before = middle, slope
        else:
            far, beyond = middle, slope
    normal = beyond - before
    return (near, normal) if float(normal @ step) > _JUMP * steepest else None
