r"""Predictions: confidence bands of the mean and prediction bands of new samples.

With the Jacobian :math:`g` of an output at an instant and the covariance :math:`V` of
the parameters, the mean lies within :math:`\pm t \sqrt{g^T V g}`, and a new sample,
with noise of standard deviation :math:`s`, within :math:`\pm t \sqrt{g^T V g + s^2}`
(Seber and Wild, Nonlinear Regression, 1989, section 5.1). With draws of the parameters,
quantiles of their predictions replace the former; the half widths of mean and noise are
then added in quadrature.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.findings import Finding, Noted
from fmident.statistics.distributions import student_quantile
from fmident.views import Panels, plot, stacked

if TYPE_CHECKING:
    import pandas as pd


Source = Literal["linearised", "bootstrap", "posterior"]
"""Source of the uncertainty of the parameters."""


@dataclass(frozen=True, repr=False)
class Prediction(Noted):
    """Outputs predicted by an estimate, with bands of their mean and of new samples.

    `new` are outputs of experiments that were not fitted. `draws` of the parameters were simulated,
    none in the linearised case; simulations of `failures` of them failed.
    """

    contents: ClassVar[str] = "PREDICTION"
    source: Source
    level: float
    new: tuple[OutputBand, ...]
    fitted: tuple[OutputBand, ...]
    draws: int
    failures: int
    simulations: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Prediction {self.source}: {self.inside} of {self.samples} new samples inside>"

    def plot_bands(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> Panels:
        """Plot outputs with the bands of their mean and of new samples, with Matplotlib.

        Parameters
        ----------
        output, experiment
            Names; all by default.
        ax
            Axes to draw on, one for each output of each experiment; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,), new experiments first.

        Raises
        ------
        fmident.errors.EstimationError
            There are no such outputs, or the number of axes differs.
        """
        return plot("plot_bands", [*self.new, *self.fitted], self.level, output, experiment, ax)

    @property
    def samples(self) -> int:
        """Number of measured samples with bands in experiments that were not fitted."""
        return sum(b.samples for b in self.new)

    @property
    def inside(self) -> int:
        """Number of these samples inside the bands of new samples."""
        return sum(b.inside for b in self.new)

    @property
    def table(self) -> pd.DataFrame:
        """All bands: a row for each output and instant."""
        return band_table([*self.new, *self.fitted])


@dataclass(frozen=True, eq=False)
class OutputBand:
    """One predicted output with its bands, shape (k,) each.

    Parameters
    ----------
    measured
        In `unit`; NaN for a missing sample.
    mean_low, mean_high
        Band of the mean, from the uncertainty of the parameters.
    new_low, new_high
        Band of new samples, which includes the noise; NaN if the noise is unknown.
    noise
        Standard deviation of the noise; NaN if unknown.
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
        """Number of measured samples with a band of new samples."""
        return int(np.count_nonzero(np.isfinite(self.measured) & np.isfinite(self.new_low)))

    @property
    def inside(self) -> int:
        """Number of these samples inside the band."""
        with np.errstate(invalid="ignore"):
            inside = (self.measured >= self.new_low) & (self.measured <= self.new_high)
        return int(np.count_nonzero(inside))


def normal_bands(
    predicted: F64, deviations: F64, noise: F64, freedom: float, level: float
) -> tuple[F64, F64, F64, F64]:
    """Return the limits of both bands, mean then new samples, from standard deviations.

    `predicted` is the mean, `deviations` its standard deviation and `noise` that of the
    noise, shape (k,). `freedom` are the degrees of freedom of all of them, infinite if they
    are known; `level` is the probability of the bands.
    """
    factor = student_quantile(0.5 * (1.0 + level), freedom)
    half, new = factor * deviations, factor * np.hypot(deviations, noise)
    return predicted - half, predicted + half, predicted - new, predicted + new


def drawn_bands(
    predicted: F64, draws: F64, noise: F64, freedom: float, level: float
) -> tuple[F64, F64, F64, F64]:
    """Return the limits of both bands from predictions of parameter draws.

    `predicted` is the prediction of the estimate, shape (k,), `draws` are those of the
    draws, shape (draws, k), and `noise` is the standard deviation of the noise, shape (k,),
    with `freedom` degrees of freedom, infinite if it is known. `level` is the probability
    of the bands.
    """
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(draws, [tail, 1.0 - tail], axis=0, method="weibull")
    half = student_quantile(0.5 * (1.0 + level), freedom) * noise
    below = predicted - np.hypot(np.maximum(predicted - low, 0.0), half)
    above = predicted + np.hypot(np.maximum(high - predicted, 0.0), half)
    return low, high, below, above


def band_table(bands: Sequence[OutputBand]) -> pd.DataFrame:
    """Return all bands as a table with a row per output and instant."""
    columns = ("measured", "predicted", "mean_low", "mean_high", "new_low", "new_high", "noise")
    parts = [
        {
            "experiment": b.experiment,
            "output": b.name,
            "unit": b.unit or "",
            "time": b.times,
            **{name: getattr(b, name) for name in columns},
        }
        for b in bands
    ]
    return stacked(parts)
