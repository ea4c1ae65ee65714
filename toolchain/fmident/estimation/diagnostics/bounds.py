"""Detection of bounds that keep the model from explaining the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

if TYPE_CHECKING:
    from fmident.problem.model import Problem

Flags = npt.NDArray[np.bool_]

_ON_BOUND = 1e-9
"""Distance from a bound, relative to the width between both, at which a parameter is on it."""


def parameters_at_bound(problem: Problem, p: F64) -> Flags:
    """Return which free parameters lie on a bound, shape (n,)."""
    lower, upper = problem.lower, problem.upper
    with np.errstate(invalid="ignore"):
        width = np.where(np.isfinite(upper - lower), upper - lower, np.abs(p))
    slack = _ON_BOUND * width
    on_bound: Flags = (p <= lower + slack) | (p >= upper - slack)
    return on_bound


def left_beyond_bounds(
    problem: Problem, p: F64, held: Flags, jacobian: F64, residuals: F64
) -> tuple[float, tuple[str, ...]]:
    """Return the residuals that would remain without the bounds, and the bounds that matter.

    By the derivatives at the estimate: nothing is simulated beyond a bound. The root mean
    square of those whitened residuals is relative to the present one, and the names are
    those of parameters that would cross their bounds; NaN and nothing if no bound holds one
    back.
    """
    size = float(np.linalg.norm(residuals))
    outward = np.where(p - problem.lower <= problem.upper - p, -1.0, 1.0)
    released = held.copy()
    while released.any() and size > 0.0:
        moving = released | ~held
        norms = np.linalg.norm(jacobian, axis=0)
        used = np.flatnonzero(moving & (norms > 0.0))
        step = np.zeros(p.size)
        scaled = jacobian[:, used] / norms[used]
        step[used] = np.linalg.lstsq(scaled, -residuals, rcond=1e-6)[0] / norms[used]
        back = released & ~(step * outward > 0.0)
        if not back.any():
            left = float(np.linalg.norm(residuals + jacobian @ step)) / size
            names = tuple(q.name for q, out in zip(problem.free, released, strict=True) if out)
            return left, names
        released &= ~back
    return float("nan"), ()
