"""Options of the estimator ``special-genetic``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fmident.options import NOT_NEGATIVE, Options, Range


@dataclass(frozen=True)
class SpecialGeneticOptions(Options):
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

    initial_population: Annotated[int, Range(least=1)] = 100
    survivors: Annotated[int, Range(least=1)] = 12
    children: Annotated[int, Range(least=1)] = 12
    generations: Annotated[int, Range(least=1)] = 50
    range_reduction: Annotated[float, Range(above=0.0, most=1.0)] = 0.7
    start_from_initial: bool = True
    cycles: Annotated[int, Range(least=1)] = 1
    cycle_range: tuple[float, float] = (1e-3, 0.3)
    parameter_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-6
    cost_tolerance: Annotated[float, NOT_NEGATIVE] = 0.0
    target_cost: float | None = None
    seed: Annotated[int, NOT_NEGATIVE] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.cycle_range
        if not 0.0 < low <= high:
            raise ValueError(f"cycle_range must be [low, high] above 0, not [{low}, {high}]")
