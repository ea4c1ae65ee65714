"""Noise level of an output estimated from its residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.problem.residuals import residual_layout
from fmident.statistics.noise import NoiseFinding, NoiseModel
from fmident.statistics.noise.autoregression import autocovariance

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_ENOUGH = 10.0
"""Degrees of freedom from which on the residuals of an output tell its noise."""

_LAGS = 2000


@dataclass(frozen=True)
class NoiseSize:
    """Noise level of one output of one experiment.

    `size` is the root mean square of the whitened residuals per degree of freedom, NaN if
    unknown; `freedom` are its degrees of freedom, infinite if it is given.
    """

    size: float
    freedom: float


def noise_sizes(
    problem: Problem, residuals: F64, leverages: F64, noise: NoiseFinding | None = None
) -> dict[tuple[str, str], NoiseSize]:
    """Return the noise level by experiment and output.

    `residuals` are the whitened ones of the data at the estimate and `leverages` the
    diagonal of the hat matrix, shape (m,). `noise` is the noise model if the noise is
    correlated in time; the fit has then absorbed more of it. If an output has too few
    samples, its sigma is used, else the residuals of all outputs.
    """
    layout = residual_layout(problem)
    whole = _size_of(residuals, leverages)
    sizes = {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows = layout.rows_of(i, j)
            own = _size_of(residuals[rows], leverages[rows])
            if own.freedom < _ENOUGH:
                given = NoiseSize(measurement.weight, np.inf)
                own = whole if measurement.sigma is None else given
            elif noise is not None and noise.coloured and noise.sums is None:
                own = _modelled(noise.model, int(rows[0])) or own
            sizes[experiment.name, measurement.name] = own
    return sizes


def _modelled(model: NoiseModel, row: int) -> NoiseSize | None:
    """Return the noise level from the autoregression and waves of the output of a residual.

    The degrees of freedom are the number of independent samples equivalent to the
    correlated squares (Bartlett 1946).
    """
    for output, fit in zip(model.outputs, model.fits, strict=True):
        if not any(bool(np.any(s.rows == row)) for s in output.series):
            continue
        covariance = autocovariance(fit.partial, min(output.size, _LAGS))
        shares = covariance[1:] / covariance[0]
        count = output.size / (1.0 + 2.0 * float(shares @ shares))
        smooth = fit.deviation**2 * float(covariance[0])
        waves = sum(0.5 * w.amplitude**2 for w in model.waves if bool(np.any(w.rows == row)))
        return NoiseSize(float(np.sqrt(smooth + waves)), max(count, 1.0))
    return None


def _size_of(residuals: F64, leverages: F64) -> NoiseSize:
    freedom = float(residuals.size - np.sum(leverages))
    if freedom < 1.0:
        return NoiseSize(float("nan"), max(freedom, 0.0))
    return NoiseSize(float(np.sqrt(residuals @ residuals / freedom)), freedom)
