"""Result of a cross-validation: scores, differences between models, variation of parameters.

The standard error of a mean over folds assumes independent folds. Since they share most
of the fitted data, no unbiased estimate exists (Y. Bengio and Y. Grandvalet, Journal of
Machine Learning Research 5, 2004); it is rather too small. Differences between models
are taken per fold, so that the common difficulty of a fold cancels.

The selected model has the fewest parameters among those within one standard error of
the best score (L. Breiman, J. Friedman, C. Stone, R. Olshen, Classification and
Regression Trees, 1984, section 3.4.3), using the standard error of the difference.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.cross_validation.folds import Fold, Way
from fmident.estimation.comparisons import OutputFit
from fmident.estimation.result import EstimationResult
from fmident.findings import Finding, Noted
from fmident.problem.model import Problem
from fmident.views import Panels, frame, plot, stacked

if TYPE_CHECKING:
    import pandas as pd


Score = Literal["log_likelihood", "nrmse"]


_USABLE = ("converged", "limit")


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

    @property
    def predicted(self) -> list[FoldResult]:
        """The folds that were predicted."""
        return [f for f in self.folds if not f.failure]


@dataclass(frozen=True, repr=False)
class CrossValidation(Noted):
    """Result of a cross-validation.

    `way` says what was left out, and samples closer than `gap` to a block were not fitted either,
    s. `simulations` counts those of fits and predictions, and those read from a journal.
    """

    contents: ClassVar[str] = "CROSS_VALIDATION"
    status: Literal["complete", "interrupted"]
    way: Way
    gap: float
    folds: tuple[Fold, ...]
    models: tuple[ModelFolds, ...]
    simulations: int
    seconds: float
    findings: tuple[Finding, ...] = ()

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self.models)
        return f"<CrossValidation {self.status}: {len(self.folds)} folds of {names}>"

    def plot_scores(self, *, ax: Any = None) -> Panels:
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
        return plot("plot_scores", self, ax)

    def plot_parameters(self, *, ax: Any = None) -> Panels:
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
        return plot("plot_parameters", self, ax)

    @property
    def scores(self) -> pd.DataFrame:
        """One row per model, fold and output: samples, RMS, NRMSE, log-likelihood."""
        columns = ["model", "fold", "experiment", "output", "samples", "rms", "nrmse",
                   "log_likelihood", "unit"]  # fmt: skip
        return frame(
            [
                (m.name, f.fold.name, s.experiment, s.output, s.times.size, s.rms, s.nrmse,
                 s.log_likelihood, s.unit)
                for m, f in self._folds()
                for s in f.scores
            ],
            columns,
        )  # fmt: skip

    @property
    def parameters(self) -> pd.DataFrame:
        """One row per model, fold and parameter; the fold ``""`` is the fit to all samples."""
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
        return frame(rows, ["model", "fold", "parameter", "value", "standard_error"])

    @property
    def predictions(self) -> pd.DataFrame:
        """One row per model, fold and sample left out."""
        parts = [
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
            for m, f in self._folds()
            for s in f.scores
        ]
        return stacked(parts)

    def _folds(self) -> Sequence[tuple[ModelFolds, FoldResult]]:
        return [(m, f) for m in self.models for f in m.folds]


@dataclass(frozen=True)
class ModelSummary:
    """Scores of one model over its folds.

    `searched` is the number of searched parameters and `folds` that of predicted folds.
    `nrmse` and `log_likelihood` (per sample) are means over folds with standard errors.
    `worse` is the deficit of the log-likelihood per sample relative to the best model,
    averaged over their common folds, or without a likelihood the excess of the NRMSE.
    """

    name: str
    searched: int
    folds: int
    nrmse: float
    nrmse_error: float
    log_likelihood: float
    log_likelihood_error: float
    worse: float
    worse_error: float

    @property
    def close(self) -> bool:
        """Whether it is the best or within one standard error of it."""
        return self.worse <= 0.0 or self.worse <= self.worse_error


@dataclass(frozen=True)
class ParameterSpread:
    """Variation of one parameter when parts of the data are left out.

    `value` and `error` are the estimate from all samples and its standard error, `low` and
    `high` the extremes over the folds. `jackknife` is the delete-a-group jackknife standard
    error, ``sqrt((K-1)/K sum (p_k - mean)^2)`` (M. H. Quenouille, Biometrika 43, 1956; for
    contiguous blocks: H. R. Kuensch, Annals of Statistics 17, 1989), which does not assume
    white noise.
    """

    name: str
    unit: str | None
    value: float
    error: float
    low: float
    high: float
    jackknife: float

    @property
    def ratio(self) -> float:
        """The jackknife's standard error over that of the fit; near 1 if the latter is right."""
        return self.jackknife / self.error if self.error > 0.0 else math.nan


