"""Combinations of parameters, named as what they are after an estimation."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter
from fmident.statistics import Identifiability
from fmident_estimators.least_squares import LeastSquares

TIMES = np.linspace(0.0, 4.0, 41)
Model = Callable[..., Mapping[str, np.ndarray]]


def judged(model: Model, truth: Mapping[str, float]) -> Identifiability:
    measured = model(TIMES, {}, **truth)["y"] + 1e-3 * np.sin(37.0 * TIMES)
    parameters = [Parameter(n, 1.2 * v, variable=n, scale=abs(v)) for n, v in truth.items()]
    problem = python_problem({"y": measured}, TIMES, parameters)
    with Evaluator(problem, PythonExecutor(problem, model)) as evaluator:
        found = run_estimation(problem, evaluator, LeastSquares()).identifiability
    assert found is not None
    return found


def two_walls(times: np.ndarray, inputs: object, R1: float, R2: float, C: float) -> object:
    rate = 1.0 / (R1 * C) + 1.0 / (R2 * C)
    level = (20.0 / (R1 * C) + 5.0 / (R2 * C)) / rate
    return {"y": level * (1.0 - np.exp(-rate * times))}


def test_products_are_named_as_products() -> None:
    found = judged(two_walls, {"R1": 2.0, "R2": 3.0, "C": 0.7})
    assert found.rank == 2
    assert found.verdict == (
        "Rank 2 of 3. R1, R2 and C cannot be told apart; only R1*C and R2*C are determined."
    )
    assert [c.text for c in found.determined] == ["R1*C", "R2*C"]


def test_sums_are_named_as_sums() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a + 2.0 * b) * np.exp(-k * times)}

    found = judged(model, {"a": 1.0, "b": 0.5, "k": 0.4})
    assert "only a + 2*b is determined" in found.verdict
    assert "near these values" not in found.verdict


def test_a_combination_that_is_neither_is_claimed_nearby_only() -> None:
    def model(times, inputs, a, b, k):
        return {"y": (a**2 + np.exp(b)) * np.exp(-k * times)}

    found = judged(model, {"a": 1.0, "b": 1.3, "k": 0.4})
    assert found.rank == 2
    assert found.verdict.endswith(
        "This holds near these values only: farther away other combinations are determined."
    )


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_turn_a_product_into_something_else(unit: float) -> None:
    def model(times, inputs, k, m):
        return {"y": np.cos(np.sqrt(k / m) * times)}

    found = judged(model, {"k": 4.0 * unit, "m": 3.0 * unit})
    assert [c.text for c in found.determined] == ["k/m"]
