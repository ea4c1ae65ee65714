"""Result of a bootstrap as immutable data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.prediction import OutputBand
from fmident.resampling.schemes import Method, Weights
from fmident.views import view

if TYPE_CHECKING:
    import pandas as pd

Status = Literal["complete", "interrupted"]


@dataclass(frozen=True)
class BootstrapParameter:
    """Bootstrap statistics of one parameter.

    Parameters
    ----------
    standard_error
        Standard deviation of the replicates; NaN if the data do not determine the
        parameter.
    bias
        Mean of the replicates minus the estimate.
    percentile, bca
        Intervals; NaN for an end beyond all replicates, infinite if the data do not
        determine the parameter.
    linearised_error, linearised
        Standard error and interval from the Jacobian, for independent noise.
    result_error, result_interval
        Those of the initial result, 95 %, with its noise model; NaN if it has none.
    acceleration
        Acceleration of the BCa interval.
    """

    name: str
    unit: str | None
    value: float
    bounds: tuple[float, float]
    standard_error: float
    bias: float
    percentile: tuple[float, float]
    bca: tuple[float, float]
    linearised_error: float
    linearised: tuple[float, float]
    acceleration: float
    result_error: float = float("nan")
    result_interval: tuple[float, float] = (float("nan"), float("nan"))


@dataclass(frozen=True)
class FailedReplicate:
    """A replicate without an estimate: its number, and the reason."""

    number: int
    reason: str


@dataclass(frozen=True, repr=False)
class BootstrapResult:
    """Estimates of replicates of the data, and derived statistics.

    Parameters
    ----------
    status
        ``"interrupted"`` after Ctrl-C, with the replicates so far.
    method
        How the noise of the replicates was generated.
    reason
        Why this method was used.
    level
        Probability of the intervals and bands.
    wanted
        Requested number of replicates.
    seed
        Seed of the random numbers.
    parameters
        One item per free parameter.
    covariance, correlation
        Of the replicates, shape (n, n), physical units.
    numbers
        Numbers of the fitted replicates, shape (b,).
    replicates
        Their estimates, shape (b, n), in physical units.
    costs
        Their costs, shape (b,).
    failed
        Replicates without an estimate.
    bands
        Bands of the fitted outputs.
    weights
        Factors of the wild bootstrap; ``None`` for the other methods.
    block_lengths
        Lengths of the moving blocks, by experiment and output, in samples.
    simulations, jacobians, seconds
        Computational effort.
    modelled
        Whether outputs have a noise model, on which the linearised values are then based.
    """

    status: Status
    method: Method
    reason: str
    level: float
    wanted: int
    seed: int
    parameters: tuple[BootstrapParameter, ...]
    covariance: F64
    correlation: F64
    numbers: npt.NDArray[np.intp]
    replicates: F64
    costs: F64
    failed: tuple[FailedReplicate, ...]
    bands: tuple[OutputBand, ...]
    weights: Weights | None
    block_lengths: Mapping[str, int]
    simulations: int
    jacobians: int
    seconds: float
    notes: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    modelled: bool = False

    def __repr__(self) -> str:
        return (
            f"<BootstrapResult {self.status}: {len(self.numbers)} replicates by '{self.method}' of "
            f"{', '.join(p.name for p in self.parameters)}>"
        )

    def __str__(self) -> str:
        """Return headline, table of intervals and notes."""
        text: str = view("BOOTSTRAP").summary(self)
        return text

    def _repr_html_(self) -> str:
        html: str = view("BOOTSTRAP").view(self)
        return html

    def plot_replicates(
        self, name: str | None = None, *, ax: Any = None
    ) -> npt.NDArray[np.object_]:
        """Plot histograms of the replicates with the linearised densities, with Matplotlib.

        Parameters
        ----------
        name
            Name of a parameter; all by default.
        ax
            Axes to draw on, one for each parameter; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            There is no such parameter, or the number of axes differs.
        """
        drawn: npt.NDArray[np.object_] = view("plot_replicates")(self, name, ax)
        return drawn

    def plot_corner(self, *, ax: Any = None) -> npt.NDArray[np.object_]:
        """Plot the replicates of each pair of parameters, and their histograms.

        Parameters
        ----------
        ax
            n x n axes to draw on, for n parameters (10 at most); a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Row by row, shape (n * n,); those above the diagonal are empty.

        Raises
        ------
        fmident.errors.EstimationError
            The number of axes differs.
        """
        drawn: npt.NDArray[np.object_] = view("plot_replicates_corner")(self, ax)
        return drawn

    def plot_bands(
        self, output: str | None = None, *, experiment: str | None = None, ax: Any = None
    ) -> npt.NDArray[np.object_]:
        """Plot fitted outputs with their bands, like ``Prediction.plot_bands``."""
        drawn: npt.NDArray[np.object_] = view("plot_bands")(
            self.bands, self.level, output, experiment, ax
        )
        return drawn

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def intervals(self) -> pd.DataFrame:
        """One row per parameter, indexed by name."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        parameters = self.parameters
        columns: dict[str, list[Any]] = {
            "value": [p.value for p in parameters],
            "standard_error": [p.standard_error for p in parameters],
            "bias": [p.bias for p in parameters],
        }
        for name in ("bca", "percentile", "linearised", "result_interval"):
            for end, words in enumerate(("low", "high")):
                columns[f"{name}_{words}"] = [getattr(p, name)[end] for p in parameters]
        columns["unit"] = [p.unit for p in parameters]
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    @property
    def table(self) -> pd.DataFrame:
        """The replicates, one row each: number, cost, parameters."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        columns = {name: self.replicates[:, j] for j, name in enumerate(self.names)}
        return pd.DataFrame({"replicate": self.numbers, "cost": self.costs, **columns})
