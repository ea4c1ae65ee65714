"""A model, its problem, and estimators made of a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from fmident.estimation import Estimate, Estimator
from fmident.evaluation import python_problem
from fmident.problem.model import Parameter, Problem

TIMES = np.linspace(0.0, 3.0, 61)


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
