"""Options of the estimator ``special-genetic``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SpecialGeneticOptions:
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    initial_population
        Vectors of the first generation, uniform in the bounds (N_i of the paper).
    survivors
        Best vectors of all generations so far that have children (N_s).
    children
        Of each survivor (N_c).
    generations
        At most (N_g).
    range_reduction
        Factor on the range of the children from one generation to the next (xi), in ]0, 1].
    start_from_initial
        Whether the initial point may survive, too; the published algorithm knows none.
    cost_tolerance
        Converged when the costs of all survivors lie within this of the best one; 0 switches
        it off.
    parameter_tolerance
        Converged when all survivors lie within this fraction of the bounds of each other.
    target_cost
        Converged when a cost is not above this.
    seed
        Of the random numbers.
    """

    initial_population: int = 100
    survivors: int = 12
    children: int = 12
    generations: int = 50
    range_reduction: float = 0.7
    start_from_initial: bool = True
    cost_tolerance: float = 0.0
    parameter_tolerance: float = 1e-6
    target_cost: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("initial_population", "survivors", "children", "generations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0.0 < self.range_reduction <= 1.0:
            raise ValueError(
                f"range_reduction must be above 0 and at most 1, not {self.range_reduction}"
            )
        for name in ("cost_tolerance", "parameter_tolerance", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
