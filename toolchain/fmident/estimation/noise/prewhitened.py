"""The default cost with the noise whitened by a model: one-step prediction errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.result import OutputFit
from fmident.problem.cost import Cost, MeasuredSignal, TimeDomain
from fmident.problem.residuals import residual_layout
from fmident.statistics.noise import NoiseFinding, NoiseModel, whitened_finding

if TYPE_CHECKING:
    from fmident.problem.model import Problem


@dataclass(frozen=True, eq=False)
class Prewhitened(Cost):
    """Squares of the innovations: differences that earlier samples do not predict.

    For autoregressions they are the errors of predicting each sample from the model and all
    earlier samples (Ljung, System Identification, 2nd ed., sections 3.2 and 7.2), here with
    the exact beginning of each record. Whitening is linear, so that derivatives are
    filtered likewise.
    """

    name: ClassVar[str] = TimeDomain.name
    summary: ClassVar[str] = "squares of the differences, whitened by a model of the noise"

    model: NoiseModel

    @property
    def gives_intervals(self) -> bool:
        """True: the innovations are white, of variance 1."""
        return True

    def residuals(self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64]) -> F64:
        """Return the innovations, by experiment, then output, then time."""
        return self.model.whiten(TimeDomain().residuals(signals, predicted))

    def derivatives(
        self, signals: Sequence[MeasuredSignal], predicted: Sequence[F64], changes: Sequence[F64]
    ) -> F64:
        """Return the derivatives of the innovations along directions."""
        return self.model.whiten(TimeDomain().derivatives(signals, predicted, changes))

    def options(self) -> dict[str, object]:
        """Return no options: the result has the noise separately from the cost."""
        return {}


def prewhitened(problem: Problem, model: NoiseModel, p: F64) -> Problem:
    """Return the problem with whitened residuals and the initial values `p`."""
    start = dict(zip((q.name for q in problem.free), p.tolist(), strict=True))
    parameters = tuple(
        replace(q, initial=start[q.name]) if q.name in start else q for q in problem.parameters
    )
    return replace(problem, parameters=parameters, cost=Prewhitened(model))


def finding_of(
    problem: Problem,
    residuals: F64,
    jacobian: F64,
    together: Sequence[npt.NDArray[np.intp]] = (),
) -> NoiseFinding | None:
    """Return the noise of whitened residuals; ``None`` without a noise model."""
    if not isinstance(problem.cost, Prewhitened):
        return None
    return whitened_finding(problem.cost.model, residuals, jacobian, together)


def whitened_fits(
    problem: Problem, fits: Sequence[OutputFit], residuals: F64
) -> tuple[OutputFit, ...]:
    """Return fits with innovations as differences; the given ones without a noise model."""
    if not isinstance(problem.cost, Prewhitened):
        return tuple(fits)
    layout = residual_layout(problem)
    places = [(i, j) for i, e in enumerate(problem.experiments) for j in range(len(e.measurements))]
    whitened = []
    for (i, j), fit in zip(places, fits, strict=True):
        rows = layout.rows_of(i, j)
        there = np.flatnonzero(np.isfinite(fit.measured))
        if rows.size != there.size:
            continue
        values = np.full(fit.times.size, np.nan)
        values[there] = residuals[rows]
        known = residuals[rows]
        nothing = np.zeros(fit.times.size)
        rms = float(np.sqrt(np.mean(known**2))) if known.size else float("nan")
        whitened.append(
            replace(
                fit,
                unit=None,
                measured=values,
                initial=nothing,
                fitted=nothing,
                sigma=np.ones(fit.times.size),
                rms=rms,
            )
        )
    return tuple(whitened)
