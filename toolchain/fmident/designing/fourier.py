"""Periodic motions as finite Fourier series within limits.

A series can be differentiated exactly and averaged over periods, and has no content
above its highest harmonic, so that a low-pass filter can be chosen without loss
(Swevers, Ganseman, Tukel, De Schutter and Van Brussel, "Optimal robot excitation and
identification", IEEE Transactions on Robotics and Automation 13, 1997).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.errors import ProblemError


@dataclass(frozen=True)
class Axis:
    """One axis of a machine: the inputs that define its motion, and its limits.

    `position`, `speed` and `acceleration` are input variables of the FMU; ``None`` for one
    that the model lacks. `turns` are revolutions (2 pi) per period. The limits are in the
    FMU's units, infinite if there is none; those of speed and acceleration apply to the
    absolute value. Raises `ProblemError` without an input or any limit, or if limits
    contradict the turns.
    """

    position: str | None
    speed: str | None = None
    acceleration: str | None = None
    turns: float = 0.0
    position_limits: tuple[float, float] = (-np.inf, np.inf)
    speed_limit: float = np.inf
    acceleration_limit: float = np.inf

    def __post_init__(self) -> None:
        if self.position is None and self.speed is None and self.acceleration is None:
            raise ProblemError("an axis needs an input: 'position', 'speed' or 'acceleration'")
        if not self.position_limits[0] < self.position_limits[1]:
            raise ProblemError(
                f"the position limits {list(self.position_limits)} must be [lowest, highest]"
            )
        if not (self.speed_limit > 0.0 and self.acceleration_limit > 0.0):
            raise ProblemError("the limits of speed and acceleration must be positive")
        bounded = bool(np.isfinite(self.position_limits).any())
        if self.turns and bounded:
            raise ProblemError(
                "an axis that turns on has no position limits",
                hint="leave out 'turns' or 'position_limits'",
            )
        limits = (*self.position_limits, self.speed_limit, self.acceleration_limit)
        if not np.isfinite(limits).any():
            raise ProblemError(
                "an axis without any limit has no best motion",
                hint="give 'position_limits', 'speed_limit' or 'acceleration_limit'",
            )

    @property
    def inputs(self) -> tuple[str | None, str | None, str | None]:
        """Position, velocity, acceleration."""
        return self.position, self.speed, self.acceleration


@dataclass(frozen=True)
class FourierMotion:
    """``q0 + 2 pi turns t/T + sum_k a_k sin(k w t) + b_k cos(k w t)`` with ``w = 2 pi/T``.

    `period` is T, s, `start` is q0, and `sine` and `cosine` are a_k and b_k, k = 1, 2, ...,
    shape (harmonics,).
    """

    period: float
    start: float
    turns: float
    sine: F64
    cosine: F64

    def __call__(self, times: F64, order: int = 0) -> F64:
        """Return the position, or its derivative of the given order, shape (n,)."""
        base = 2.0 * np.pi / self.period
        drift = base * self.turns
        steady = {0: self.start + drift * times, 1: drift + 0.0 * times}.get(order, 0.0 * times)
        w = base * np.arange(1, self.sine.size + 1)
        angle = np.outer(times, w) + order * np.pi / 2.0
        values: F64 = steady + np.sin(angle) @ (w**order * self.sine)
        values += np.cos(angle) @ (w**order * self.cosine)
        return values


def largest_inside(axis: Axis, shape: FourierMotion, times: F64) -> float:
    """Return the largest factor on the series of `shape` that satisfies an axis's limits.

    `shape` provides start, turns and series; the limits are checked at `times` of one
    period, shape (n,). Raises `ProblemError` if the turns alone are too fast.
    """
    drift = 2.0 * np.pi * shape.turns / shape.period
    if abs(drift) >= axis.speed_limit:
        raise ProblemError(
            f"{shape.turns:g} turns in {shape.period:g} s are {abs(drift):.4g} rad/s, which is no"
            f" less than the speed limit {axis.speed_limit:g}",
            hint="fewer turns, or a longer period",
        )
    series = FourierMotion(shape.period, 0.0, 0.0, shape.sine, shape.cosine)
    low, high = axis.position_limits
    factors = [
        _factor(series(times), low - shape.start, high - shape.start),
        _factor(series(times, 1), -axis.speed_limit - drift, axis.speed_limit - drift),
        _factor(series(times, 2), -axis.acceleration_limit, axis.acceleration_limit),
    ]
    return min(factors)


def _factor(values: F64, low: float, high: float) -> float:
    """Return the largest factor with ``low <= factor * values <= high``."""
    up, down = float(values.max(initial=0.0)), float(values.min(initial=0.0))
    tiny = 1e-300
    return min(high / max(up, tiny), low / min(down, -tiny))
