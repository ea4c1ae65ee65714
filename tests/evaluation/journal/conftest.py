"""A problem in Python, and executors that count."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import SimulationError
from fmident.evaluation import Outcomes, PythonExecutor, SimulationTask, python_problem
from fmident.evaluation.journal import Journal, RecordedExecutor
from fmident.evaluation.journal.keys import SimulationKeys
from fmident.problem.model import Parameter, Problem

TIMES = np.linspace(0.0, 1.0, 50)


def decay(times: F64, inputs: Mapping[str, F64], k: float, a: float) -> dict[str, F64]:
    """Return a decaying signal; some parameters fail."""
    if k > 90.0:
        raise SimulationError("k is too large", time=0.5, log=("first", "second"), hint="less")
    if k > 80.0:
        raise SimulationError("the simulation took longer than 1 s", timed_out=True)
    return {"y": a * np.exp(-k * times)}


SLOPES = {
    "k": lambda times, inputs, k, a: {"y": -a * times * np.exp(-k * times)},
    "a": lambda times, inputs, k, a: {"y": np.exp(-k * times)},
}


class Counting(PythonExecutor):
    """Remembers what it was asked for."""

    def __init__(self, problem: Problem, *, differentiable: bool = False) -> None:
        super().__init__(problem, decay, SLOPES if differentiable else {})
        self.ran: list[SimulationTask] = []

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        self.ran += tasks
        return super().run(tasks)


def make_problem() -> Problem:
    true = decay(TIMES, {}, 3.0, 2.0)["y"]
    noise = 1e-3 * np.random.default_rng(0).standard_normal(TIMES.size)
    problem = python_problem(
        {"y": true + noise},
        TIMES,
        [
            Parameter("k", 1.0, 0.1, 100.0, variable="k"),
            Parameter("a", 1.0, 0.1, 10.0, variable="a"),
        ],
        sigma=1e-3,
    )
    return dataclasses.replace(problem, fmu=Path(__file__))  # there must be a file


@pytest.fixture
def problem() -> Problem:
    return make_problem()


class Recorded:
    """An executor with a journal in a folder, and the counting one behind it."""

    def __init__(
        self, problem: Problem, folder: Path | None, *, differentiable: bool = False, **sizes: int
    ) -> None:
        self.inner = Counting(problem, differentiable=differentiable)
        self.journal = None if folder is None else Journal(folder, **sizes)
        self.executor = RecordedExecutor(self.inner, SimulationKeys(problem, b"fmu"), self.journal)

    def close(self) -> None:
        if self.journal is not None:
            self.journal.close()


def task(k: float, a: float = 1.0) -> SimulationTask:
    return SimulationTask(0, {"k": k, "a": a})
