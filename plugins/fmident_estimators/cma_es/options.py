"""Options of the estimator ``cma-es``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CmaEsOptions:
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors of a generation; ``4 + 3 ln n`` for n parameters if absent.
    initial_step
        Standard deviation of the first generation around the initial point, as fraction of
        the bounds.
    generations
        At most, over all restarts.
    restarts
        Searches that follow the first, each from a random point.
    population_growth
        Factor on the population from one search to the next (IPOP).
    cost_tolerance
        A search ends when the costs of its last generations differ by less.
    relative_tolerance
        A search ends when the best costs of its last generations differ by less than this
        fraction. With noise in the data the cost does not go to zero, and the noise of the
        simulation keeps its last digits, and with them the steps, from settling. 0: never.
    parameter_tolerance
        A search ends when its steps are shorter than this fraction of the bounds.
    target_cost
        Converged when a cost is not above this.
    seed
        Of the random numbers.
    """

    population: int | None = None
    initial_step: float = 0.3
    generations: int = 1000
    restarts: int = 0
    population_growth: float = 2.0
    cost_tolerance: float = 1e-11
    relative_tolerance: float = 1e-5
    parameter_tolerance: float = 1e-8
    target_cost: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.population is not None and self.population < 4:
            raise ValueError(f"population must be at least 4, not {self.population}")
        for name in ("initial_step", "cost_tolerance", "parameter_tolerance"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)}")
        if self.generations < 1:
            raise ValueError(f"generations must be at least 1, not {self.generations}")
        if self.population_growth < 1.0:
            raise ValueError(f"population_growth must be at least 1, not {self.population_growth}")
        for name in ("restarts", "seed", "relative_tolerance"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
