"""Predictions as immutable data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.prediction.bands import OutputBand, band_table
from fmident.views import view

if TYPE_CHECKING:
    import pandas as pd

Source = Literal["linearised", "bootstrap", "posterior"]
"""Where the uncertainty of the parameters comes from."""


@dataclass(frozen=True, repr=False)
class Prediction:
    """Outputs predicted by an estimate, with bands of their mean and of new samples.

    Parameters
    ----------
    source
        Origin of the parameter uncertainty.
    level
        Probability of the bands.
    new, fitted
        Outputs of experiments that were not fitted, and of those that were.
    draws
        Number of simulated draws of the parameters; 0 in the linearised case.
    failures
        Number of draws whose simulation failed.
    simulations, seconds
        Computational effort.
    """

    source: Source
    level: float
    new: tuple[OutputBand, ...]
    fitted: tuple[OutputBand, ...]
    draws: int
    failures: int
    simulations: int
    seconds: float
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Prediction {self.source}: {self.inside} of {self.samples} new samples inside>"

    def __str__(self) -> str:
        """Return headline, counts and notes."""
        text: str = view("PREDICTION").summary(self)
        return text

    def _repr_html_(self) -> str:
        html: str = view("PREDICTION").view(self)
        return html

    def plot_bands(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> npt.NDArray[np.object_]:
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
        drawn: npt.NDArray[np.object_] = view("plot_bands")(
            [*self.new, *self.fitted], self.level, output, experiment, ax
        )
        return drawn

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
