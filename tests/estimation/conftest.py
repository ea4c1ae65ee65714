"""A model, its problem, and estimators made of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fmident.estimation import Estimate, EstimationResult, Estimator, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem

TIMES = np.linspace(0.0, 3.0, 61)

GOOD = np.array([2.0, 1.3])
"""Where the model of these tests has its least cost."""


@dataclass(frozen=True)
class NoOptions:
    """None."""


@pytest.fixture
def model() -> Callable[..., dict[str, np.ndarray]]:
    def decay(times: np.ndarray, inputs: object, a: float, k: float) -> dict[str, np.ndarray]:
        return {"y": a * np.exp(-k * times)}

    return decay


@pytest.fixture
def problem(model: Callable[..., dict[str, np.ndarray]]) -> Problem:
    noise = 0.05 * np.random.default_rng(0).normal(size=TIMES.size)
    parameters = [
        Parameter("a", 1.0, 0.0, 10.0, variable="a", unit="m"),
        Parameter("k", 0.5, 0.0, 5.0, variable="k", unit="1/s"),
    ]
    return python_problem(
        {"y": model(TIMES, {}, 2.0, 1.3)["y"] + noise}, TIMES, parameters, sigma=0.05
    )


@pytest.fixture
def estimator_of() -> Callable[[Callable[..., Any]], Estimator[NoOptions]]:
    """Return an estimator whose ``estimate`` is a function (problem, evaluator, monitor)."""

    def make(function: Callable[..., Any]) -> Estimator[NoOptions]:
        class Scripted(Estimator[NoOptions]):
            name: ClassVar[str] = "scripted"
            options_type: ClassVar[type[NoOptions]] = NoOptions

            def estimate(self, problem, evaluator, options, monitor) -> Estimate:
                return function(problem, evaluator, monitor)

        return Scripted()

    return make


@pytest.fixture
def run(problem: Problem, model: Any, estimator_of: Any) -> Callable[..., EstimationResult]:
    def run_it(
        function: Callable[..., Any],
        observers: Any = (),
        model: Any = model,
        problem: Problem = problem,
        options: Any = None,
    ) -> EstimationResult:
        evaluator = Evaluator(problem, PythonExecutor(problem, model))
        return run_estimation(problem, evaluator, estimator_of(function), options or {}, observers)

    return run_it


def answer(problem, evaluator, monitor) -> Estimate:
    monitor.iteration(problem.initial, evaluator.cost(problem.initial))
    monitor.iteration(GOOD, evaluator.cost(GOOD), extra=1)
    return Estimate(GOOD, "converged", "found it")
