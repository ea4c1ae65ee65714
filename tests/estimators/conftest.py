"""Small problems with Python models that every estimator test can use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from fmident.estimation import EstimationResult, Estimator, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem

TIMES = np.linspace(0.0, 3.0, 61)


@pytest.fixture
def times() -> np.ndarray:
    return TIMES


@pytest.fixture
def make_problem() -> Callable[..., Problem]:
    """Problem from a model, its true values and parameters, with noise of size sigma."""

    def make(
        model: Callable[..., Mapping[str, np.ndarray]],
        truth: Mapping[str, float],
        parameters: Sequence[Parameter],
        *,
        noise: float = 0.0,
        sigma: float | None = 0.05,
        times: np.ndarray = TIMES,
        seed: int = 0,
    ) -> Problem:
        rng = np.random.default_rng(seed)
        clean = model(times, {}, **truth)
        measured = {
            name: np.asarray(y) + noise * rng.normal(size=times.size) for name, y in clean.items()
        }
        return python_problem(measured, times, parameters, sigma=sigma)

    return make


@pytest.fixture
def run() -> Callable[..., EstimationResult]:
    """Run an estimator on a problem with a Python model."""

    def run_it(
        problem: Problem,
        model: Callable[..., Mapping[str, np.ndarray]],
        estimator: Estimator[Any],
        options: Mapping[str, Any] | None = None,
        observers: Sequence[Any] = (),
    ) -> EstimationResult:
        with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
            return run_estimation(problem, evaluator, estimator, options or {}, observers)

    return run_it
