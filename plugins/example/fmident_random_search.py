"""Draws parameters inside their bounds and keeps the best: the smallest estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from fmident.errors import ProblemError
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.evaluation import Evaluator
from fmident.options import NOT_NEGATIVE, Options, Range
from fmident.plugins import Registry, hookimpl
from fmident.problem.model import Problem


@dataclass(frozen=True)
class RandomSearchOptions(Options):
    """Keys of the ``[estimator]`` table: points to draw, seed of the random numbers."""

    samples: Annotated[int, Range(least=1)] = 100
    seed: Annotated[int, NOT_NEGATIVE] = 0


class RandomSearch(Estimator[RandomSearchOptions]):
    """Keeps the best of many random points."""

    name = "random-search"
    summary = "draws parameters inside their bounds and keeps the best"
    options_type = RandomSearchOptions
    needs = "two bounds of every free parameter"

    def check_problem(self, problem: Problem, options: RandomSearchOptions) -> None:
        """Refuse what cannot be searched, before anything is simulated."""
        for parameter in problem.free:
            if not np.isfinite([parameter.lower, parameter.upper]).all():
                raise ProblemError(f"'{parameter.name}' needs two bounds for random-search")

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: RandomSearchOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Draw, evaluate, keep."""
        generator = np.random.default_rng(options.seed)
        best, cost = problem.initial, evaluator.cost(problem.initial)
        monitor.iteration(best, cost)
        for _ in range(options.samples):
            point = generator.uniform(problem.lower, problem.upper)
            if (found := evaluator.cost(point)) < cost:
                best, cost = point, found
            monitor.iteration(best, cost)
        return Estimate(best, "limit", f"drew {options.samples} points")


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Make the estimator known."""
    registry.add("random-search", RandomSearch)
