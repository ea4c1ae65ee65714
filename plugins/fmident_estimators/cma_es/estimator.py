"""The estimator ``cma-es``."""

from __future__ import annotations

import importlib
import math
import sys
from collections import deque
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.options import NOT_NEGATIVE, POSITIVE, Options, Range
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationEstimator, PopulationSearch

_CONVERGED = ("tolx", "tolfun", "tolfunhist", "tolflatfitness", "relative")
"""The package's conditions, and our own, that mean that costs or steps no longer change."""

_USUAL_GENERATIONS = 100
"""Generations of one search in few parameters, to the default tolerances."""

_REASONS = {
    "tolx": "the steps became shorter than parameter_tolerance",
    "tolfun": "the costs came within cost_tolerance",
    "tolfunhist": "the best costs of the last generations came within cost_tolerance",
    "relative": "the best costs of the last generations came within relative_tolerance",
    "tolflatfitness": "all vectors of a generation cost the same",
    "tolstagnation": "the costs stopped falling",
}


@dataclass(frozen=True)
class CmaEsOptions(Options):
    """Keys of the ``[estimator]`` table.

    Parameters
    ----------
    population
        Vectors per generation; ``4 + 3 ln n`` for n parameters if absent.
    initial_step
        Standard deviation of the first generation around the initial point, as a fraction
        of the bounds.
    generations
        Maximum number of generations over all restarts.
    restarts
        Searches after the first, each from a random point.
    population_growth
        Factor on the population from one search to the next (IPOP).
    cost_tolerance
        A search ends when the costs of its last generations differ by less.
    relative_tolerance
        A search ends when the best costs of its last generations differ by less than this
        fraction; 0: never. Needed with noisy data, where the cost does not approach zero
        and simulation noise keeps its last digits, and hence the steps, from settling.
    parameter_tolerance
        A search ends when its steps are shorter than this fraction of the bounds.
    target_cost
        Converged when a cost is not above this.
    seed
        Seed of the random numbers.
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


class CmaEs(PopulationEstimator[CmaEsOptions]):
    """Covariance matrix adaptation in the search space, within the bounds, with restarts."""

    name: ClassVar[str] = "cma-es"
    summary: ClassVar[str] = "covariance matrix adaptation evolution strategy (cma), restarts"
    options_type: ClassVar[type[CmaEsOptions]] = CmaEsOptions

    def expected_simulations(self, options: CmaEsOptions, problem: Problem) -> int:
        """Return a rough number: a search takes some hundred generations (Hansen 2001)."""
        size = options.population or default_population(len(problem.free))
        usual = _USUAL_GENERATIONS * (options.restarts + 1)
        grown = sum(size * options.population_growth**run for run in range(options.restarts + 1))
        each = math.ceil(grown / (options.restarts + 1))
        return min(usual, options.generations) * each * len(problem.experiments)

    def search(self, search: PopulationSearch, options: CmaEsOptions) -> Estimate:
        """Search, with restarts if requested, and return the best vector of all."""
        generator = np.random.default_rng(options.seed)
        size = options.population or default_population(search.initial.size)
        start = search.initial
        ends: list[dict[str, object]] = []
        end, best_end = "", ""
        for run in range(options.restarts + 1):
            before = search.cost
            end = _one_search(search, start, size, options, generator, run)
            if options.restarts:
                search.end_search()
            if search.cost < before or not best_end:
                best_end = end
            ends.append({"population": size, "best_cost": search.cost, "ended_by": end})
            if end in ("target", "generations"):
                break
            size = math.ceil(size * options.population_growth)
            start = generator.random(start.size)
        return _finish(search, end, best_end, ends, options)


def default_population(parameters: int) -> int:
    """Return the population size that the package recommends."""
    return 4 + int(3.0 * math.log(parameters))


def _one_search(
    search: PopulationSearch,
    start: F64,
    size: int,
    options: CmaEsOptions,
    generator: np.random.Generator,
    run: int,
) -> str:
    """Run until the package stops; return the name of the stopping condition."""
    strategy = _strategy(start, size, options, generator)
    # The number of generations that the package compares for its absolute tolerances.
    bests: deque[float] = deque(maxlen=10 + math.ceil(30.0 * start.size / size))
    while not (stop := strategy.stop()):
        if search.generations >= options.generations:
            return "generations"
        asked = strategy.ask()
        costs = search.evaluate(np.clip(np.array(asked), 0.0, 1.0))
        search.end_generation(costs, restart=float(run), step=float(strategy.sigma))
        if search.reached(options.target_cost):
            return "target"
        bests.append(float(np.min(costs)))
        if _settled(bests, options.relative_tolerance):
            return "relative"
        strategy.tell(asked, _ranked(costs).tolist())
    names = [name for name in stop if name in _CONVERGED]
    return names[0] if names else str(next(iter(stop)))


def _settled(bests: deque[float], tolerance: float) -> bool:
    low, high = min(bests), max(bests)
    full = len(bests) == bests.maxlen
    return full and math.isfinite(high) and high - low < tolerance * abs(low)


def _strategy(start: F64, size: int, options: CmaEsOptions, generator: np.random.Generator) -> Any:
    cma = imported_whole("cma")  # here, since it is slow to import and seldom needed
    settings: dict[str, object] = {
        "bounds": [0.0, 1.0],
        "popsize": size,
        "tolfun": options.cost_tolerance,
        "tolfunhist": options.cost_tolerance,
        "tolx": options.parameter_tolerance,
        "maxiter": math.inf,
        # Not from NumPy's global generator, whose state belongs to the user.
        "randn": lambda *shape: generator.standard_normal(shape),
        "seed": math.nan,
        "verbose": -10,
        "verb_log": 0,
        "signals_filename": "",
    }
    if start.size == 1:
        # Version 4.5 limits the standard deviation by a vector that it does not have in 1-D.
        settings["maxstd"] = math.inf
    return cma.CMAEvolutionStrategy(start, options.initial_step, settings)


def _ranked(costs: F64) -> F64:
    """Return finite costs of the same order, failed simulations last."""
    finite = np.isfinite(costs)
    if bool(finite.all()):
        return costs
    worst = float(np.max(costs[finite])) if bool(finite.any()) else 0.0
    return np.where(finite, costs, worst + max(abs(worst), 1.0))


def _finish(
    search: PopulationSearch,
    end: str,
    best_end: str,
    ends: list[dict[str, object]],
    options: CmaEsOptions,
) -> Estimate:
    details: dict[str, Any] = {"searches": ends} if len(ends) > 1 else {}
    if end == "target":
        reason = f"the target cost {options.target_cost:g} was reached"
        return search.finish("converged", reason, **details)
    if end == "generations" and end == best_end:
        reason = f"all {options.generations} generations were evaluated"
        return search.finish("limit", reason, **details)
    reason = _REASONS.get(best_end, f"the package's condition '{best_end}' ended the search")
    if len(ends) > 1:
        reason += f"; the best of {len(ends)} searches"
    if best_end in _CONVERGED:
        return search.finish("converged", reason, **details)
    return search.finish(
        "limit", reason, "limit" if best_end == "generations" else "stuck", **details
    )


def imported_whole(name: str) -> Any:
    """Import a package completely or not at all.

    ``cma`` imports matplotlib. If Ctrl-C interrupts that, Python forgets the package but
    keeps its completed submodules, which refer to the forgotten package: the report of the
    interrupted run could then not be drawn.
    """
    before = {module.partition(".")[0] for module in sys.modules}
    try:
        return importlib.import_module(name)
    except BaseException:
        for module in list(sys.modules):
            if module.partition(".")[0] not in before:
                del sys.modules[module]
        raise
