"""The estimator ``special-genetic``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate
from fmident.options import NOT_NEGATIVE, Options, Range
from fmident.problem.model import Problem
from fmident_estimators.population import PopulationEstimator, PopulationSearch

Reason = Literal["target", "cost", "parameters", "range", "generations"]

_REASONS: dict[Reason, str] = {
    "target": "all survivors cost at most the target of {target_cost:g}",
    "cost": "the costs of all survivors came within {cost_tolerance:g}",
    "parameters": "all survivors came within {parameter_tolerance:g} of the bounds' width",
    "range": (
        "the range of the children shrank far below {parameter_tolerance:g} of the bounds' width"
    ),
}
"""Messages on the end of a search, filled in with the options."""

RANGE_FLOOR = 0.1
"""A cycle ends when the range of the children is below this part of ``parameter_tolerance``:
survivors that have not converged by then never will."""


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
        Children of each survivor (N_c).
    generations
        Maximum number of generations over all cycles (N_g).
    range_reduction
        Factor on the range of the children from one generation to the next (xi), in ]0, 1].
    start_from_initial
        Whether the initial point may survive, too; the published algorithm has none.
    cycles
        Number of times that the range shrinks. The published algorithm is one cycle; each
        further one starts from children of the best vector so far, to escape from a local
        minimum.
    cycle_range
        Smallest and largest range of the first children of a further cycle, as fractions of
        the bounds; drawn log-uniformly for each cycle.
    parameter_tolerance
        A cycle has converged when all survivors lie within this fraction of the bounds of
        each other, and ends anyway when the range of the children is below a tenth of it.
    cost_tolerance
        A cycle has converged when the costs of all survivors lie within this of the best
        one; 0 disables it.
    target_cost
        Converged when no survivor costs more than this; the best one usually costs far
        less.
    seed
        Seed of the random numbers.
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


class SpecialGenetic(PopulationEstimator[SpecialGeneticOptions]):
    """Children around the best vectors of all generations, in a shrinking range.

    All random numbers of a generation are drawn before it is simulated, so that a seed
    gives the same run with every executor.
    """

    name: ClassVar[str] = "special-genetic"
    summary: ClassVar[str] = (
        "special genetic algorithm (Ludwig, Gerstmayr): survivors, children, shrinking range"
    )
    options_type: ClassVar[type[SpecialGeneticOptions]] = SpecialGeneticOptions

    def expected_simulations(self, options: SpecialGeneticOptions, problem: Problem) -> int:
        """Return the vectors of all generations; a tolerance may end the run earlier."""
        each = options.survivors * options.children
        if options.cycles > 1:  # later cycles begin with an initial population, too
            each = max(each, options.initial_population)
        later = (options.generations - 1) * each
        return (options.initial_population + later) * len(problem.experiments)

    def search(self, search: PopulationSearch, options: SpecialGeneticOptions) -> Estimate:
        """Search generation by generation and return the best vector of all."""
        generator = np.random.default_rng(options.seed)
        size, width = options.initial_population, search.initial.size
        known = 1 if options.start_from_initial else 0
        reason: Reason = "generations"
        for number in range(1, options.cycles + 1):
            if number == 1:
                reach = 1.0
                points = generator.random((size, width))
            else:
                reach = float(np.exp(generator.uniform(*np.log(options.cycle_range))))
                best = search.cube.unit(search.best)[np.newaxis]
                points = offspring(best, size, reach, generator)
                known = 0
            survivors = np.repeat(search.initial[np.newaxis], known, axis=0)
            costs = np.full(known, search.initial_cost)
            cycle = Cycle(search, options, generator, number, reach, survivors, costs)
            reason = cycle.run(points)
            if reason in ("target", "generations"):
                break
        return _end(search, reason, number, options)


def _end(
    search: PopulationSearch, reason: Reason, cycle: int, options: SpecialGeneticOptions
) -> Estimate:
    if reason == "generations":
        return search.at_limit(options.generations)
    text = f"{_REASONS[reason].format(**vars(options))} in generation {search.generations}"
    if options.cycles > 1:
        text += f", cycle {cycle}"
    if reason == "range":
        text += ", before the survivors came together"
        return search.finish("limit", text, "stuck")
    return search.finish("converged", text)


@dataclass
class Cycle:
    """Survivors of one cycle, in the unit cube.

    All random numbers are drawn before a generation is simulated. `reach` is the range of
    the second generation, as a fraction of the bounds; cycles count from 1. The initial
    `survivors`, shape (k, n), may be empty.
    """

    search: PopulationSearch
    options: SpecialGeneticOptions
    generator: np.random.Generator
    number: int
    reach: float
    survivors: F64
    costs: F64

    def run(self, points: F64) -> Reason:
        """Evaluate generations, the first one at `points`; return why the cycle ended."""
        options = self.options
        while self.search.generations < options.generations:
            self._generation(points)
            if reason := self._reason():
                return reason
            if self.reach < RANGE_FLOOR * options.parameter_tolerance:
                return "range"
            points = offspring(self.survivors, options.children, self.reach, self.generator)
            self.reach *= options.range_reduction
        return "generations"

    def _generation(self, points: F64) -> None:
        costs = self.search.evaluate(points)
        self.survivors, self.costs = survivors_of(
            np.vstack([self.survivors, points]),
            np.concatenate([self.costs, costs]),
            self.options.survivors,
        )
        finite = self.costs[np.isfinite(self.costs)]
        self.search.end_generation(
            costs,
            cycle=float(self.number),
            survivor_worst=float(finite[-1]) if finite.size else np.inf,
            spread=self._spread(),
            next_range=self.reach,
        )

    def _spread(self) -> float:
        """Return the largest side of the box around the survivors, as a fraction of the bounds."""
        return float(np.max(np.ptp(self.survivors, axis=0)))

    def _reason(self) -> Reason | None:
        options, costs = self.options, self.costs
        if len(self.survivors) < options.survivors or not bool(np.isfinite(costs).all()):
            return None
        if options.target_cost is not None and costs[-1] <= options.target_cost:
            return "target"
        if options.cost_tolerance > 0.0 and costs[-1] - costs[0] <= options.cost_tolerance:
            return "cost"
        if len(costs) > 1 and self._spread() <= options.parameter_tolerance:
            return "parameters"
        return None


def distances(r: F64) -> F64:
    """Return ``s(r) = -sgn(r - 0.5) log(2 |r - 0.5|)``, 0 at 0.5 (eq. 23).

    For uniform `r` in [0, 1] it has the Laplace distribution of scale 1: most children are
    near, a few far away.
    """
    offset = r - 0.5
    middle = offset == 0.0
    safe = np.where(middle, 0.5, np.abs(offset))
    signed: F64 = np.where(middle, 0.0, -np.sign(offset) * np.log(2.0 * safe))
    return signed


def offspring(survivors: F64, children: int, reach: float, generator: np.random.Generator) -> F64:
    """Return the children of all survivors, clipped to the unit cube (eqs. 10 and 24).

    There are `children` of each; `reach` is ``xi^(g-1)``, the range of generation g + 1.
    The result has the shape (k * children, n) and is sorted by parent.
    """
    parents = np.repeat(survivors, children, axis=0)
    inside: F64 = np.clip(parents + distances(generator.random(parents.shape)) * reach, 0.0, 1.0)
    return inside


def survivors_of(points: F64, costs: F64, count: int) -> tuple[F64, F64]:
    """Return the at most `count` best vectors and their costs, best first.

    Of equal costs the earlier vector survives. A failed simulation has infinite cost and so
    survives only when nothing else is left. Equal vectors survive once.
    """
    chosen: list[int] = []
    seen: set[bytes] = set()
    for i in np.argsort(costs, kind="stable"):
        key = points[i].tobytes()
        if key not in seen:
            seen.add(key)
            chosen.append(int(i))
        if len(chosen) == count:
            break
    return points[chosen], costs[chosen]
