"""Profiles of Python functions, and what they are by other means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from fmident.data.experiment import Experiment, Measurement
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.evaluation.executors.base import Executor
from fmident.problem.model import Parameter, Problem
from fmident.profiles import ParameterProfile, ProfileResult, run_profiles

F64 = np.ndarray
Model = Callable[..., Mapping[str, F64]]
TIMES = np.linspace(0.0, 1.0, 30)


def line(times: F64, inputs: object, a: float, b: float, c: float) -> dict[str, F64]:
    return {"y": a + b * times + c * times**2}


def noisy(truth: F64, sigma: float, seed: int = 0) -> F64:
    return truth + sigma * np.random.default_rng(seed).standard_normal(truth.size)


def problem_of(
    measured: F64, parameters: Sequence[Parameter], sigma: float | None, times: F64 = TIMES
) -> Problem:
    return python_problem({"y": measured}, times, parameters, sigma=sigma)


def profiles(
    problem: Problem, model: Model, executor: Executor | None = None, **options: object
) -> ProfileResult:
    """Return the profiles, begun at the problem's initial values."""
    with Evaluator(problem, executor or PythonExecutor(problem, model)) as evaluator:
        return run_profiles(problem, evaluator, problem.initial, **options)  # type: ignore[arg-type]


def by_name(result: ProfileResult) -> dict[str, ParameterProfile]:
    return {p.name: p for p in result.profiles}


def crossing(
    cost: Callable[[float], float], best: float, threshold: float, far: float, estimate: float
) -> float:
    """Return where the rise of a profile that is given as a function meets the threshold."""
    return float(brentq(lambda v: cost(v) - best - threshold, estimate, far, xtol=1e-13))


def two_runs(first: F64, second: F64, parameters: Sequence[Parameter], sigma: float) -> Problem:
    """Return a problem with two experiments of equal times, ``one`` and ``two``."""
    problem = problem_of(first, parameters, sigma)

    def experiment(name: str, values: F64) -> Experiment:
        measurement = Measurement("y", "y", "y", values, sigma=np.array(sigma))
        return Experiment(name, TIMES, {}, (measurement,))

    return replace(problem, experiments=(experiment("one", first), experiment("two", second)))
