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
        At most, over all cycles (N_g).
    range_reduction
        Factor on the range of the children from one generation to the next (xi), in ]0, 1].
    start_from_initial
        Whether the initial point may survive, too; the published algorithm knows none.
    cycles
        How often the range shrinks. The published algorithm is one cycle; each further one
        starts from children of the best vector so far, to get out of a local minimum.
    cycle_range
        Smallest and largest range of the first children of a further cycle, as fractions of
        the bounds; drawn anew for each, all orders of magnitude alike.
    parameter_tolerance
        A cycle ends converged when all survivors lie within this fraction of the bounds of
        each other, and ends anyway when the range of the children is below a tenth of it.
    cost_tolerance
        A cycle ends converged when the costs of all survivors lie within this of the best
        one; 0 switches it off.
    target_cost
        Converged when no survivor costs more than this, so that the best one mostly costs far
        less.
    seed
        Of the random numbers.
    """

    initial_population: int = 100
    survivors: int = 12
    children: int = 12
    generations: int = 50
    range_reduction: float = 0.7
    start_from_initial: bool = True
    cycles: int = 1
    cycle_range: tuple[float, float] = (1e-3, 0.3)
    parameter_tolerance: float = 1e-6
    cost_tolerance: float = 0.0
    target_cost: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("initial_population", "survivors", "children", "generations", "cycles"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if not 0.0 < self.range_reduction <= 1.0:
            raise ValueError(
                f"range_reduction must be above 0 and at most 1, not {self.range_reduction}"
            )
        low, high = self.cycle_range
        if not 0.0 < low <= high:
            raise ValueError(f"cycle_range must be [low, high] above 0, not [{low}, {high}]")
        for name in ("cost_tolerance", "parameter_tolerance", "seed"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)}")
