"""Subject of a check: an estimator with options on a problem of the catalogue."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fmident.arrays import F64
from fmident.errors import SimulationError
from fmident.estimation import (
    Estimate,
    EstimationResult,
    Estimator,
    Iteration,
    Observer,
    run_estimation,
)
from fmident.evaluation import Evaluator, Executor, PythonExecutor
from fmident.evaluation.python_model import Model
from fmident.problem.model import Problem
from fmident.testing.problems import ConformanceProblem

MOST = 200_000
"""Points or iterations after which a search is taken for endless: some ten times what the most
wasteful one needs on a problem with two parameters."""


class ConformanceError(AssertionError):
    """An estimator or an executor does not conform."""


def expect(holds: bool, message: str) -> None:
    """Raise `ConformanceError`, which test runners treat as a failure, unless `holds`."""
    __tracebackhide__ = True
    if not holds:
        raise ConformanceError(message)


class EndlessSearch(BaseException):
    """A search requests more than is needed for such a small problem.

    It is not an ``Exception``, so that an estimator that catches everything does not
    continue.
    """


class _Patience:
    """Counts the activities of an estimator, and ends it after far too many.

    Counting instead of timing makes the check independent of the machine.
    """

    def __init__(self, what: str) -> None:
        self._what, self._count = what, 0

    def count(self, number: int = 1) -> None:
        """Count activities; raises `EndlessSearch` if there are too many."""
        self._count += number
        if self._count > MOST:
            raise EndlessSearch(f"more than {MOST} {self._what}")

    def iteration(self, state: Iteration) -> None:
        self.count()


class _Patient(Evaluator):
    def __init__(self, problem: Problem, executor: Executor) -> None:
        super().__init__(problem, executor)
        self._patience = _Patience("points were asked for")

    def _checked(self, points: F64) -> F64:
        costs = super()._checked(points)
        self._patience.count(costs.shape[0])
        return costs


@dataclass(frozen=True, eq=False)
class Subject:
    """An estimator with options on one problem.

    `options` are the content of the ``[estimator]`` table besides what the problem
    requires.
    """

    kind: type[Estimator[Any]]
    bench: ConformanceProblem
    options: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        options = "".join(f"-{value}" for value in self.options.values())
        return f"{self.kind.name}{options}-{self.bench.name}"

    def table(self, problem: Problem) -> dict[str, Any]:
        """Return the ``[estimator]`` table for a variation of the problem."""
        known = {f.name for f in dataclasses.fields(self.kind.options_type)}
        given = self.bench.options(problem, self.kind.requires)
        return {**{k: v for k, v in given.items() if k in known}, **self.options}

    def run(
        self,
        problem: Problem,
        model: Model | None = None,
        *,
        estimator: Estimator[Any] | None = None,
        executor: Executor | None = None,
        observers: Sequence[Observer] = (),
        options: Mapping[str, Any] | None = None,
    ) -> EstimationResult:
        """Run the estimator on a variation of the problem.

        `model` replaces the problem's own. If ``None``, estimator and executor, a
        :class:`~fmident.evaluation.PythonExecutor`, are new ones.
        """
        own = executor or PythonExecutor(problem, model or self.bench.model)
        table = {**self.table(problem), **(options or {})}
        watching = (_Patience("iterations"), *observers)
        with _Patient(problem, own) as evaluator:
            return run_estimation(problem, evaluator, estimator or self.kind(), table, watching)

    def evaluator(self, problem: Problem) -> Evaluator:
        """Return an evaluator of a variation of the problem."""
        return Evaluator(problem, PythonExecutor(problem, self.bench.model))

    def watched(self) -> tuple[Estimator[Any], list[Estimate]]:
        """Return an instance of the estimator, and a list to which its estimates are added."""
        answers: list[Estimate] = []
        kind = self.kind

        def estimate(*arguments: Any) -> Estimate:
            answers.append(kind.estimate(*arguments))
            return answers[-1]

        members = {"estimate": estimate, "__module__": kind.__module__}
        instance: Estimator[Any] = type(kind.__name__, (kind,), members)()
        return instance, answers


class Fragile:
    """A model whose simulation fails if a parameter exceeds its limit."""

    def __init__(self, model: Model, limits: Mapping[str, float]) -> None:
        self._model, self._limits = model, dict(limits)

    def __call__(self, times: F64, inputs: Mapping[str, F64], **values: float) -> Mapping[str, F64]:
        """Simulate, or fail."""
        for name, limit in self._limits.items():
            if values[name] > limit:
                raise SimulationError(f"the solver gave up at {name} = {values[name]:g}")
        return self._model(times, inputs, **values)


class Counted:
    """A model that records its simulations and can be interrupted.

    `interrupt_at` is the number of the simulation at which Ctrl-C is simulated, from 1.
    """

    def __init__(self, model: Model, interrupt_at: int | None = None) -> None:
        self._model, self._interrupt_at = model, interrupt_at
        self.values: list[dict[str, float]] = []

    @property
    def calls(self) -> int:
        """Number of simulations so far."""
        return len(self.values)

    def __call__(self, times: F64, inputs: Mapping[str, F64], **values: float) -> Mapping[str, F64]:
        """Simulate, or be interrupted."""
        self.values.append(values)
        if self.calls == self._interrupt_at:
            raise KeyboardInterrupt
        return self._model(times, inputs, **values)
