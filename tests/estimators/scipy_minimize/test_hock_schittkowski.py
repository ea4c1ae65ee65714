"""Constrained sums of squares of Hock and Schittkowski (Test Examples for Nonlinear Programming
Codes, 1981), with the solutions printed there."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.estimation import run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Parameter, read_constraint

Residuals = Callable[[np.ndarray], list[float]]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    residuals: Residuals
    start: tuple[float, ...]
    constraints: tuple[str, ...]
    cost: float
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    solution: tuple[float, ...] = ()


ROOT2 = np.sqrt(2.0)
CASES = [
    Case(
        "HS6", lambda x: [1.0 - x[0]], (-1.2, 1.0), ("10*(x2 - x1^2) = 0",), 0.0,
        solution=(1.0, 1.0),
    ),
    Case(
        "HS14", lambda x: [x[0] - 2.0, x[1] - 1.0], (2.0, 2.0),
        ("0.25*x1^2 + x2^2 <= 1", "x1 - 2*x2 = -1"), 9.0 - 2.875 * np.sqrt(7.0),
        solution=(0.5 * (np.sqrt(7.0) - 1.0), 0.25 * (np.sqrt(7.0) + 1.0)),
    ),
    Case(
        "HS22", lambda x: [x[0] - 2.0, x[1] - 1.0], (2.0, 2.0),
        ("x1 + x2 <= 2", "x2 >= x1^2"), 1.0, solution=(1.0, 1.0),
    ),
    Case(
        "HS42", lambda x: [x[0] - 1.0, x[1] - 2.0, x[2] - 3.0, x[3] - 4.0], (1.0, 1.0, 1.0, 1.0),
        ("x1 = 2", "x3^2 + x4^2 = 2"), 28.0 - 10.0 * ROOT2,
        solution=(2.0, 2.0, 0.6 * ROOT2, 0.8 * ROOT2),
    ),
    Case(
        "HS48", lambda x: [x[0] - 1.0, x[1] - x[2], x[3] - x[4]], (3.0, 5.0, -3.0, 2.0, -2.0),
        ("x1 + x2 + x3 + x4 + x5 = 5", "x3 - 2*(x4 + x5) = -3"), 0.0,
    ),
    Case(
        "HS65", lambda x: [x[0] - x[1], (x[0] + x[1] - 10.0) / 3.0, x[2] - 5.0], (-5.0, 5.0, 0.0),
        ("x1^2 + x2^2 + x3^2 <= 48",), 0.9535288567, (-4.5, -4.5, -5.0), (4.5, 4.5, 5.0),
        (3.650461821, 3.65046169, 4.6204170507),
    ),
    Case(
        "HS77",
        lambda x: [x[0] - 1.0, x[0] - x[1], x[2] - 1.0, (x[3] - 1.0) ** 2, (x[4] - 1.0) ** 3],
        (2.0, 2.0, 2.0, 2.0, 2.0),
        ("x1^2*x4 + sin(x4 - x5) = 2*sqrt(2)", "x2 + x3^4*x4^2 = 8 + sqrt(2)"), 0.24150513,
        solution=(1.166172, 1.182111, 1.380257, 1.506036, 0.6109203),
    ),
]  # fmt: skip


@pytest.mark.parametrize("method", ["trust-constr", "SLSQP"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_printed_solution_is_found(case: Case, method: str) -> None:
    count = len(case.start)

    def model(times: np.ndarray, inputs: Any, **x: float) -> dict[str, np.ndarray]:
        return {"y": -np.array(case.residuals(np.array([x[f"x{j + 1}"] for j in range(count)])))}

    size = len(case.residuals(np.array(case.start)))
    lower = case.lower or (-np.inf,) * count
    upper = case.upper or (np.inf,) * count
    parameters = [
        Parameter(
            f"x{j + 1}", min(max(start, lower[j]), upper[j]), lower[j], upper[j],
            variable=f"x{j + 1}",
        )
        for j, start in enumerate(case.start)
    ]  # fmt: skip
    given = python_problem(
        {"y": np.zeros(size)}, np.arange(float(size)), parameters, sigma=1.0,
        estimator=EstimatorSettings("scipy-minimize", {"method": method}),
    )  # fmt: skip
    kept = [c for k, text in enumerate(case.constraints) for c in read_constraint(f"c{k}", text)]
    given = dataclasses.replace(given, constraints=tuple(kept))
    estimator = load_plugins().estimators.get("scipy-minimize")()
    with Evaluator(given, PythonExecutor(given, model)) as evaluator:
        result = run_estimation(given, evaluator, estimator, intervals=False)
    assert result.status == "converged", result.message
    assert 2.0 * result.cost_final == pytest.approx(case.cost, rel=1e-6, abs=1e-10)
    if case.solution:
        found = [result.values[q.name] for q in parameters]
        np.testing.assert_allclose(found, case.solution, rtol=2e-4, atol=1e-5)
