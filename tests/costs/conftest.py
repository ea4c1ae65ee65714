"""Signals of which the spectra are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.problem import Cost, MeasuredSignal

MakeSignal = Callable[..., MeasuredSignal]


@pytest.fixture
def signal() -> MakeSignal:
    """Return a signal of given values, 10 ms apart unless times are given."""

    def make(values: object, times: object = None, scale: object = 1.0) -> MeasuredSignal:
        measured = np.asarray(values, dtype=np.float64)
        at = 0.01 * np.arange(measured.size) if times is None else np.asarray(times)
        return MeasuredSignal("e", "y", at, measured, np.broadcast_to(scale, measured.shape))

    return make


@pytest.fixture
def value() -> Callable[[Cost, MeasuredSignal, object], float]:
    """Return the cost of one signal."""

    def of(cost: Cost, measured: MeasuredSignal, predicted: object) -> float:
        y = np.broadcast_to(np.asarray(predicted, dtype=np.float64), measured.times.shape)
        return 0.5 * float(np.sum(cost.residuals([measured], [y]) ** 2))

    return of
