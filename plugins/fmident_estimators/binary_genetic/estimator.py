"""The estimator ``binary-genetic``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.problem.model import Problem
from fmident_estimators.binary_genetic.code import Bits, decode
from fmident_estimators.binary_genetic.operators import crossover, mutate, roulette
from fmident_estimators.binary_genetic.options import BinaryGeneticOptions
from fmident_estimators.population import PopulationEstimator, PopulationSearch


class BinaryGenetic(PopulationEstimator[BinaryGeneticOptions]):
    """Bit strings, roulette, uniform crossover, mutation of bits.

    Bit strings that were evaluated before are not simulated again.
    """

    name: ClassVar[str] = "binary-genetic"
    summary: ClassVar[str] = (
        "genetic algorithm on bit strings: roulette, uniform crossover, mutation of bits"
    )
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({"generations": 40},)
    options_type: ClassVar[type[BinaryGeneticOptions]] = BinaryGeneticOptions

    def expected_simulations(self, options: BinaryGeneticOptions, problem: Problem) -> int:
        """Return the vectors of all generations; those that are known are not simulated."""
        return options.generations * options.population * len(problem.experiments)

    def search(self, search: PopulationSearch, options: BinaryGeneticOptions) -> Estimate:
        """Search generation by generation and return the best vector of all."""
        known = KnownCosts(search, options)
        generator = np.random.default_rng(options.seed)
        length = search.initial.size * options.bits
        strings: Bits = generator.random((options.population, length)) < 0.5
        since = 0
        for g in range(1, options.generations + 1):
            before, simulated = search.cost, known.count
            costs = known.of(strings)
            search.end_generation(costs, simulated=float(known.count - simulated))
            since = 0 if search.cost < before else since + 1
            if options.target_cost is not None and search.cost <= options.target_cost:
                reason = f"the target cost {options.target_cost:g} was reached in generation {g}"
                return search.finish("converged", reason)
            if options.patience is not None and since >= options.patience:
                reason = f"no better vector in {since} generations, at generation {g}"
                return search.finish("limit", reason, "stuck")
            strings = _next_generation(strings, costs, options, generator)
        return search.finish("limit", f"all {options.generations} generations were evaluated")


class KnownCosts:
    """Costs of bit strings, each simulated once.

    Parameters
    ----------
    search
        Who evaluates.
    options
        Of the code.

    Attributes
    ----------
    count
        Bit strings evaluated so far.
    """

    def __init__(self, search: PopulationSearch, options: BinaryGeneticOptions) -> None:
        self._search = search
        self._options = options
        self._costs: dict[bytes, float] = {}

    @property
    def count(self) -> int:
        """Bit strings evaluated so far."""
        return len(self._costs)

    def of(self, strings: Bits) -> F64:
        """Return the costs, shape (k,); all that are new are one batch."""
        keys = [np.packbits(s).tobytes() for s in strings]
        new = {key: i for i, key in reversed(list(enumerate(keys))) if key not in self._costs}
        order = sorted(new.values())
        points = decode(strings[order], self._options.bits, gray=self._options.gray)
        costs = self._search.evaluate(points)
        self._costs.update((keys[i], float(c)) for i, c in zip(order, costs, strict=True))
        return np.array([self._costs[key] for key in keys])


def _next_generation(
    strings: Bits, costs: F64, options: BinaryGeneticOptions, generator: np.random.Generator
) -> Bits:
    """Return elites first, then the children of parents drawn by roulette."""
    elites = strings[np.argsort(costs, kind="stable")[: options.elites]]
    count = options.population - len(elites)
    parents = strings[roulette(costs, count + count % 2, generator)]
    children = mutate(crossover(parents, options.crossover, generator), options.mutation, generator)
    return np.vstack([elites, children[:count]])
