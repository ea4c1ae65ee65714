"""Scores of an estimate for the fold that was left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.cross_validation.folds import Fold
from fmident.cross_validation.result import FoldResult, OutputScore
from fmident.estimation.result import EstimationResult, OutputFit

if TYPE_CHECKING:
    from fmident.arrays import F64
    from fmident.problem.model import Problem

_USABLE = ("converged", "limit")


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
