"""Fixtures: the decay, and that no thread is left."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from fmident.evaluation import (
    Evaluator,
    python_problem,
)
from fmident.evaluation.journal import RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.problem.model import EvaluationSettings, Parameter, Problem

from .rig import TIMES, Recording, decay


@pytest.fixture
def problem() -> Problem:
    noise = 0.05 * np.random.default_rng(0).standard_normal(TIMES.size)
    return python_problem(
        {"y": decay(TIMES, {}, 2.0, 1.3)["y"] + noise},
        TIMES,
        [
            Parameter("a", 1.0, 0.1, 99.0, variable="a"),
            Parameter("k", 0.5, 0.1, 99.0, variable="k"),
        ],
        sigma=0.05,
        evaluation=EvaluationSettings(check=False),
    )


@pytest.fixture
def executor(problem: Problem) -> Recording:
    return Recording(problem)


@pytest.fixture
def evaluator(problem: Problem, executor: Recording) -> Evaluator:
    """Return an evaluator whose executor recognises equal simulations, as those of any run."""
    return Evaluator(problem, RecordedExecutor(executor, SimulationKeys(problem)))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before
