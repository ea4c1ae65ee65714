"""What a fold that was left out is scored by."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fmident.cross_validation.folds import make_folds
from fmident.cross_validation.result import fold_result
from fmident.estimation.comparisons import OutputFit

from .test_folds import experiment, problem


def fit(name: str, rms: float, samples: int) -> OutputFit:
    nothing = np.zeros(100)
    measured = np.where(np.arange(100) < samples, rms, np.nan)
    unknown = np.full(100, np.nan)
    return OutputFit(
        name, "y", None, np.arange(100.0), measured, nothing, nothing, unknown, rms, rms, 1.0
    )


def test_noise_that_is_not_given_is_that_of_all_experiments_that_were_fitted() -> None:
    whole = problem(experiment("one"), experiment("two"), experiment("three"))
    _, folds = make_folds(whole.experiments, "experiments", None)
    found: Any = SimpleNamespace(
        estimates=(),
        status="converged",
        fits=(fit("two", 2.0, 100), fit("three", 0.001, 50)),
        validation=SimpleNamespace(fits=(fit("one", 2.0, 100),), failures={}),
    )
    (score,) = fold_result(whole, folds[0], found).scores
    # Not that of the last one, in which a deviation of 2 would be 2000 times the noise.
    np.testing.assert_allclose(score.sigma, np.sqrt((4.0 * 100 + 1e-6 * 50) / 150))
    assert score.log_likelihood / 100 == pytest.approx(
        -0.5 * np.mean(np.log(2.0 * np.pi * score.sigma**2) + 4.0 / score.sigma**2)
    )
