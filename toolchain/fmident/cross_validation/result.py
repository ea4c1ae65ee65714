"""Result of a cross-validation as immutable data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.cross_validation.folds import Fold, Way
from fmident.estimation.result import EstimationResult
from fmident.views import view

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class OutputScore:
    """Predictions of one output of one experiment in one fold.

    `times`, `measured` and `predicted` are those of the samples left out, shape (k,).
    `sigma` is the standard deviation of the noise, given or estimated, shape (k,), NaN if
    unknown; `spread` is that of the measured values of this output in its whole experiment.
    """

    experiment: str
    output: str
    unit: str | None
    times: F64
    measured: F64
    predicted: F64
    sigma: F64
    spread: float

    @property
    def rms(self) -> float:
        """Root mean square of the prediction error."""
        return float(np.sqrt(np.mean((self.measured - self.predicted) ** 2)))

    @property
    def nrmse(self) -> float:
        """The same relative to `spread`: predicting the mean would give 1."""
        return self.rms / self.spread if self.spread > 0.0 else float("nan")

    @property
    def log_likelihood(self) -> float:
        """Logarithm of the probability density of the samples, assumed independent."""
        whitened = (self.measured - self.predicted) / self.sigma
        return float(-0.5 * np.sum(np.log(2.0 * np.pi * self.sigma**2) + whitened**2))


@dataclass(frozen=True, eq=False)
class FoldResult:
    """One fold of one model.

    `scores` has one item per output, `values` and `errors` the estimates without the fold
    and their standard errors by parameter, and `status` is that of the estimation. After a
    failure, `scores` is empty and `failure` says why.
    """

    fold: Fold
    scores: tuple[OutputScore, ...]
    values: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, float] = field(default_factory=dict)
    status: str = ""
    failure: str = ""

    @property
    def samples(self) -> int:
        """Number of predicted samples."""
        return sum(s.times.size for s in self.scores)

    @property
    def nrmse(self) -> float:
        """Root mean square of the NRMSE of the outputs; NaN without one."""
        known = [s.nrmse**2 for s in self.scores if np.isfinite(s.nrmse)]
        return float(np.sqrt(np.mean(known))) if known else float("nan")

    @property
    def log_likelihood(self) -> float:
        """Mean log-likelihood per sample."""
        if not self.samples:
            return float("nan")
        return sum(s.log_likelihood for s in self.scores) / self.samples


@dataclass(frozen=True, eq=False)
class ModelFolds:
    """The folds of one model that were run, and its estimate from all samples (`full`)."""

    name: str
    full: EstimationResult
    folds: tuple[FoldResult, ...]

    @property
    def searched(self) -> int:
        """Number of searched parameters."""
        return sum(e.searched for e in self.full.estimates)


@dataclass(frozen=True, repr=False)
class CrossValidation:
    """Result of a cross-validation.

    Parameters
    ----------
    status
        ``"complete"`` or ``"interrupted"``.
    way
        What was left out: whole experiments, or blocks in time.
    gap
        Samples closer than this to a block were not fitted either, s.
    folds
        All folds, in order.
    models
        In the order given.
    simulations
        Of all fits and predictions, including those read from a journal.
    seconds
        Wall time.
    """

    status: Literal["complete", "interrupted"]
    way: Way
    gap: float
    folds: tuple[Fold, ...]
    models: tuple[ModelFolds, ...]
    simulations: int
    seconds: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<CrossValidation {self.status}: {len(self.folds)} folds of {names}>"

    def __str__(self) -> str:
        """Return headline, tables and notes."""
        text: str = view("CROSS_VALIDATION").summary(self)
        return text

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks."""
        html: str = view("CROSS_VALIDATION").view(self)
        return html

    def plot_scores(self, *, ax: Any = None) -> npt.NDArray[np.object_]:
        """Plot NRMSE and, if available, log-likelihood over the folds, with Matplotlib.

        Parameters
        ----------
        ax
            Axes to draw on, one for each score; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            The number of axes differs.
        """
        drawn: npt.NDArray[np.object_] = view("plot_scores")(self, ax)
        return drawn

    def plot_parameters(self, *, ax: Any = None) -> npt.NDArray[np.object_]:
        """Plot each searched parameter over the folds, with its estimate from all samples.

        Parameters
        ----------
        ax
            Axes to draw on, one for each parameter; a new figure by default.

        Returns
        -------
        ndarray of matplotlib.axes.Axes
            Shape (n,).

        Raises
        ------
        fmident.errors.EstimationError
            There is nothing to draw, or the number of axes differs.
        """
        drawn: npt.NDArray[np.object_] = view("plot_parameters")(self, ax)
        return drawn

    @property
    def scores(self) -> pd.DataFrame:
        """One row per model, fold and output: samples, RMS, NRMSE, log-likelihood."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        columns = ["model", "fold", "experiment", "output", "samples", "rms", "nrmse",
                   "log_likelihood", "unit"]  # fmt: skip
        return pd.DataFrame(
            [
                (m.name, f.fold.name, s.experiment, s.output, s.times.size, s.rms, s.nrmse,
                 s.log_likelihood, s.unit)
                for m, f in self._folds()
                for s in f.scores
            ],
            columns=columns,
        )  # fmt: skip

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per model, fold and parameter; the fold ``""`` is the fit to all samples."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        rows: list[tuple[str, str, str, float, float]] = []
        for m in self.models:
            rows += [
                (m.name, "", e.name, e.value, e.standard_error)
                for e in m.full.estimates
                if e.searched
            ]
            rows += [
                (m.name, f.fold.name, name, value, f.errors[name])
                for f in m.folds
                for name, value in f.values.items()
            ]
        return pd.DataFrame(rows, columns=["model", "fold", "parameter", "value", "standard_error"])

    @property
    def predictions(self) -> pd.DataFrame:
        """One row per model, fold and sample left out."""
        import pandas as pd  # here, since it is slow to import and seldom needed

        parts = [
            pd.DataFrame(
                {
                    "model": m.name,
                    "fold": f.fold.name,
                    "experiment": s.experiment,
                    "output": s.output,
                    "time": s.times,
                    "measured": s.measured,
                    "predicted": s.predicted,
                    "sigma": s.sigma,
                }
            )
            for m, f in self._folds()
            for s in f.scores
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()

    def _folds(self) -> Sequence[tuple[ModelFolds, FoldResult]]:
        return [(m, f) for m in self.models for f in m.folds]
