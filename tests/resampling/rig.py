"""Problems whose replicates have known estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fmident.data.experiment import Experiment, Measurement
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Problem
from fmident.resampling import BootstrapOptions, BootstrapResult, run_bootstrap

from ..models import parameter

F64 = np.ndarray
TIMES = np.linspace(0.0, 1.0, 60)


def line(times: F64, inputs: Mapping[str, F64], a: float, b: float) -> dict[str, F64]:
    return {"y": a + b * times}


LINE_SLOPES = {
    "a": lambda times, inputs, a, b: {"y": np.ones_like(times)},
    "b": lambda times, inputs, a, b: {"y": times},
}


DECAY_SLOPES = {
    "a": lambda times, inputs, a, k: {"y": np.exp(-k * times)},
    "k": lambda times, inputs, a, k: {"y": -a * times * np.exp(-k * times)},
}


def straight(measured: F64, sigma: float | None = None, times: F64 = TIMES) -> Problem:
    """Return the problem of a straight line."""
    free = [parameter("a"), parameter("b")]
    return python_problem({"y": measured}, times, free, sigma=sigma)


def bootstrapped(
    problem: Problem,
    model: Any,
    slopes: Any = None,
    *,
    executor: PythonExecutor | None = None,
    **options: Any,
) -> BootstrapResult:
    """Return the bootstrap, begun at the problem's initial values."""
    runs = executor or PythonExecutor(problem, model, slopes)
    with Evaluator(problem, runs) as evaluator:
        return run_bootstrap(problem, evaluator, problem.initial, BootstrapOptions(**options))


def with_experiments(problem: Problem, signals: Sequence[F64], times: F64 = TIMES) -> Problem:
    """Return the problem with an experiment for each signal."""
    experiments = tuple(
        Experiment(f"run{k}", times, {}, (Measurement("y", "y", "y", values),))
        for k, values in enumerate(signals, 1)
    )
    return replace(problem, experiments=experiments)


def autoregressive(generator: np.random.Generator, count: int, phi: float) -> F64:
    """Return a stationary AR(1) signal of variance 1."""
    noise = generator.standard_normal(count)
    found = np.empty(count)
    found[0] = noise[0]
    scale = np.sqrt(1.0 - phi**2)
    for k in range(1, count):
        found[k] = phi * found[k - 1] + scale * noise[k]
    return found
