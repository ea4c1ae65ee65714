"""Motions with exact derivatives, and derivatives of sampled signals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

F64 = NDArray[np.float64]

#: Weights of the central difference of sixth order, for offsets -3..3.
CENTRAL = np.array([-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0]) / 60.0


@dataclass(frozen=True)
class Fourier:
    """Finite Fourier series ``offset + sum a_k sin(k w t) + b_k cos(k w t)``, k = 1, 2, ..."""

    omega: float
    offset: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]

    def __call__(self, t: F64, order: int = 0) -> F64:
        """Value, or derivative of the given order."""
        value = np.full_like(t, self.offset if order == 0 else 0.0)
        for k, (a, b) in enumerate(zip(self.sine, self.cosine, strict=True), start=1):
            w = k * self.omega
            phase = w * t + 0.5 * np.pi * order
            value += w**order * (a * np.sin(phase) + b * np.cos(phase))
        return value


def stencil_times(centres: F64, step: float) -> F64:
    """Instants for :func:`rate_at_centres`: seven around every centre."""
    return (centres[:, None] + step * np.arange(-3, 4)).ravel()


def rate_at_centres(values: F64, step: float) -> F64:
    """Time derivative at the centres, of a signal sampled at :func:`stencil_times`."""
    return values.reshape(-1, 7) @ CENTRAL / step


def at_centres(values: F64) -> F64:
    """The signal itself at the centres."""
    return values.reshape(-1, 7)[:, 3]


def window_means(values: F64, panels: int) -> F64:
    """Means over windows of `panels` intervals by Simpson's rule; `panels` is even.

    The signal has one value more than a multiple of `panels`.
    """
    windows = (values.size - 1) // panels
    weights = np.ones(panels + 1)
    weights[1:-1:2] = 4.0
    weights[2:-1:2] = 2.0
    weights /= weights.sum()
    starts = np.arange(windows) * panels
    return np.array([values[s : s + panels + 1] @ weights for s in starts])
