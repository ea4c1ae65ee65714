"""A decay whose simulations are noted, and searches for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from fmident.arrays import F64
from fmident.errors import FmuError, SimulationError
from fmident.evaluation import (
    Evaluator,
    Outcomes,
    PythonExecutor,
)
from fmident.evaluation.tasks import SimulationTask
from fmident.problem.model import Problem

TIMES = np.linspace(0.0, 3.0, 61)

Search = Callable[[Evaluator], Any]


def decay(times: F64, inputs: Mapping[str, F64], a: float, k: float) -> dict[str, F64]:
    if k > 90.0:
        raise SimulationError("k is too large")
    return {"y": a * np.exp(-k * times)}


class Recording(PythonExecutor):
    """Notes the tasks of each batch, and in which thread they were run."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem, decay)
        self.batches: list[list[float]] = []
        self.others: list[int] = []
        self.threads: set[int] = set()
        self.error: BaseException | None = None

    def run(self, tasks: Sequence[SimulationTask]) -> Outcomes:
        self.threads.add(threading.get_ident())
        if tasks and tasks[0].other is not None:
            self.others.append(len(tasks))
            if "unheard" in tasks[0].other.variables:
                raise FmuError("no variable 'unheard'")
            return super().run(tasks)
        if self.error is not None:
            raise self.error
        self.batches.append([task.values["a"] for task in tasks])
        return super().run(tasks)


def at(a: float, k: float = 0.5) -> F64:
    return np.array([a, k])


def descent(a: float, k: float = 0.5, steps: int = 4) -> Search:
    """Return a Gauss-Newton search in logarithms, which ends where the simulation fails."""

    def search(evaluator: Evaluator) -> tuple[bytes, float, int, int]:
        p = at(a, k)
        for _ in range(steps):
            jacobian = evaluator.jacobian(p) * p
            step = np.linalg.lstsq(jacobian, -evaluator.residuals(p), rcond=None)[0]
            p = p * np.exp(np.clip(step, -0.5, 0.5))
        cost = evaluator.cost(p)
        return p.tobytes(), cost, evaluator.simulations, evaluator.jacobians

    return search


def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Evaluator, "_most", lambda _: 1)


STARTS = [(0.3, 0.2), (1.0, 0.5), (8.0, 3.0), (30.0, 0.2), (1.0, 0.5), (0.3, 9.0), (2.0, 1.0)]
