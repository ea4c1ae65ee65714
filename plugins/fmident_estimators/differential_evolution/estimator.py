"""The estimator ``differential-evolution``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from scipy.optimize import Bounds, differential_evolution

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.options import FRACTION, Range
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationEstimator, PopulationSearch, SettlingOptions

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_PER_PARAMETER = 15

Strategy = Literal[
    "best1bin", "best1exp", "best2bin", "best2exp", "rand1bin", "rand1exp", "rand2bin", "rand2exp",
    "randtobest1bin", "randtobest1exp", "currenttobest1bin", "currenttobest1exp",
]  # fmt: skip


@dataclass(frozen=True)
class DifferentialEvolutionOptions(SettlingOptions):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors per generation, at least 5; 15 for each parameter if absent.
    strategy
        Scheme of mutation and crossover.
    mutation
        Smallest and largest factor on the difference of two vectors, drawn anew for each
        generation.
    recombination
        Probability that a component comes from the mutant.
    """

    population: Annotated[int | None, Range(least=5)] = None
    strategy: Strategy = "best1bin"
    mutation: tuple[float, float] = (0.5, 1.0)
    recombination: Annotated[float, FRACTION] = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.mutation
        if not 0.0 <= low <= high < 2.0:
            raise ValueError(f"mutation must be [low, high] inside [0, 2[, not [{low}, {high}]")


class DifferentialEvolution(PopulationEstimator[DifferentialEvolutionOptions]):
    """SciPy's differential evolution in the search space, one batch per generation."""

    name: ClassVar[str] = "differential-evolution"
    summary: ClassVar[str] = "differential evolution (SciPy), a generation as one batch"
    options_type: ClassVar[type[DifferentialEvolutionOptions]] = DifferentialEvolutionOptions

    def expected_simulations(self, options: DifferentialEvolutionOptions, problem: Problem) -> int:
        """Return the vectors of all generations; the tolerances usually end the run earlier."""
        count = population_size(options, len(problem.free))
        return (options.generations + 1) * count * len(problem.experiments)

    def search(self, search: PopulationSearch, options: DifferentialEvolutionOptions) -> Estimate:
        """Search generation by generation and return the best vector of all."""
        generator = np.random.default_rng(options.seed)
        count = population_size(options, search.initial.size)
        first = search.first_generation(count, generator)

        def costs_of(columns: F64, /) -> Any:
            costs = search.evaluate(np.clip(columns.T, 0.0, 1.0))
            search.end_generation(costs)
            if search.reached(options.target_cost):
                raise _TargetReached
            return costs

        reason: str | None = None

        # The name of the argument tells SciPy to pass the population.
        def watch(intermediate_result: OptimizeResult) -> None:
            nonlocal reason
            energies = intermediate_result.population_energies
            reason = options.settled(intermediate_result.population, energies)
            if reason:
                raise StopIteration

        try:
            with warnings.catch_warnings():
                # Failed simulations cost infinity, whose mean and spread are not numbers.
                warnings.simplefilter("ignore", RuntimeWarning)
                differential_evolution(
                    costs_of,
                    Bounds(np.zeros(first.shape[1]), np.ones(first.shape[1])),
                    strategy=options.strategy,
                    maxiter=options.generations,
                    tol=0.0,
                    mutation=options.mutation,
                    recombination=options.recombination,
                    rng=generator,
                    init=first,
                    callback=watch,
                    polish=False,
                    updating="deferred",
                    vectorized=True,
                )
        except _TargetReached:
            return search.at_target(options.target_cost)
        return search.converged(reason) if reason else search.at_limit(options.generations)


class _TargetReached(Exception):  # noqa: N818 - ends a solver that has no such limit
    """Raised when a cost is not above the target."""


def population_size(options: DifferentialEvolutionOptions, parameters: int) -> int:
    """Return the number of vectors per generation."""
    return options.population or max(5, _PER_PARAMETER * parameters)