def summarised(result: CrossValidation) -> tuple[ModelSummary, ...]:
    """Return the scores of each model, in the order of the models."""
    score = score_of(result)
    means = [_mean([getattr(f, score) for f in m.predicted]) for m in result.models]
    ranked = [m if score == "log_likelihood" else -m for m, _ in means]
    known = [k for k, m in enumerate(ranked) if math.isfinite(m)]
    best = max(known, key=lambda k: ranked[k]) if known else None
    summaries = []
    for model in result.models:
        folds = model.predicted
        nrmse = _mean([f.nrmse for f in folds])
        likelihood = _mean([f.log_likelihood for f in folds])
        worse = (math.nan, math.nan)
        if best is not None:
            worse = _difference(result.models[best], model, score)
        summaries.append(
            ModelSummary(model.name, model.searched, len(folds), *nrmse, *likelihood, *worse)
        )
    return tuple(summaries)


def score_of(result: CrossValidation) -> Score:
    """Return the ranking score: the likelihood if every fold has one."""
    folds = [f for m in result.models for f in m.predicted]
    known = bool(folds) and all(math.isfinite(f.log_likelihood) for f in folds)
    return "log_likelihood" if known else "nrmse"


def verdict(result: CrossValidation) -> str:
    """Return which model predicts best, and which is equivalent with fewer parameters."""
    summaries = summarised(result)
    if len(summaries) < 2:
        return ""
    known = [s for s in summaries if math.isfinite(s.worse)]
    if not known:
        return "Nothing was predicted by which models could be compared."
    best = min(known, key=lambda s: s.worse)
    close = [s for s in known if s.close]
    least = min(close, key=lambda s: (s.searched, s.worse))
    if least.name == best.name:
        return f"'{best.name}' predicts best, and no model with fewer parameters does as well."
    return (
        f"'{best.name}' predicts best, '{least.name}' as well within one standard error of the"
        f" difference, with {least.searched} parameters in place of {best.searched}: take"
        f" '{least.name}'."
    )


def parameter_spreads(model: ModelFolds) -> tuple[ParameterSpread, ...]:
    """Return the variation of each searched parameter between folds."""
    folds, spreads = model.predicted, []
    for e in model.full.estimates:
        values = np.array([f.values[e.name] for f in folds if e.name in f.values])
        if not e.searched or values.size < 2:
            continue
        around = float(np.sum((values - values.mean()) ** 2))
        spreads.append(
            ParameterSpread(
                e.name,
                e.unit,
                e.value,
                e.standard_error,
                float(values.min()),
                float(values.max()),
                math.sqrt((values.size - 1) / values.size * around),
            )
        )
    return tuple(spreads)


def _difference(best: ModelFolds, model: ModelFolds, score: Score) -> tuple[float, float]:
    """Return the mean deficit of a model relative to the best over the folds, and its error."""
    theirs = {f.fold.name: getattr(f, score) for f in best.predicted}
    sign = 1.0 if score == "log_likelihood" else -1.0
    pairs = [
        sign * (theirs[f.fold.name] - getattr(f, score))
        for f in model.predicted
        if f.fold.name in theirs
    ]
    return _mean(pairs)


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and its standard error; NaN if there are too few values."""
    if not values:
        return math.nan, math.nan
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    return mean, float(np.std(values, ddof=1) / math.sqrt(len(values)))


def fold_result(problem: Problem, fold: Fold, found: EstimationResult) -> FoldResult:
    """Return the scores of an estimate on the fold that was left out.

    `found` is the estimate, with its predictions as validation.
    """
    searched = [e for e in found.estimates if e.searched]
    values = {e.name: e.value for e in searched}
    errors = {e.name: e.standard_error for e in searched}
    failure = ""
    if found.status not in _USABLE:
        failure = f"the estimation ended with '{found.status}': {found.message}"
    elif found.validation is None:
        failure = "no sample of it is compared"
    elif found.validation.failures:
        failure = "; ".join(found.validation.failures.values())
    if failure or found.validation is None:
        return FoldResult(fold, (), values, errors, found.status, failure)
    spreads = {
        (e.name, m.name): float(np.nanstd(m.compared))
        for e in problem.experiments
        for m in e.measurements
    }
    noise = _noise(found.fits)
    scores = [
        _score(f, spreads[f.experiment, f.name], noise.get(f.name, float("nan")))
        for f in found.validation.fits
    ]
    return FoldResult(fold, tuple(scores), values, errors, found.status)


def _noise(fits: Sequence[OutputFit]) -> dict[str, float]:
    """Return the root mean square residual of each output over all fitted experiments."""
    squares: dict[str, list[tuple[float, int]]] = {}
    for fit in fits:
        count = int(np.count_nonzero(np.isfinite(fit.measured)))
        if count and np.isfinite(fit.rms):
            squares.setdefault(fit.name, []).append((fit.rms**2 * count, count))
    return {
        name: float(np.sqrt(sum(s for s, _ in parts) / sum(n for _, n in parts)))
        for name, parts in squares.items()
    }


def _score(fit: OutputFit, spread: float, noise: float) -> OutputScore:
    """Return the score of one output; `noise` is the magnitude of its fitted residuals."""
    there = np.isfinite(fit.measured)
    sigma: F64 = fit.sigma[there]
    if not np.isfinite(sigma).all():
        sigma = np.full(sigma.shape, noise)
    return OutputScore(
        fit.experiment,
        fit.name,
        fit.unit,
        fit.times[there],
        fit.measured[there],
        fit.fitted[there],
        sigma,
        spread,
    )
