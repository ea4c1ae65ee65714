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
    """Outputs that an estimate predicts, with bands of their mean and of new samples.

    Parameters
    ----------
    source
        Where the uncertainty of the parameters comes from.
    level
        Probability of the bands.
    new, fitted
        Outputs of experiments that were not fitted, and of those that were.
    draws
        Draws of the parameters that were simulated; 0 where it is linearised.
    failures
        How many of them could not be.
    simulations, seconds
        What it took.
    notes
        What the user should know.
    settings
        For the record.
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
        """Draw outputs with the bands of their mean and of new samples, with Matplotlib.

        Parameters
        ----------
        output, experiment
            Names; all by default.
        ax
            Axes to draw on, one for each output of each experiment; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,), first those of new experiments.

        Raises
        ------
        fmident.errors.EstimationError
            There is nothing of these names, or another number of axes.
        """
        drawn: npt.NDArray[np.object_] = view("plot_bands")(
            [*self.new, *self.fitted], self.level, output, experiment, ax
        )
        return drawn

    @property
    def samples(self) -> int:
        """Measured samples of experiments that were not fitted, for which there are bands."""
        return sum(b.samples for b in self.new)

    @property
    def inside(self) -> int:
        """How many of them lie inside of the bands of new samples."""
        return sum(b.inside for b in self.new)

    @property
    def table(self) -> pd.DataFrame:
        """All bands: a row for each output and instant."""
        return band_table([*self.new, *self.fitted])
