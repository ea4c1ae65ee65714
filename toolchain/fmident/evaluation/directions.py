"""Derivatives along chosen directions by central differences, each with a measured error.

A direction in which several parameters move so that their effects nearly cancel can be followed
much farther than any of them alone, so that its small derivative stands out of the simulation's
noise. The error of a central difference is a part from noise, which falls with the step, and
one from the third derivative, which rises with its square; the step balances both
(the cube-root law). Differences with two steps measure the second part, and Richardson's
extrapolation of the two takes most of it off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fmident._types import F64

_FARTHEST = 0.2
"""Largest relative change of a parameter."""

_LARGEST_CHANGE = 0.1
"""Largest expected change of the outputs, in relation to their size."""

_ROUNDS = 4
_ENOUGH = 1e-3
"""Relative error of a derivative that needs no better step."""

_NOISE_FACTOR = 0.95
"""Standard deviation of ``(4 D(h) - D(2h)) / 3`` from noise, in noise levels per step."""

_NOISE_FACTOR_ASIDE = 2.55
"""The same for ``2 D(h) - D(2h)`` of one-sided differences."""

_ASIDE = 0.05
"""One-sided when the bounds leave less than this part of the wanted step on one side."""


@dataclass(frozen=True)
class DirectionalDerivatives:
    """Derivatives of the residuals along directions.

    Parameters
    ----------
    values
        Shape (m, k); NaN where every simulation failed.
    errors
        Expected length of the error of each, shape (k,); infinite where it is NaN.
    """

    values: F64
    errors: F64


def directional_derivatives(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    directions: F64,
    reach: F64,
    lower: F64,
    upper: F64,
    noise: float,
) -> DirectionalDerivatives:
    """Return the derivative along each direction, with a step that suits it.

    Costs 4 simulations per direction, and 4 more for each step that has to be corrected.

    Parameters
    ----------
    evaluate
        Residuals at points of the search space, (k, n) -> (k, m); NaN rows where it failed.
    base
        Residuals at `z`, shape (m,).
    z
        Point, shape (n,).
    directions
        Shape (n, k).
    reach
        Longest step along each direction, shape (k,).
    lower, upper
        Bounds, shape (n,).
    noise
        Root mean square of the simulation's noise per residual.
    """
    count = directions.shape[1]
    root = float(np.sqrt(base.size))
    values = np.full((base.size, count), np.nan)
    errors = np.full(count, np.inf)
    sides = [_room(z, directions[:, k], float(reach[k]), lower, upper) for k in range(count)]
    steps = np.array([0.5 * room for _, room in sides])
    open_ones = [k for k in range(count) if steps[k] > 0.0]
    for _ in range(_ROUNDS):
        points = []
        for k in open_ones:
            side = sides[k][0]
            factors = (1.0, -1.0, 2.0, -2.0) if side == 0 else (side * 1.0, side * 2.0)
            points += [z + f * steps[k] * directions[:, k] for f in factors]
        found = evaluate(np.clip(np.array(points), lower, upper))
        again, row = [], 0
        for k in open_ones:
            side, step = sides[k][0], float(steps[k])
            if side == 0:
                plus, minus, far_plus, far_minus = found[row : row + 4]
                row += 4
                near, far = (plus - minus) / (2.0 * step), (far_plus - far_minus) / (4.0 * step)
                better = near + (near - far) / 3.0
                scatter = _NOISE_FACTOR * noise * root / step
                curved = float(np.linalg.norm(far - near)) / 3.0
            else:
                first, second = found[row : row + 2]
                row += 2
                near = side * (first - base) / step
                far = side * (second - base) / (2.0 * step)
                better = 2.0 * near - far
                scatter = _NOISE_FACTOR_ASIDE * noise * root / step
                curved = float(np.linalg.norm(far - near))
            if not np.isfinite(curved):
                steps[k] *= 0.25
                again.append(k)
                continue
            error = float(np.hypot(scatter, curved))
            if error < errors[k]:
                values[:, k], errors[k] = better, error
            if curved > 2.0 * scatter and error > _ENOUGH * float(np.linalg.norm(better)):
                power = 1.0 / 3.0 if side == 0 else 0.5
                steps[k] *= float(np.clip((0.7 * scatter / curved) ** power, 0.02, 0.5))
                again.append(k)
        open_ones = again
        if not open_ones:
            break
    return DirectionalDerivatives(values, errors)


def longest_steps(directions: F64, size: F64, visible: F64) -> F64:
    """Return the longest step along each direction that may still be near enough, shape (k,).

    Parameters
    ----------
    directions
        Shape (n, k).
    size
        Of the parameters, shape (n,).
    visible
        Step that is expected to change the outputs by their own size, shape (k,).
    """
    with np.errstate(divide="ignore"):
        far = _FARTHEST * size[:, np.newaxis] / np.abs(directions)
    steps: F64 = np.minimum(far.min(axis=0), _LARGEST_CHANGE * visible)
    return steps


def _room(z: F64, direction: F64, reach: float, lower: F64, upper: F64) -> tuple[int, float]:
    """Return the side, 0 for both, and the longest step that stays inside the bounds."""
    moving = direction != 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        up, down = (upper - z) / direction, (lower - z) / direction
    forth = float(np.min(np.maximum(up, down)[moving], initial=np.inf))
    back = float(np.min(-np.minimum(up, down)[moving], initial=np.inf))
    both = min(forth, back)
    if both >= _ASIDE * min(reach, max(forth, back)):
        return 0, min(reach, both)
    return (1, min(reach, forth)) if forth > back else (-1, min(reach, back))
