"""Sum of squares and largest error of each output, weighted (Zeng 2017, eq. 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, did_you_mean
from fmident.options import OptionError
from fmident.problem import MeasuredSignal, SignalCost


@dataclass(frozen=True)
class SquaresAndMaxima(SignalCost):
    """``sum over outputs of a * sum e^2 + b * max |e|``.

    The LuGre paper's ``J = c1 sum e^2 + c2 max|e| + c3 sum Fe^2 + c4 max|Fe|`` for a
    displacement `s` and a friction force `F` is ``squares = {s = c1, F = c3}``,
    ``maxima = {s = c2, F = c4}``. The residual of a largest error is ``sqrt(2 b max|e|)``;
    there is one per experiment.

    Parameters
    ----------
    squares
        a: one number for all outputs, or output = number; outputs left out do not count.
    maxima
        b, in the same form.
    errors
        ``"whitened"``: e is divided by sigma, or multiplied by the output's weight;
        ``"plain"``: it is in the output's unit, as in the paper.
    """

    name: ClassVar[str] = "squares-and-maxima"
    summary: ClassVar[str] = "weighted sums of squares and largest errors (the LuGre cost)"
    by_sample: ClassVar[bool] = True

    squares: float | dict[str, float] = 1.0
    maxima: float | dict[str, float] = 1.0
    errors: Literal["whitened", "plain"] = "whitened"

    def __post_init__(self) -> None:
        for key, weights in (("squares", self.squares), ("maxima", self.maxima)):
            for value in weights.values() if isinstance(weights, Mapping) else [weights]:
                if not (np.isfinite(value) and value >= 0.0):
                    raise ValueError(f"'{key}': a weight must be 0 or more, not {value:g}")

    def check(self, signals: Sequence[MeasuredSignal]) -> None:
        """Reject weights of unknown outputs, and weights that are all zero."""
        known = {s.output for s in signals}
        for key, weights in (("squares", self.squares), ("maxima", self.maxima)):
            for name in weights if isinstance(weights, Mapping) else ():
                if name not in known:
                    raise OptionError(
                        f"'{key}' names the output '{name}', which is not measured; "
                        + did_you_mean(name, known, kind="output"),
                        key,
                        Code.UNKNOWN_NAME,
                    )
        if all(_of(w, s) == 0.0 for w in (self.squares, self.maxima) for s in signals):
            raise ValueError("all weights are zero")

    def residuals_of(self, signal: MeasuredSignal, predicted: F64) -> F64:
        """Return the weighted errors, followed by the largest one."""
        e, parts = self._errors(signal, predicted), []
        squares, maxima = _of(self.squares, signal), _of(self.maxima, signal)
        if squares > 0.0:
            parts.append(np.sqrt(2.0 * squares) * e)
        if maxima > 0.0:
            parts.append(np.sqrt([2.0 * maxima * np.max(np.abs(e))]))
        return np.concatenate(parts) if parts else np.empty(0)

    def slopes_of(self, signal: MeasuredSignal, predicted: F64, changes: F64) -> F64:
        """Return the directional derivatives, (m, k); of one sample if several are largest."""
        e, parts = self._errors(signal, predicted), []
        slope = -(signal.scaled(changes) if self.errors == "whitened" else changes[signal.rows])
        squares, maxima = _of(self.squares, signal), _of(self.maxima, signal)
        if squares > 0.0:
            parts.append(np.sqrt(2.0 * squares) * slope)
        if maxima > 0.0:
            worst = int(np.argmax(np.abs(e)))
            size = float(np.sqrt(2.0 * maxima * np.abs(e[worst])))
            rise = maxima * np.sign(e[worst]) * slope[worst]
            # At zero error the cost has a kink, with equal slopes on both sides.
            parts.append(np.atleast_2d(rise / size if size > 0.0 else 0.0 * rise))
        return np.concatenate(parts) if parts else np.empty((0, changes.shape[1]))

    def _errors(self, signal: MeasuredSignal, predicted: F64) -> F64:
        if self.errors == "whitened":
            return signal.differences(predicted)
        return signal.differences_in_units(predicted)


def _of(weights: float | Mapping[str, float], signal: MeasuredSignal) -> float:
    return weights.get(signal.output, 0.0) if isinstance(weights, Mapping) else weights
