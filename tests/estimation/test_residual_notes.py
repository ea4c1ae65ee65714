"""What the notes say about the size and the colour of the residuals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem.model import Parameter

TIMES = np.linspace(0.0, 3.0, 301)


def line(times: np.ndarray, inputs: object, a: float, b: float) -> dict[str, np.ndarray]:
    return {"y": a + b * times}


@pytest.fixture
def notes_of() -> Callable[..., str]:
    """Return the notes of a fit of a line to a signal."""

    def fit(measured: np.ndarray, sigma: float | None) -> str:
        parameters = [Parameter("a", 0.5, variable="a"), Parameter("b", 0.5, variable="b")]
        problem = python_problem({"y": measured}, TIMES, parameters, sigma=sigma)
        estimator = load_plugins().estimators.get("least-squares")()
        with Evaluator(problem, PythonExecutor(problem, line)) as evaluator:
            return " ".join(run_estimation(problem, evaluator, estimator).notes)

    return fit


def noise(size: float) -> np.ndarray:
    return 1.0 + 2.0 * TIMES + size * np.random.default_rng(0).normal(size=TIMES.size)


def test_data_without_noise_miss_nothing(notes_of: Callable[..., str]) -> None:
    assert "correlated" not in notes_of(noise(0.0), None)
    assert "correlated" in notes_of(noise(0.0) + 0.1 * np.sin(TIMES), None)


def test_sigma_that_is_far_too_large_is_told(notes_of: Callable[..., str]) -> None:
    assert "too wide" in notes_of(noise(0.01), 0.03)
    assert "too wide" not in notes_of(noise(0.01), 0.01)
    assert "too narrow" in notes_of(noise(0.01), 0.003)
