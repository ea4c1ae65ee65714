"""Sum of absolute differences: the smallest cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.plugins import Registry, hookimpl
from fmident.problem import Cost, MeasuredSignal


@dataclass(frozen=True)
class Absolute(Cost):
    """``factor * sum |e|``; the fields are the keys of the ``[cost]`` table."""

    name: ClassVar[str] = "absolute"
    summary: ClassVar[str] = "sum of absolute differences"
    by_sample: ClassVar[bool] = True

    factor: float = 1.0

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return residuals r with ``1/2 sum r^2 = factor * sum |e|``."""
        parts = [np.abs(s.differences(y)) for s, y in zip(signals, predicted, strict=True)]
        return np.sqrt(2.0 * self.factor * np.concatenate(parts))


@hookimpl
def fmident_register_costs(registry: Registry[type[Cost]]) -> None:
    """Make the cost known."""
    registry.add("absolute", Absolute)
