"""A problem with a mass-spring-damper, and a check of any problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fmident.checking import CheckReport, check_problem
from fmident.evaluation import Evaluator, PythonExecutor, python_problem
from fmident.problem.model import Problem

from .rig import FORCE, TIMES, TRUE, oscillator, parameters


@pytest.fixture
def problem() -> Problem:
    """Return the oscillator with a good input, known noise and a start nearby."""
    noise = 1e-3 * np.random.default_rng(0).normal(size=TIMES.size)
    measured = oscillator(TIMES, {"F": FORCE}, **TRUE)["x"] + noise
    return python_problem(
        {"x": measured}, TIMES, parameters(m=1.1, c=0.9, k=8.0), sigma=1e-3, inputs={"F": FORCE}
    )


@pytest.fixture
def check() -> Callable[..., CheckReport]:
    """Return ``check(problem, model, **options)``."""

    def run(problem: Problem, model: Any = oscillator, **options: Any) -> CheckReport:
        with PythonExecutor(problem, model) as executor:
            return check_problem(Evaluator(problem, executor), **options)

    return run
