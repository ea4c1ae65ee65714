"""Effort of the estimation, extrapolated from that of the check."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.checking.report import EffortCheck
from fmident.evaluation import Evaluator
from fmident.evaluation.matching import EventMatching

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.problem.model import Problem


_VERIFIED = 5
"""Simulations per parameter that verified derivatives take where they are hard to come by."""


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

    def affordable(self, wanted: int, simulations: float, budget: float) -> int:
        """Return how many of `wanted` items fit into a time budget, s.

        Each item takes `simulations`. The first series may have been dominated by loading and
        compiling, so the initial point is simulated again before any item is dropped.
        """
        count = self._count(wanted, simulations, budget)
        if count < wanted and len(self._each) == 1:
            problem = self._evaluator.problem
            experiment = problem.experiments[0]
            with self.running():
                self._evaluator.simulate_outputs(
                    experiment, experiment.output_variables, problem.initial[np.newaxis]
                )
            count = self._count(wanted, simulations, budget)
        return count

    def _count(self, wanted: int, simulations: float, budget: float) -> int:
        return int(np.clip(budget / max(self.seconds_each * simulations, 1e-9), 0, wanted))


def effort(
    evaluator: Evaluator,
    seconds_each: float,
    workers: int,
    estimator: Estimator[Any] | None,
    options: object,
) -> EffortCheck:
    """Return the expected effort.

    `seconds_each` is the wall time per FMU run with the problem's executor, s, and
    `workers` the number of parallel simulations. The estimator's ``expected_simulations``
    is used.
    """
    problem = evaluator.problem
    experiments = len(problem.experiments)
    variable_count = sum(problem.free[j].variable is not None for j in evaluator.differenced)
    # Exact sensitivities come with the simulation at the point itself.
    columns = variable_count * (2 if problem.evaluation.difference == "central" else 1)
    simulations = most = None
    events = False
    if estimator is not None:
        differenced = _as_differenced(problem, evaluator.differenced)
        simulations = estimator.expected_simulations(options, differenced)
        most = estimator.most_simulations(options, differenced)
        if simulations is not None and estimator.descends:
            # Derivatives behind the intervals are verified: one more of each, and one tolerance.
            simulations += experiments * (variable_count + 1)
            events = _breaks(evaluator)
        if most is not None:  # a ladder of steps where the first two differ
            most += experiments * _VERIFIED * (variable_count + 1)
    return EffortCheck(
        seconds_per_simulation=experiments * seconds_each,
        seconds_per_jacobian=experiments * columns * seconds_each,
        simulations=simulations,
        seconds=None if simulations is None else simulations * seconds_each,
        workers=workers,
        most=None if events else most,
        events=events,
        descends=estimator is not None and estimator.descends,
    )


def _as_differenced(problem: Problem, columns: Sequence[int]) -> Problem:
    """Return a problem that treats parameters with sensitivities as measurement parameters.

    The derivatives with respect to either need no extra simulation.
    """
    names = {problem.free[j].name for j in columns}
    parameters = tuple(
        replace(q, variable=None) if q.searched and q.name not in names else q
        for q in problem.parameters
    )
    return replace(problem, parameters=parameters)


def _breaks(evaluator: Evaluator) -> bool:
    """Return whether outputs have jumps or kinks whose times may depend on parameters."""
    matching = EventMatching(evaluator.problem)
    if not matching.usable:
        return False
    residuals = evaluator.residuals(evaluator.problem.initial)
    return bool(np.isfinite(residuals).all()) and matching.may_move(residuals)
