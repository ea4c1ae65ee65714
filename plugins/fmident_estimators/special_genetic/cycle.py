"""One cycle of the special genetic algorithm: the range shrinks once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident_estimators.population import PopulationSearch
from fmident_estimators.special_genetic.operators import offspring, survivors_of
from fmident_estimators.special_genetic.options import SpecialGeneticOptions

Reason = Literal["target", "cost", "parameters", "range", "generations"]

RANGE_FLOOR = 0.1
"""A cycle ends when the range of the children is below this part of ``parameter_tolerance``:
survivors that have not come together by then never will."""


@dataclass
class Cycle:
    """Survivors of one cycle, in the unit cube.

    Parameters
    ----------
    search
        Who evaluates.
    options
        As given.
    generator
        Of all random numbers; they are drawn before a generation is simulated.
    number
        Of the cycle, from 1.
    reach
        Range of the second generation, as fraction of the bounds.
    survivors, costs
        Those of before, shape (k, n) and (k,); may be empty.
    """

    search: PopulationSearch
    options: SpecialGeneticOptions
    generator: np.random.Generator
    number: int
    reach: float
    survivors: F64
    costs: F64

    def run(self, points: F64) -> Reason:
        """Evaluate generation after generation, the first one at `points`; return why it ended."""
        options = self.options
        while self.search.generations < options.generations:
            self._generation(points)
            if reason := self._reason():
                return reason
            if self.reach < RANGE_FLOOR * options.parameter_tolerance:
                return "range"
            points = offspring(self.survivors, options.children, self.reach, self.generator)
            self.reach *= options.range_reduction
        return "generations"

    def _generation(self, points: F64) -> None:
        found = self.search.evaluate(points)
        self.survivors, self.costs = survivors_of(
            np.vstack([self.survivors, points]),
            np.concatenate([self.costs, found]),
            self.options.survivors,
        )
        finite = self.costs[np.isfinite(self.costs)]
        self.search.end_generation(
            found,
            cycle=float(self.number),
            survivor_worst=float(finite[-1]) if finite.size else np.inf,
            spread=self._spread(),
            next_range=self.reach,
        )

    def _spread(self) -> float:
        """Return the largest side of the box around the survivors, as fraction of the bounds."""
        return float(np.max(np.ptp(self.survivors, axis=0)))

    def _reason(self) -> Reason | None:
        options, costs = self.options, self.costs
        if len(self.survivors) < options.survivors or not bool(np.isfinite(costs).all()):
            return None
        if options.target_cost is not None and costs[-1] <= options.target_cost:
            return "target"
        if options.cost_tolerance > 0.0 and costs[-1] - costs[0] <= options.cost_tolerance:
            return "cost"
        if len(costs) > 1 and self._spread() <= options.parameter_tolerance:
            return "parameters"
        return None
