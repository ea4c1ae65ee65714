"""Common parts of the population methods: the unit cube of the search, and bookkeeping."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError
from fmident.estimation.contract import Ending, Estimate, Estimator, Monitor, Status
from fmident.evaluation import Evaluator
from fmident.options import NOT_NEGATIVE, Range
from fmident.options import Options as CheckedOptions
from fmident.problem import SearchSpace
from fmident.problem.model import Problem

Options = TypeVar("Options")


@dataclass(frozen=True)
class SettlingOptions(CheckedOptions):
    """When a population has converged.

    Parameters
    ----------
    generations
        Maximum number of generations, in differential evolution after the first.
    relative_tolerance, absolute_tolerance
        Converged when the standard deviation of the best costs of all members is not above the
        absolute one plus the relative one times their mean.
    parameter_tolerance
        Converged when the best points of all members lie within this fraction of the bounds of
        each other.
    target_cost
        Converged when a cost is not above this.
    seed
        Seed of the random numbers.
    """

    generations: Annotated[int, Range(least=1)] = 1000
    relative_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-6
    absolute_tolerance: Annotated[float, NOT_NEGATIVE] = 0.0
    parameter_tolerance: Annotated[float, NOT_NEGATIVE] = 1e-6
    target_cost: float | None = None
    seed: Annotated[int, NOT_NEGATIVE] = 0

    def settled(self, points: F64, costs: F64) -> str | None:
        """Return why the members have converged, ``None`` if they have not.

        `points` are their best ones in the unit cube, shape (k, n), and `costs` those of these.
        """
        if float(np.max(np.ptp(points, axis=0))) <= self.parameter_tolerance:
            return f"all members came within {self.parameter_tolerance:g} of the bounds' width"
        if not bool(np.isfinite(costs).all()):
            return None
        limit = self.absolute_tolerance + self.relative_tolerance * abs(np.mean(costs))
        return "the costs of all members converged" if float(np.std(costs)) <= limit else None


class PopulationSearch:
    """Keeps the best vector, initially the simulated initial point; reports every generation.

    `cube` maps the unit cube; `best` is physical, shape (n,). Raises `ProblemError` for
    parameters without finite bounds.
    """

    def __init__(
        self, problem: Problem, evaluator: Evaluator, monitor: Monitor, method: str
    ) -> None:
        self.cube = UnitCube.of(problem, f"'{method}'")
        self.best: F64 = problem.initial.copy()
        self.cost = float(evaluator.cost(problem.initial))
        self.initial_cost = self.cost
        self.generations = 0
        self._ends: tuple[F64, float] | None = None
        self._initial = problem.initial.copy()
        self._evaluator = evaluator
        self._monitor = monitor
        monitor.generation(self.best[np.newaxis], np.array([self.cost]))
        monitor.iteration(self.best, self.cost)

    @property
    def initial(self) -> F64:
        """The initial point in the unit cube, shape (n,)."""
        return self.cube.unit(self._initial)

    def first_generation(self, count: int, generator: np.random.Generator) -> F64:
        """Return the initial point and a Latin hypercube in the unit cube, shape (count, n)."""
        return np.vstack([self.initial, latin_hypercube(count - 1, self._initial.size, generator)])

    def evaluate(self, unit: F64) -> F64:
        """Return the costs of points of the unit cube as one batch; infinite for failures."""
        if len(unit) == 0:
            return np.empty(0)
        points = self.cube.physical(unit)
        costs = np.asarray(self._evaluator.costs(points), dtype=np.float64)
        costs = np.where(np.isnan(costs), np.inf, costs)
        self._monitor.generation(points, costs)
        first = int(np.argmin(costs))
        if self._ends is None or costs[first] < self._ends[1]:
            self._ends = points[first].copy(), float(costs[first])
        if costs[first] < self.cost:
            self.best, self.cost = points[first].copy(), float(costs[first])
        return costs

    def end_generation(self, costs: F64, **details: float) -> None:
        """Report a generation; `details` are additional columns of ``history.csv``."""
        self.generations += 1
        finite = costs[np.isfinite(costs)]
        figures = {"failed": float(costs.size - finite.size)}
        if finite.size:
            figures["generation_best"] = float(finite.min())
            figures["generation_median"] = float(np.median(finite))
            figures["generation_worst"] = float(finite.max())
        self._monitor.iteration(self.best, self.cost, **figures, **details)

    def end_search(self) -> None:
        """Report the best vector since the previous one of several searches."""
        if self._ends is not None:
            self._monitor.search_ended(*self._ends)
            self._ends = None

    def reached(self, target: float | None) -> bool:
        """Return whether the best cost is not above a target."""
        return target is not None and self.cost <= target

    def converged(self, reason: str) -> Estimate:
        """Return the best vector as the estimate, with the number of the last generation."""
        return self.finish("converged", f"{reason} in generation {self.generations}")

    def at_target(self, target: float | None) -> Estimate:
        """Return the estimate of a search that has reached its target."""
        return self.converged(f"the target cost {target:g} was reached")

    def at_limit(self, generations: int) -> Estimate:
        """Return the estimate of a search that has used all its generations."""
        return self.finish("limit", f"all {generations} generations were evaluated")

    def finish(
        self, status: Status, message: str, ended_by: Ending | None = None, **details: object
    ) -> Estimate:
        """Return the best vector as the estimate."""
        return Estimate(self.best, status, message, details, ended_by=ended_by)


@dataclass(frozen=True)
class UnitCube:
    """Map between the unit cube and the physical parameters within their bounds.

    A parameter with log scaling is uniform over its decades.
    """

    space: SearchSpace

    @classmethod
    def of(cls, problem: Problem, what: str) -> UnitCube:
        """Return the cube of the free parameters; `what` needs finite bounds, else refused."""
        space = SearchSpace.of(problem)
        open_ones = [
            f"'{parameter.name}' [{parameter.lower}, {parameter.upper}]"
            + (" with log scaling" if parameter.scaling == "log" else "")
            for parameter, low, high in zip(problem.free, space.lower, space.upper, strict=True)
            if not np.isfinite(low) or not np.isfinite(high)
        ]
        if open_ones:
            raise ProblemError(
                f"{what} searches inside finite bounds, but these have none: "
                + ", ".join(open_ones),
                hint="give each of them bounds = [low, high]; with log scaling, low is above 0",
                code=Code.MISSING_BOUNDS,
            )
        return cls(space)

    def physical(self, unit: F64) -> F64:
        """Return the physical parameters at points of the unit cube, shape (..., n)."""
        low, high = self.space.lower, self.space.upper
        return self.space.bounded(low + unit * (high - low))

    def unit(self, points: F64) -> F64:
        """Return the points of the unit cube for physical parameters, shape (..., n)."""
        low, high = self.space.lower, self.space.upper
        width = np.where(high > low, high - low, 1.0)
        inside: F64 = np.clip((self.space.from_physical(points) - low) / width, 0.0, 1.0)
        return inside


def latin_hypercube(count: int, dimension: int, generator: np.random.Generator) -> F64:
    """Return points in the unit cube, shape (count, dimension), one in each of `count` slices.

    McKay, Beckman and Conover, Technometrics 21, 1979.
    """
    slices = np.column_stack([generator.permutation(count) for _ in range(dimension)])
    points: F64 = (slices + generator.random(slices.shape)) / count
    return points


class PopulationEstimator(Estimator[Options], Generic[Options]):
    """Searches the unit cube between the bounds, generation by generation."""

    def check_problem(self, problem: Problem, options: Options) -> None:
        """Reject parameters without finite bounds."""
        UnitCube.of(problem, f"'{self.name}'")

    def estimate(
        self, problem: Problem, evaluator: Evaluator, options: Options, monitor: Monitor
    ) -> Estimate:
        """Search and return the best vector of all."""
        return self.search(PopulationSearch(problem, evaluator, monitor, self.name), options)

    @abstractmethod
    def search(self, search: PopulationSearch, options: Options) -> Estimate:
        """Evaluate generations, and return the result of :meth:`PopulationSearch.finish`."""
