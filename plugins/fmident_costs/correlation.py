"""Similarity of two signals, regardless of gain and offset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.problem import MeasuredSignal, SignalCost

_CONSTANT = 1e-13
"""A signal that varies by less than this part of its size is constant but for rounding."""


@dataclass(frozen=True)
class Correlation(SignalCost):
    """``1 - correlation`` of measurement and simulation, summed over all signals.

    With both signals reduced to mean 0 and length 1, a and b, this is ``1/2 |a - b|^2``: 0
    for signals of equal shape, 1 for uncorrelated ones or a constant simulation, 2 for
    opposite ones. Gain and offset of an output cannot be identified with it. Samples are
    weighted by their sigma; weights of whole outputs have no effect.
    """

    name: ClassVar[str] = "correlation"
    summary: ClassVar[str] = "1 - correlation: blind to gain and offset"
    by_sample: ClassVar[bool] = True

    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        """Reject constant measurements."""
        for s in signals:
            if s.rows.size < 2 or _normal(s, s.measured) is None:
                raise ValueError(
                    f"'{s.output}' of '{s.experiment}' is constant, so that nothing correlates "
                    "with it"
                )

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the differences of the normalised signals."""
        measured, simulated = _normal(signal, signal.measured), _normal(signal, predicted)
        if measured is None:
            measured = np.zeros(signal.rows.size)
        return np.sqrt(2.0) * measured if simulated is None else measured - simulated

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives of the differences, shape (m, k)."""
        scaled, ones = signal.scaled(changes), signal.scaled(np.ones(predicted.size))
        normal = _normal(signal, predicted)
        if normal is None:
            return np.zeros_like(scaled)
        centre = np.sum(ones * signal.scaled(predicted)) / np.sum(ones**2)
        length = np.linalg.norm(signal.scaled(predicted) - ones * centre)
        centred = scaled - np.outer(ones, (ones @ scaled) / np.sum(ones**2))
        slopes: F64 = -(centred - np.outer(normal, normal @ centred)) / length
        return slopes


def _normal(signal: MeasuredSignal, values: F64) -> F64 | None:
    """Return the signal with mean 0 and length 1, samples weighted; ``None`` if constant."""
    scaled, ones = signal.scaled(values), signal.scaled(np.ones(values.size))
    centred = scaled - ones * (np.sum(ones * scaled) / np.sum(ones**2))
    length = float(np.linalg.norm(centred))
    if not length > _CONSTANT * float(np.linalg.norm(scaled)):
        return None
    normal: F64 = centred / length
    return normal
