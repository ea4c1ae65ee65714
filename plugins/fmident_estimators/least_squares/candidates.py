"""Further searches, from points that promise something, where the first does not explain the data.

A search that crawls along, or ends in a local minimum, mostly does so since it started in the wrong
place, and then another start costs less than going on. The costs of points all over the bounds
show which: a simulation each, without derivatives. From the best of them searches start one after
the other, none of which may take long, until one explains the data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.evaluation import EventMatching, JacobianError
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.least_squares.progress import LocalResult, Progress
from fmident_estimators.least_squares.search import LocalSearch

_LONG = 100
"""Iterations of the search from the initial point before others are tried."""

_SHORT = 15
"""Iterations of each of these, which have better starts."""

MOST_SEARCHES = 6
"""From so many candidates at most."""


@dataclass(frozen=True)
class _End:
    """Of one search: what it found, if anything, and whether that explains the data."""

    found: LocalResult | None = None
    explained: bool = False
    unfinished: bool = False

    @property
    def cost(self) -> float:
        return np.inf if self.found is None else self.found.cost


Solve = Callable[[LocalSearch], LocalResult]
Costs = Callable[[F64], F64]


def search_with_candidates(
    problem: Problem,
    evaluator: Evaluator,
    options: LeastSquaresOptions,
    progress: Progress,
    solve: Solve,
    costs: Costs,
    points: F64,
) -> list[LocalResult]:
    """Return the end of the best search; none if no search could go on.

    Parameters
    ----------
    problem, evaluator, options, progress
        Of the run.
    solve
        Runs a search.
    costs
        Of points, (k, n) -> (k,); infinite where the simulation fails.
    points
        The first, where the simulation works, and the candidates, physical, shape (1 + k, n).
    """
    matching = EventMatching(problem)

    def search_from(start: F64, iterations: int, number: int) -> _End:
        most = min(iterations, options.max_iterations)
        limits = dataclasses.replace(options, max_iterations=most)
        try:
            found = LocalSearch(problem, evaluator, limits, progress, start, number).run(solve)
        except JacobianError:
            return _End()
        explained = matching.usable and matching.explained(evaluator.residuals(found.parameters))
        return _End(found, explained, found.iterations >= most)

    best = search_from(points[0], _LONG, 1)
    if not best.explained:
        candidates = costs(points[1:])
        order = [int(k) for k in np.argsort(candidates)[:MOST_SEARCHES]]
        for number, k in enumerate(order, 2):
            if best.explained or not np.isfinite(candidates[k]):
                break
            end = search_from(points[1 + k], _SHORT, number)
            best = min(best, end, key=lambda one: one.cost)
    if best.found is not None and best.unfinished:
        best = min(
            best,
            search_from(best.found.parameters, options.max_iterations, 1),
            key=lambda one: one.cost,
        )
    return [] if best.found is None else [best.found]
