"""Options of the estimator ``binary-genetic``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fmident.options import FRACTION, NOT_NEGATIVE, Options, Range


@dataclass(frozen=True)
class BinaryGeneticOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors of a generation.
    bits
        Length of the code of each parameter: the bounds are divided into ``2^bits - 1`` steps,
        equal ones in the search space, so that log scaling means equal ratios.
    gray
        Gray code, in which neighbouring values differ in one bit.
    crossover
        Probability that a pair of parents exchanges bits, each with probability one half.
    mutation
        Probability that a bit of a child turns over.
    elites
        Best vectors that go on to the next generation unchanged; 0 as in the textbook.
    generations
        At most.
    target_cost
        Converged when a cost is not above this.
    patience
        End after this many generations without a better vector; never if absent.
    seed
        Of the random numbers.
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
