"""Noise level of a simulation, from difference tables.

Step-size control makes a simulation with an adaptive solver jump by about its
tolerance. High-order differences along a line remove the smooth part and leave the
noise (ECnoise: More and Wild, Estimating computational noise, SIAM J. Sci. Comput. 33,
2011, sections 3-5). Here the table has whole residual vectors and needs few points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.evaluation.derivatives.neighbourhood import Neighbourhood

POINTS = 7
"""Points on the line, as recommended by More and Wild (6 to 8)."""

SPACING = 1e-4
"""Relative spacing of the noise table that is tried first: about the size of the steps that
simulations want, so that the noise is that of such steps."""

_NARROWER, _WIDER = 1e-2, 1e2
_WIDEST = SPACING * _WIDER
_ATTEMPTS = 3

_SPREAD = 4.0
_ALTERNATING = 0.5
_EPS = float(np.finfo(np.float64).eps)


Flags = npt.NDArray[np.bool_]

_SHARE = 0.9
"""Part of the rows that is taken to be free of events."""

HEAVY = 30.0
"""Times the 0.9 quantile that a row has to exceed. Smooth responses and noise stay within 3 to
10 of it; a jump that a finite-difference step moves across a sample is far beyond."""


_FEWEST = 10
"""Of fewer rows none can be told from the others."""


@dataclass(frozen=True)
class NoiseEstimate:
    """Result of a difference table: root mean square noise per component.

    `outcome` is ``"too-large"`` if the smooth part hides the noise at this spacing, and
    ``"too-small"`` if the function hardly changes; then `level` is NaN.
    """

    level: float
    outcome: Literal["found", "too-large", "too-small"]
    order: int = 0


def noise_level(values: F64) -> NoiseEstimate:
    """Return the noise level of a vector function from values on an equidistant line.

    The level of order k is ``sqrt(gamma_k * mean(T_k^2))`` with the k-th differences
    ``T_k`` and ``gamma_k = (k!)^2 / (2k)!`` (equation 4.2). It is taken at the first order
    for which three successive levels agree within a factor of 4 and the differences change
    sign along the line. `values` has shape (points, m), at least 5 points, finite.
    """
    count = values.shape[0]
    varying = np.ptp(values, axis=0) > 0.0
    if not bool(varying.any()):
        return NoiseEstimate(math.nan, "too-small")
    table = values[:, varying]
    components = values.shape[1]
    levels = []
    alternating = []
    gamma = 1.0
    for order in range(1, count):
        table = np.diff(table, axis=0)
        if order == 1 and np.count_nonzero(table) <= 0.5 * table.size:
            return NoiseEstimate(math.nan, "too-small")
        gamma *= 0.5 * order / (2 * order - 1)
        squares = table**2
        # A component that an event jumps or bends on this line is neither smooth nor noise.
        squares[:, standing_out_of_active(np.sqrt(squares.sum(axis=0)), 0.0)] = 0.0
        mean_square = float(squares.sum()) / (table.shape[0] * components)
        levels.append(math.sqrt(gamma * mean_square))
        changes = (table.min(axis=0) < 0.0) & (table.max(axis=0) > 0.0)
        # Weighted by size, so that components without noise have no say.
        weight = np.sum(squares, axis=0)
        alternating.append(float(np.sum(weight[changes])) >= _ALTERNATING * float(weight.sum()))
    for index in range(len(levels) - 2):
        window = levels[index : index + 3]
        if alternating[index] and max(window) <= _SPREAD * min(window):
            return NoiseEstimate(levels[index], "found", index + 1)
    return NoiseEstimate(math.nan, "too-large")


def measure_noise(around: Neighbourhood, size: F64, magnitude: float) -> tuple[float, str]:
    """Return the noise level along one direction, and a description of its origin.

    `magnitude` is the root mean square of the whitened outputs.
    """
    floor = _EPS * magnitude
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=size.size)
    room_up, room_down = around.upper - around.z, around.z - around.lower
    reach = (POINTS - 1) * _WIDEST * size
    signs = np.where((signs > 0) & (room_up < reach) & (room_down > room_up), -1.0, signs)
    signs = np.where((signs < 0) & (room_down < reach) & (room_up > room_down), 1.0, signs)
    room = np.where(signs > 0, room_up, room_down)
    spacing = SPACING
    offsets = np.arange(1, POINTS)[:, np.newaxis]
    for _ in range(_ATTEMPTS):
        step = signs * np.minimum(spacing * size, room / (POINTS - 1))
        values = np.vstack([around.base, around.evaluate(around.z + offsets * step)])
        if not bool(np.isfinite(values).all()):
            spacing *= _NARROWER
            continue
        estimate = noise_level(values)
        if estimate.outcome == "found":
            level = max(estimate.level, floor)
            return level, f"noise {level:.2g} measured at relative spacing {spacing:g}"
        spacing *= _NARROWER if estimate.outcome == "too-large" else _WIDER
        if spacing > 1.5 * _WIDEST:
            break
    assumed = _EPS ** (2.0 / 3.0) * magnitude
    return assumed, f"noise could not be measured; {assumed:.2g} assumed"


def standing_out(
    values: F64, floor: float, factor: float = HEAVY, groups: Sequence[slice] = (slice(None),)
) -> Flags:
    """Return the rows far larger than nearly all others, at most a tenth of each group.

    The threshold is `factor` times the 0.9 quantile of the magnitudes, at least `floor`; if
    that quantile is zero, all non-zero rows are outliers.
    """
    sizes = np.abs(values)
    flags = np.zeros(values.shape, dtype=np.bool_)
    for rows in groups:
        group = sizes[rows]
        if group.size >= _FEWEST:
            flags[rows] = group > max(factor * float(np.quantile(group, _SHARE)), floor)
    return flags


def standing_out_of_active(values: F64, floor: float) -> Flags:
    """Return outliers among non-zero rows, for a parameter that affects few rows."""
    flags = np.zeros(values.shape, dtype=np.bool_)
    active = values != 0.0
    flags[active] = standing_out(values[active], floor)
    return flags
