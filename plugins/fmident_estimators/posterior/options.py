"""Options of the estimator ``posterior``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fmident.options import INSIDE_UNIT, NOT_NEGATIVE, Options, Range


@dataclass(frozen=True)
class PosteriorOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    effective
        Effective draws of each parameter, in bulk and tails, from which on it has converged.
    r_hat
        Rank-normalised split R-hat of each parameter below which it has converged.
    max_draws
        At most, warm-up included; each costs one simulation of each experiment.
    ensembles
        Independent ensembles, which run side by side and are compared.
    walkers
        Of each ensemble; even. ``2 n + 4`` for n parameters, and 10 at least, if absent.
    warm_up
        Draws of each walker that are thrown away at the least; a quarter of all if that is more.
    independent
        Share of the draws that are proposed from the straightened Laplace approximation; the others
        are differential evolution of the walkers.
    straighten
        Whether the approximation follows the bends of the valley of the cost.
    starts
        Searches for the least cost before, as of ``least-squares``.
    seed
        Of the random numbers.
    """

    effective: Annotated[int, Range(least=100)] = 4000
    r_hat: Annotated[float, Range(above=1.0, most=1.2)] = 1.01
    max_draws: Annotated[int, Range(least=1000)] = 200_000
    ensembles: Annotated[int, Range(least=2)] = 4
    walkers: Annotated[int | None, Range(least=4)] = None
    warm_up: Annotated[int, Range(least=10)] = 30
    independent: Annotated[float, INSIDE_UNIT] = 0.75
    straighten: bool = True
    starts: Annotated[int, Range(least=1)] = 1
    seed: Annotated[int, NOT_NEGATIVE] = 0
