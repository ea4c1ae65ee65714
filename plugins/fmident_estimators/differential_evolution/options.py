"""Options of the estimator ``differential-evolution``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Strategy = Literal[
    "best1bin", "best1exp", "best2bin", "best2exp", "rand1bin", "rand1exp", "rand2bin", "rand2exp",
    "randtobest1bin", "randtobest1exp", "currenttobest1bin", "currenttobest1exp",
]  # fmt: skip


@dataclass(frozen=True)
class DifferentialEvolutionOptions:
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors of a generation, at least 5; 15 for each parameter if absent.
    strategy
        Who is mutated with whom, and how they cross.
    mutation
        Smallest and largest factor on the difference of two vectors, drawn anew for each
        generation.
    recombination
        Probability that a component comes from the mutant.
    generations
        At most, the first one not counted.
    relative_tolerance, absolute_tolerance
        Converged when the standard deviation of the costs is not above the absolute one plus
        the relative one times their mean.
    parameter_tolerance
        Converged when all vectors lie within this fraction of the bounds of each other.
    target_cost
        Converged when a cost is not above this.
    seed
        Of the random numbers.
    """

    population: int | None = None
    strategy: Strategy = "best1bin"
    mutation: tuple[float, float] = (0.5, 1.0)
    recombination: float = 0.7
    generations: int = 1000
    relative_tolerance: float = 1e-6
    absolute_tolerance: float = 0.0
    parameter_tolerance: float = 1e-6
    target_cost: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.population is not None and self.population < 5:
            raise ValueError(f"population must be at least 5, not {self.population}")
        low, high = self.mutation
        if not 0.0 <= low <= high < 2.0:
            raise ValueError(f"mutation must be [low, high] inside [0, 2[, not [{low}, {high}]")
        if not 0.0 <= self.recombination <= 1.0:
            raise ValueError(f"recombination must be from 0 to 1, not {self.recombination}")
        if self.generations < 1:
            raise ValueError(f"generations must be at least 1, not {self.generations}")
        for name in ("relative_tolerance", "absolute_tolerance", "parameter_tolerance", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
