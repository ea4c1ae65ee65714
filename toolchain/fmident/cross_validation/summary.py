"""Summary over all folds: means, differences between models, variation of parameters.

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
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.cross_validation.result import CrossValidation, FoldResult, ModelFolds

Score = Literal["log_likelihood", "nrmse"]


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
    means = [_mean([getattr(f, score) for f in _predicted(m)]) for m in result.models]
    ranked = [m if score == "log_likelihood" else -m for m, _ in means]
    known = [k for k, m in enumerate(ranked) if math.isfinite(m)]
    best = max(known, key=lambda k: ranked[k]) if known else None
    summaries = []
    for model in result.models:
        folds = _predicted(model)
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
    folds = [f for m in result.models for f in _predicted(m)]
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
    folds = [f for f in model.folds if not f.failure]
    spreads = []
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


def _predicted(model: ModelFolds) -> list[FoldResult]:
    return [f for f in model.folds if not f.failure]


def _difference(best: ModelFolds, model: ModelFolds, score: Score) -> tuple[float, float]:
    """Return the mean deficit of a model relative to the best over the folds, and its error."""
    theirs = {f.fold.name: getattr(f, score) for f in _predicted(best)}
    sign = 1.0 if score == "log_likelihood" else -1.0
    pairs = [
        sign * (theirs[f.fold.name] - getattr(f, score))
        for f in _predicted(model)
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
