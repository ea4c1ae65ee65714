"""Options of the estimator ``differential-evolution``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fmident.options import FRACTION, NOT_NEGATIVE, Options, Range

Strategy = Literal[
    "best1bin", "best1exp", "best2bin", "best2exp", "rand1bin", "rand1exp", "rand2bin", "rand2exp",
    "randtobest1bin", "randtobest1exp", "currenttobest1bin", "currenttobest1exp",
]  # fmt: skip


@dataclass(frozen=True)
class DifferentialEvolutionOptions(Options):
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

    population: Annotated[int | None, Range(least=5)] = None
    strategy: Strategy = "best1bin"
    mutation: tuple[float, float] = (0.5, 1.0)
    recombination: Annotated[float, FRACTION] = 0.7
    generations: Annotated[int, Range(least=1)] = 1000
    relative_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-6
    absolute_tolerance: Annotated[float, NOT_NEGATIVE] = 0.0
    parameter_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-6
    target_cost: float | None = None
    seed: Annotated[int, NOT_NEGATIVE] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.mutation
        if not 0.0 <= low <= high < 2.0:
            raise ValueError(f"mutation must be [low, high] inside [0, 2[, not [{low}, {high}]")
