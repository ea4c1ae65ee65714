"""The estimator ``special-genetic``."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from fmident.estimation.contract import Estimate
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationEstimator, PopulationSearch
from fmident_estimators.special_genetic.cycle import Cycle, Reason
from fmident_estimators.special_genetic.operators import offspring
from fmident_estimators.special_genetic.options import SpecialGeneticOptions


class SpecialGenetic(PopulationEstimator[SpecialGeneticOptions]):
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
        each = options.survivors * options.children
        if options.cycles > 1:  # later cycles begin with an initial population, too
            each = max(each, options.initial_population)
        later = (options.generations - 1) * each
        return (options.initial_population + later) * len(problem.experiments)

    def search(self, search: PopulationSearch, options: SpecialGeneticOptions) -> Estimate:
        """Search generation by generation and return the best vector of all."""
        generator = np.random.default_rng(options.seed)
        size, width = options.initial_population, search.initial.size
        known = 1 if options.start_from_initial else 0
        reason: Reason = "generations"
        for number in range(1, options.cycles + 1):
            if number == 1:
                reach = 1.0
                points = generator.random((size, width))
            else:
                reach = _drawn_range(options, generator)
                best = search.box.unit(search.best)[np.newaxis]
                points = offspring(best, size, reach, generator)
                known = 0
            cycle = Cycle(
                search,
                options,
                generator,
                number,
                reach,
                np.repeat(search.initial[np.newaxis], known, axis=0),
                np.full(known, search.initial_cost),
            )
            reason = cycle.run(points)
            if reason in ("target", "generations"):
                break
        return _end(search, reason, number, options)


def _drawn_range(options: SpecialGeneticOptions, generator: np.random.Generator) -> float:
    low, high = np.log(options.cycle_range)
    return float(np.exp(generator.uniform(low, high)))


def _end(
    search: PopulationSearch, reason: Reason, cycle: int, options: SpecialGeneticOptions
) -> Estimate:
    where = f"in generation {search.generations}"
    if options.cycles > 1:
        where += f", cycle {cycle}"
    if reason == "target":
        found = f"all survivors cost at most the target of {options.target_cost:g}"
        return search.finish("converged", f"{found} {where}")
    if reason == "cost":
        found = f"the costs of all survivors came within {options.cost_tolerance:g}"
        return search.finish("converged", f"{found} {where}")
    tolerance = f"{options.parameter_tolerance:g} of the bounds' width"
    if reason == "parameters":
        found = f"all survivors came within {tolerance}"
        return search.finish("converged", f"{found} {where}")
    if reason == "range":
        found = f"the range of the children shrank far below {tolerance}"
        message = f"{found} {where}, before the survivors came together"
        return search.finish("limit", message, "stuck")
    return search.finish("limit", f"all {options.generations} generations were evaluated")
