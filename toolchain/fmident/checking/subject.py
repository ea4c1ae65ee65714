"""The problem under check, and values that several checks share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from fmident.arrays import F64
from fmident.data.experiment import Experiment, Measurement
from fmident.errors import Severity
from fmident.evaluation import Evaluator, SimulationFailure
from fmident.findings import Finding
from fmident.problem.residuals import predict

if TYPE_CHECKING:
    from fmident.checking.result import GlobalMethod
    from fmident.estimation.contract import Estimator
    from fmident.fmu import ModelDescription, Variable
    from fmident.problem.model import Problem

T = TypeVar("T")
Key = tuple[str | int, ...]
"""Keys of a value in the problem file."""

_BUDGET = 20.0
"""Time budget of each check that simulates at other points than the initial one, s."""


@dataclass(frozen=True)
class Subject:
    """A problem to be checked, and its FMU description.

    `description` is ``None`` for a Python function instead of an FMU. `inert_allowed` says
    whether the estimator tolerates parameters without influence.
    """

    problem: Problem
    description: ModelDescription | None
    inert_allowed: bool

    def variable(self, name: str | None) -> Variable | None:
        """Return the FMU's variable of that name, if it is known."""
        if self.description is None or name is None:
            return None
        return self.description.by_name.get(name)

    def unit(self, name: str) -> str | None:
        """Return the FMU's unit of a variable, if it is known."""
        variable = self.variable(name)
        return None if variable is None else variable.unit

    def range(self, name: str | None) -> tuple[float, float]:
        """Return the least and the largest value that the FMU declares for a variable."""
        variable = self.variable(name)
        low = None if variable is None else variable.minimum
        high = None if variable is None else variable.maximum
        return -math.inf if low is None else low, math.inf if high is None else high

    def held_inputs(self, experiment: Experiment) -> frozenset[str]:
        """Return the inputs that are held from one sample to the next."""
        if self.description is None:
            return frozenset()
        about = self.description.with_interface(self.problem.evaluation.interface)
        asked = {n: self.problem.interpolation_of(experiment, n) for n in experiment.inputs}
        return frozenset(n for n, choice in asked.items() if about.holds_input(n, choice))

    def outputs(self) -> Iterator[tuple[int, int, Experiment, Measurement]]:
        """Yield all outputs with the indices of experiment and output, in order."""
        for i, experiment in enumerate(self.problem.experiments):
            for k, measurement in enumerate(experiment.measurements):
                yield i, k, experiment, measurement

    def finding(
        self, severity: Severity, code: str, keys: Key, text: str, hint: str = ""
    ) -> Finding:
        """Return a finding at a key of the problem file."""
        return Finding(code, severity, text, self.problem.where(*keys), hint)

    def warning(self, code: str, keys: Key, text: str, hint: str) -> Finding:
        """Return a warning at a key of the problem file."""
        return self.finding("warning", code, keys, text, hint)

    def note(self, code: str, keys: Key, text: str, hint: str = "") -> Finding:
        """Return a note at a key of the problem file."""
        return self.finding("note", code, keys, text, hint)


@dataclass(frozen=True)
class SimulatedSubject(Subject):
    """A problem that can be simulated, with its evaluator.

    The cost of `problem` is in the time domain; `asked` is the problem with its own. A `quick`
    check looks at the initial point only.
    """

    evaluator: Evaluator
    asked: Problem
    estimator: Estimator[Any] | None = None
    options: object = None
    quick: bool = False
    global_method: GlobalMethod | None = None
    watch: Stopwatch = field(init=False)
    _results: dict[object, object] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "watch", Stopwatch(self.evaluator))

    def once(self, compute: Callable[[SimulatedSubject], T]) -> T:
        """Return the result of a function of this subject, which is called the first time only."""
        if compute not in self._results:
            self._results[compute] = compute(self)
        return cast(T, self._results[compute])

    @property
    def predicted(self) -> tuple[tuple[F64, ...], ...]:
        """The outputs as compared with those measured, by experiment, at the initial point."""
        simulated = self.evaluator.simulate(self.problem.initial)
        outputs = [o for o in simulated if not isinstance(o, SimulationFailure)]
        return predict(self.problem, outputs, self.problem.initial)

    def affordable(self, wanted: int, points: float) -> int:
        """Return how many of the wanted items of `points` points each the time budget allows."""
        return self.watch.affordable(wanted, points * len(self.problem.experiments))


class Stopwatch:
    """Measures the time of simulations of an evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._each: list[float] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        """Measure the time inside the context."""
        before, begin = self._evaluator.simulations, time.perf_counter()
        try:
            yield
        finally:
            count = self._evaluator.simulations - before
            if count:
                self._each.append((time.perf_counter() - begin) / count)

    @property
    def seconds_each(self) -> float:
        """Wall time per FMU run, s; NaN before the first.

        It is taken from the fastest series, to exclude loading, compiling and starting workers.
        """
        return min(self._each, default=math.nan)

    def affordable(self, wanted: int, simulations: float) -> int:
        """Return how many of `wanted` items of `simulations` each fit into the time budget.

        The first series may have been dominated by loading and compiling, so the initial point is
        simulated again before any item is dropped.
        """

        def fitting() -> int:
            return int(np.clip(_BUDGET / max(self.seconds_each * simulations, 1e-9), 0, wanted))

        if fitting() < wanted and len(self._each) == 1:
            problem = self._evaluator.problem
            experiment = problem.experiments[0]
            with self.running():
                self._evaluator.simulate_outputs(
                    experiment, experiment.output_variables, problem.initial[np.newaxis]
                )
        return fitting()
