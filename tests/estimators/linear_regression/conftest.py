"""Python models that are linear in their parameters, with energies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from fmident.data.experiment import Experiment
from fmident.estimation import EstimationResult, run_estimation
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Parameter, Problem
from fmident_estimators.linear_regression.estimator import LinearRegression

TIMES = np.linspace(0.0, 8.0, 401)
LENGTH, GRAVITY = 0.5, 9.81


def pendulum(times, inputs, inertia, moment, mass, friction, offset=0.0, useless=0.0):
    """Inverse dynamics of a pendulum with a point mass at its end."""
    q, qd, qdd = (inputs[n] for n in ("q", "qd", "qdd"))
    total, first = inertia + LENGTH**2 * mass, moment + LENGTH * mass
    return {
        "tau": total * qdd + GRAVITY * first * np.sin(q) + friction * np.sign(qd) + offset,
        "kinetic": 0.5 * total * qd**2,
        "potential": -GRAVITY * first * np.cos(q) + 3.0 * useless,
    }


TRUTH = {"inertia": 0.2, "moment": 0.3, "mass": 1.5, "friction": 0.4}


def motion(times: np.ndarray, speed: float = 1.0) -> dict[str, np.ndarray]:
    a, w = (1.1, 0.6), (1.3 * speed, 2.9 * speed)
    q = sum(x * np.sin(y * times) for x, y in zip(a, w, strict=True))
    qd = sum(x * y * np.cos(y * times) for x, y in zip(a, w, strict=True))
    qdd = sum(-x * y * y * np.sin(y * times) for x, y in zip(a, w, strict=True))
    return {"q": np.asarray(q), "qd": np.asarray(qd), "qdd": np.asarray(qdd)}


@dataclass(frozen=True)
class Bench:
    """A Python model, its problem and how to run it."""

    model: Callable[..., Mapping[str, np.ndarray]]
    problem: Problem

    def run(self, **options: Any) -> EstimationResult:
        with Evaluator(self.problem, PythonExecutor(self.problem, self.model)) as evaluator:
            return run_estimation(self.problem, evaluator, LinearRegression(), options)


def make_bench(
    parameters: Sequence[Parameter],
    *,
    model: Callable[..., Mapping[str, np.ndarray]] = pendulum,
    truth: Mapping[str, float] = TRUTH,
    noise: float = 0.0,
    sigma: float | None = 0.01,
    measured: Sequence[str] = ("tau",),
    more: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Bench:
    """Experiment 'data'; further ones by name and speed of their motion."""
    rng = np.random.default_rng(seed)

    def one(inputs: dict[str, np.ndarray]) -> Problem:
        clean = model(TIMES, inputs, **truth)
        values = {
            n: np.broadcast_to(clean[n], TIMES.shape) + noise * rng.normal(size=TIMES.size)
            for n in measured
        }
        return python_problem(values, TIMES, parameters, sigma=sigma, inputs=inputs)

    problem = one(motion(TIMES))
    experiments: list[Experiment] = list(problem.experiments)
    for name, speed in (more or {}).items():
        experiments.append(replace(one(motion(TIMES, speed)).experiments[0], name=name))
    return Bench(model, replace(problem, experiments=tuple(experiments)))


def free(*names: str, initial: float = 0.0, **known: Any) -> list[Parameter]:
    return [Parameter(n, known.get(n, initial), variable=n) for n in names]


@pytest.fixture
def energies() -> list[str]:
    return ["kinetic", "potential"]
