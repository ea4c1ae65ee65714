"""How large the noise of an output is, as its residuals show."""

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
    """Noise of one output of one experiment.

    Parameters
    ----------
    size
        Root mean square of the whitened residuals, for the degrees of freedom; NaN where nothing
        is known.
    freedom
        With which it is known; infinite where it is given.
    """

    size: float
    freedom: float


def noise_sizes(
    problem: Problem, residuals: F64, leverages: F64, noise: NoiseFinding | None = None
) -> dict[tuple[str, str], NoiseSize]:
    """Return the noise of each output, by experiment and output.

    Where an output has too few samples, its sigma counts, else the residuals of all outputs.

    Parameters
    ----------
    problem
        With the measurements.
    residuals
        Whitened, at the estimate, of the data, shape (m,).
    leverages
        What each of them has lost to the fit: diagonal of the hat matrix, shape (m,).
    noise
        Its model, where it is correlated in time: the fit has then taken more of it.
    """
    layout = residual_layout(problem)
    whole = _size_of(residuals, leverages)
    found = {}
    for i, experiment in enumerate(problem.experiments):
        for j, measurement in enumerate(experiment.measurements):
            rows = layout.rows_of(i, j)
            own = _size_of(residuals[rows], leverages[rows])
            if own.freedom < _ENOUGH:
                given = NoiseSize(measurement.weight, np.inf)
                own = whole if measurement.sigma is None else given
            elif noise is not None and noise.coloured and noise.sums is None:
                own = _modelled(noise.model, int(rows[0])) or own
            found[experiment.name, measurement.name] = own
    return found


def _modelled(model: NoiseModel, row: int) -> NoiseSize | None:
    """Return the noise by autoregression and waves of the output that has a residual.

    Its variance is known as by so many independent samples as there are squares that are not
    correlated (Bartlett 1946).
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
