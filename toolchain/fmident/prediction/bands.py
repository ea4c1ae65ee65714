r"""Bands around predicted outputs: of the mean, and of new samples.

With the Jacobian :math:`g` of an output at an instant and the covariance :math:`V` of the
parameters the mean is within :math:`\pm t \sqrt{g^T V g}`, and a new sample, with noise of the
standard deviation :math:`s`, within :math:`\pm t \sqrt{g^T V g + s^2}` (Seber and Wild, Nonlinear
Regression, 1989, section 5.1). Draws of the parameters take the place of the first by the
quantiles of what they predict; half widths of mean and noise are then added by their squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.statistics.distributions import student_quantile

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OutputBand:
    """One predicted output with its bands.

    Parameters
    ----------
    experiment, name, unit
        Of the output.
    times
        Shape (k,), s.
    measured
        Shape (k,), in `unit`; NaN where there is no sample.
    predicted
        By the estimate, shape (k,).
    mean_low, mean_high
        Band of the mean, from the uncertainty of the parameters, shape (k,).
    new_low, new_high
        Band of new samples, from that and the noise, shape (k,); NaN where the noise is not known.
    noise
        Standard deviation of the noise, shape (k,); NaN where it is not known.
    """

    experiment: str
    name: str
    unit: str | None
    times: F64
    measured: F64
    predicted: F64
    mean_low: F64
    mean_high: F64
    new_low: F64
    new_high: F64
    noise: F64

    @property
    def samples(self) -> int:
        """Measured samples for which there is a band of new ones."""
        return int(np.count_nonzero(np.isfinite(self.measured) & np.isfinite(self.new_low)))

    @property
    def inside(self) -> int:
        """How many of them lie inside of it."""
        with np.errstate(invalid="ignore"):
            inside = (self.measured >= self.new_low) & (self.measured <= self.new_high)
        return int(np.count_nonzero(inside))


def normal_bands(
    predicted: F64, deviations: F64, noise: F64, freedom: float, level: float
) -> tuple[F64, F64, F64, F64]:
    """Return both bands from standard deviations: the ends of the mean, those of new samples.

    Parameters
    ----------
    predicted, deviations, noise
        The mean, its standard deviation, and that of the noise, shape (k,).
    freedom
        Degrees of freedom of all of them; infinite where they are known.
    level
        Probability of the bands.
    """
    factor = student_quantile(0.5 * (1.0 + level), freedom)
    half, new = factor * deviations, factor * np.hypot(deviations, noise)
    return predicted - half, predicted + half, predicted - new, predicted + new


def drawn_bands(
    predicted: F64, draws: F64, noise: F64, freedom: float, level: float
) -> tuple[F64, F64, F64, F64]:
    """Return both bands from what draws of the parameters predict.

    Parameters
    ----------
    predicted
        By the estimate, shape (k,).
    draws
        Shape (draws, k).
    noise
        Standard deviation of the noise, shape (k,).
    freedom
        Degrees of freedom of the noise; infinite where it is known.
    level
        Probability of the bands.
    """
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0, method="weibull")
    half = student_quantile(0.5 * (1.0 + level), freedom) * noise
    below = predicted - np.hypot(np.maximum(predicted - low, 0.0), half)
    above = predicted + np.hypot(np.maximum(high - predicted, 0.0), half)
    return low, high, below, above


def band_table(bands: Sequence[OutputBand]) -> pd.DataFrame:
    """Return all bands as one table: a row for each output and instant."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    columns = ("measured", "predicted", "mean_low", "mean_high", "new_low", "new_high", "noise")
    tables = [
        pd.DataFrame(
            {
                "experiment": b.experiment,
                "output": b.name,
                "unit": b.unit or "",
                "time": b.times,
                **{name: getattr(b, name) for name in columns},
            }
        )
        for b in bands
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()
