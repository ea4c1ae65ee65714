"""The estimator ``binary-genetic``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.options import FRACTION, NOT_NEGATIVE, Options, Range
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationEstimator, PopulationSearch

Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class BinaryGeneticOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors per generation.
    bits
        Code length of each parameter: the bounds are divided into ``2^bits - 1`` equal
        steps in the search space, so that log scaling means equal ratios.
    gray
        Gray code, in which neighbouring values differ in one bit.
    crossover
        Probability that a pair of parents exchanges bits, each with probability one half.
    mutation
        Probability that a bit of a child is flipped.
    elites
        Best vectors that enter the next generation unchanged; 0 as in the textbook.
    generations
        Maximum number of generations.
    target_cost
        Converged when a cost is not above this.
    patience
        End after this many generations without a better vector; never if absent.
    seed
        Seed of the random numbers.
    """

    population: Annotated[int, Range(least=2)] = 50
    bits: Annotated[int, Range(least=1, most=52)] = 16
    gray: bool = False
    crossover: Annotated[float, FRACTION] = 0.9
    mutation: Annotated[float, FRACTION] = 0.05
    elites: Annotated[int, NOT_NEGATIVE] = 1
    generations: Annotated[int, Range(least=1)] = 2000
    target_cost: float | None = None
    patience: Annotated[int | None, Range(least=1)] = None
    seed: Annotated[int, NOT_NEGATIVE] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.elites >= self.population:
            raise ValueError(
                f"elites must be below the population of {self.population}, not {self.elites}"
            )


class BinaryGenetic(PopulationEstimator[BinaryGeneticOptions]):
    """Bit strings, roulette, uniform crossover, bit mutation; repeated strings cost nothing."""

    name: ClassVar[str] = "binary-genetic"
    summary: ClassVar[str] = (
        "genetic algorithm on bit strings: roulette, uniform crossover, mutation of bits"
    )
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({"generations": 40},)
    options_type: ClassVar[type[BinaryGeneticOptions]] = BinaryGeneticOptions

    def expected_simulations(self, options: BinaryGeneticOptions, problem: Problem) -> int:
        """Return the vectors of all generations, although repeated ones are not simulated."""
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
            if search.reached(options.target_cost):
                return search.at_target(options.target_cost)
            if options.patience is not None and since >= options.patience:
                reason = f"no better vector in {since} generations, at generation {g}"
                return search.finish("limit", reason, "stuck")
            strings = _next_generation(strings, costs, options, generator)
        return search.at_limit(options.generations)


class KnownCosts:
    """Costs of bit strings, each simulated once."""

    def __init__(self, search: PopulationSearch, options: BinaryGeneticOptions) -> None:
        self._search = search
        self._options = options
        self._costs: dict[bytes, float] = {}

    @property
    def count(self) -> int:
        """Number of bit strings evaluated so far."""
        return len(self._costs)

    def of(self, strings: Bits) -> F64:
        """Return the costs, shape (k,); all new strings are simulated as one batch."""
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
    elites = strings[np.argsort(costs, kind="stable")[: options.elites]]
    count = options.population - len(elites)
    parents = strings[roulette(costs, count + count % 2, generator)]
    children = mutate(crossover(parents, options.crossover, generator), options.mutation, generator)
    return np.vstack([elites, children[:count]])


def decode(strings: Bits, bits: int, *, gray: bool) -> F64:
    """Return the points of the unit cube that bit strings encode, (k, n * bits) -> (k, n).

    The most significant bit of each parameter comes first; the points have steps of
    ``1 / (2^bits - 1)``.
    """
    words = strings.reshape(len(strings), strings.shape[1] // bits, bits)
    if gray:
        words = np.logical_xor.accumulate(words, axis=2)
    weights = 2.0 ** np.arange(bits - 1, -1, -1)
    points: F64 = (words @ weights) / (2.0**bits - 1.0)
    return points


def fitness(costs: F64) -> F64:
    """Return the fitness ``C_max - J`` (eq. 18), 0 for failed simulations, shape (k,)."""
    finite = np.isfinite(costs)
    if not bool(finite.any()):
        return np.zeros(costs.shape)
    margins: F64 = np.where(finite, np.max(costs[finite]) - np.where(finite, costs, 0.0), 0.0)
    return margins


def roulette(costs: F64, count: int, generator: np.random.Generator) -> npt.NDArray[np.intp]:
    """Draw the indices of `count` parents with probability proportional to their fitness.

    When all fitnesses are equal, all vectors that did not fail are equally likely.
    """
    weights = fitness(costs)
    total = float(weights.sum())
    if not np.isfinite(total) or total <= 0.0:
        finite = np.isfinite(costs)
        weights = finite.astype(np.float64) if bool(finite.any()) else np.ones(costs.shape)
        total = float(weights.sum())
    wheel = np.cumsum(weights / total)
    drawn = np.searchsorted(wheel, generator.random(count) * wheel[-1], side="right")
    # Rounding may point past the end; the last that can be drawn has a positive share.
    last = int(np.flatnonzero(weights)[-1])
    parents: npt.NDArray[np.intp] = np.minimum(drawn, last)
    return parents


def crossover(parents: Bits, probability: float, generator: np.random.Generator) -> Bits:
    """Return the uniform-crossover children of parents 0 and 1, 2 and 3, ..., same shape."""
    children = parents.copy()
    pairs = len(parents) // 2
    crosses = generator.random(pairs) < probability
    exchanged = (generator.random((pairs, parents.shape[1])) < 0.5) & crosses[:, np.newaxis]
    first, second = parents[0 : 2 * pairs : 2], parents[1 : 2 * pairs : 2]
    children[0 : 2 * pairs : 2] = np.where(exchanged, second, first)
    children[1 : 2 * pairs : 2] = np.where(exchanged, first, second)
    return children


def mutate(strings: Bits, probability: float, generator: np.random.Generator) -> Bits:
    """Return the strings with each bit flipped with `probability`."""
    mutants: Bits = strings ^ (generator.random(strings.shape) < probability)
    return mutants
