"""The estimator ``special-genetic``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fmident._types import F64
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.evaluation import Evaluator
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationSearch
from fmident_estimators.special_genetic.operators import offspring, survivors_of
from fmident_estimators.special_genetic.options import SpecialGeneticOptions


class SpecialGenetic(Estimator[SpecialGeneticOptions]):
    """Children around the best vectors of all generations, in a shrinking range.

    All random numbers of a generation are drawn before it is simulated, so that a seed gives
    the same run whatever executes the simulations.
    """

    name: ClassVar[str] = "special-genetic"
    summary: ClassVar[str] = (
        "special genetic algorithm (Ludwig, Gerstmayr): survivors, children, shrinking range"
    )
    options_type: ClassVar[type[SpecialGeneticOptions]] = SpecialGeneticOptions

    def expected_simulations(self, options: SpecialGeneticOptions, problem: Problem) -> int:
        """Return the vectors of all generations; a tolerance may end the run earlier."""
        later = (options.generations - 1) * options.survivors * options.children
        return (options.initial_population + later) * len(problem.experiments)

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: SpecialGeneticOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search generation by generation and return the best vector of all.

        Raises
        ------
        fmident.errors.ProblemError
            Parameters have no finite bounds.
        """
        search = PopulationSearch(problem, evaluator, monitor, self.name)
        generator = np.random.default_rng(options.seed)
        points = generator.random((options.initial_population, len(problem.free)))
        survivors, costs = search.initial[np.newaxis], np.array([search.initial_cost])
        if not options.start_from_initial:
            survivors, costs = survivors[:0], costs[:0]
        for g in range(1, options.generations + 1):
            found = search.evaluate(points)
            survivors, costs = survivors_of(
                np.vstack([survivors, points]), np.concatenate([costs, found]), options.survivors
            )
            reach = options.range_reduction ** (g - 1)
            search.end_generation(
                found, survivor_worst=_worst(costs), spread=_spread(survivors), range=reach
            )
            reason = _reason_to_end(survivors, costs, options)
            if reason:
                return search.finish("converged", f"{reason} in generation {g}")
            points = offspring(survivors, options.children, reach, generator)
        if not np.isfinite(costs[0]):
            return search.finish(
                "failed", f"every simulation failed; the last: {evaluator.last_failure}"
            )
        return search.finish("limit", f"all {options.generations} generations were evaluated")


def _worst(costs: F64) -> float:
    finite = costs[np.isfinite(costs)]
    return float(finite[-1]) if finite.size else float("nan")


def _spread(survivors: F64) -> float:
    """Return the largest side of the box around the survivors, as fraction of the bounds."""
    return float(np.max(np.ptp(survivors, axis=0)))


def _reason_to_end(survivors: F64, costs: F64, options: SpecialGeneticOptions) -> str:
    """Return why the search is over, or nothing."""
    if options.target_cost is not None and costs[0] <= options.target_cost:
        return f"the target cost {options.target_cost:g} was reached"
    if len(survivors) < options.survivors or not bool(np.isfinite(costs).all()):
        return ""
    if options.cost_tolerance > 0.0 and costs[-1] - costs[0] <= options.cost_tolerance:
        return f"the costs of all survivors came within {options.cost_tolerance:g}"
    if len(survivors) > 1 and _spread(survivors) <= options.parameter_tolerance:
        return f"all survivors came within {options.parameter_tolerance:g} of the bounds' width"
    return ""
