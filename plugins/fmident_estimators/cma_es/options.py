"""Options of the estimator ``cma-es``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fmident.options import NOT_NEGATIVE, POSITIVE, Options, Range


@dataclass(frozen=True)
class CmaEsOptions(Options):
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

    population: Annotated[int | None, Range(least=4)] = None
    initial_step: Annotated[float, POSITIVE] = 0.3
    generations: Annotated[int, Range(least=1)] = 1000
    restarts: Annotated[int, NOT_NEGATIVE] = 0
    population_growth: Annotated[float, Range(least=1.0)] = 2.0
    cost_tolerance: Annotated[float, POSITIVE] = 1e-11
    relative_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-5
    parameter_tolerance: Annotated[float, POSITIVE] = 1e-8
    target_cost: float | None = None
    seed: Annotated[int, NOT_NEGATIVE] = 0
