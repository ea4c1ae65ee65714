"""Options of the estimator ``binary-genetic``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BinaryGeneticOptions:
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

    population: int = 50
    bits: int = 16
    gray: bool = False
    crossover: float = 0.9
    mutation: float = 0.05
    elites: int = 1
    generations: int = 2000
    target_cost: float | None = None
    patience: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.population < 2:
            raise ValueError(f"population must be at least 2, not {self.population}")
        if not 1 <= self.bits <= 52:
            raise ValueError(f"bits must be from 1 to 52, not {self.bits}")
        for name in ("crossover", "mutation"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ValueError(f"{name} must be from 0 to 1, not {getattr(self, name)}")
        if not 0 <= self.elites < self.population:
            raise ValueError(
                f"elites must be at least 0 and below the population of {self.population}, "
                f"not {self.elites}"
            )
        if self.generations < 1:
            raise ValueError(f"generations must be at least 1, not {self.generations}")
        if self.patience is not None and self.patience < 1:
            raise ValueError(f"patience must be at least 1, not {self.patience}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, not {self.seed}")
