"""A linear problem in two stages, whose covariance has a closed form."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fmident.data import Experiment, Measurement
from fmident.estimation import EstimationResult, run_stages
from fmident.evaluation import PythonExecutor, SimulationTask
from fmident.plugins import load_plugins
from fmident.problem import EstimatorSettings, Parameter, Problem, stage_of

ESTIMATORS = load_plugins().estimators
FIRST, SECOND = np.linspace(0.0, 1.0, 21), np.linspace(0.0, 2.0, 33)
SIGMA = 0.1
TRUTH = {"a": 2.0, "b": -1.0, "c": 0.7, "d": 1.5}


def line(times: np.ndarray, inputs: Any, a: float, b: float, c: float = 0.0, d: float = 0.0) -> Any:
    """Return y1 = a + b t, and y2 = a t + b t^2 + c sin(t) + d cos(3 t): linear in all."""
    second = a * times + b * times**2 + c * np.sin(times) + d * np.cos(3.0 * times)
    return {"y1": a + b * times, "y2": second}


J1 = -np.column_stack([np.ones(21), FIRST])
J21 = -np.column_stack([SECOND, SECOND**2])
J2 = -np.column_stack([np.sin(SECOND), np.cos(3.0 * SECOND)])


def experiment(
    name: str, output: str, times: np.ndarray, sigma: float | None = SIGMA, source: str = ""
) -> Experiment:
    noise = SIGMA * np.random.default_rng(len(name)).normal(size=times.size)
    values = line(times, {}, **TRUTH)[output] + noise
    given = None if sigma is None else np.array(sigma)
    y = Measurement(output, output, output, values, sigma=given)
    return Experiment(name, times, {}, (y,), source=source)


def parameters(**changes: Any) -> tuple[Parameter, ...]:
    return tuple(
        dataclasses.replace(Parameter(n, v + 0.3, variable=n), **changes.get(n, {}))
        for n, v in TRUTH.items()
    )


def whole(sigma: float | None = SIGMA, **changes: Any) -> Problem:
    return Problem(
        Path("m.fmu"),
        parameters(**changes),
        (experiment("one", "y1", FIRST, sigma), experiment("second", "y2", SECOND, sigma)),
        EstimatorSettings("least-squares"),
    )


def two_stages(problem: Problem, **second: Any) -> Problem:
    stages = (
        stage_of(problem, "line", free=["a", "b"], experiments=["one"]),
        stage_of(problem, "rest", free=["c", "d"], experiments=["second"]),
    )
    return dataclasses.replace(
        problem, stages=(stages[0], dataclasses.replace(stages[1], **second))
    )


class Counting(PythonExecutor):
    def __init__(self, asked: Problem, model: Any) -> None:
        super().__init__(asked, model)
        self.count = 0

    def run(self, tasks: Sequence[SimulationTask]) -> Any:
        self.count += len(tasks)
        return super().run(tasks)


def solve(
    problem: Problem, model: Any = line, executors: list[Any] | None = None
) -> EstimationResult:
    made = [] if executors is None else executors

    def executor_of(asked: Problem) -> Counting:
        made.append(Counting(asked, model))
        return made[-1]

    return run_stages(problem, executor_of, lambda name: ESTIMATORS.get(name)())


def inverse(jacobian: np.ndarray) -> np.ndarray:
    return np.linalg.inv(jacobian.T @ jacobian)


G = -inverse(J2) @ J2.T @ J21


def same_data(sigma: float | None = SIGMA) -> Problem:
    problem = whole(sigma)
    problem = dataclasses.replace(problem, experiments=problem.experiments[1:])
    stages = (
        stage_of(problem, "first", free=["a", "b"]),
        stage_of(problem, "rest", free=["c", "d"]),
    )
    return dataclasses.replace(problem, stages=stages)


def codes(found: EstimationResult) -> set[str]:
    return {f.code for f in found.findings}
