"""The estimator ``least-squares``: local searches from one or several starts.

**Candidates.** A search that makes little progress, or ends in a local minimum, usually started in
the wrong place, and another start then costs less than going on. Where the first search does not
explain the data, the costs of points all over the bounds show better starts: a simulation each,
without derivatives. From the best of them short searches start one after the other, until one
explains the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.estimation.monitor import agreeing
from fmident.evaluation import Evaluator, EventMatching, JacobianError
from fmident.problem.model import Problem
from fmident_estimators.descent import simulations_of_a_jacobian
from fmident_estimators.least_squares.events import past_events
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.least_squares.search import (
    LeastSquaresProblem,
    LocalResult,
    Progress,
    TrustRegionSearch,
)
from fmident_estimators.losses import Loss
from fmident_estimators.population import UnitCube, latin_hypercube

_USUAL_ITERATIONS = 5
"""Iterations of a search from a reasonable start; for the expected effort only."""

_MANY_ITERATIONS = 20

_REFINED = 40
"""Simulations per parameter of the derivatives near the end of a long search."""

_LONG = 100
"""Iterations of the search from the initial point before candidates are tried."""

_SHORT = 15
"""Iterations of each search from a candidate, which is a better start."""

MOST_SEARCHES = 6
"""Searches from candidates, at most."""


class LeastSquares(Estimator[LeastSquaresOptions]):
    """Nonlinear least squares with bounds, robust losses and several starts."""

    name: ClassVar[str] = "least-squares"
    summary: ClassVar[str] = "trust region (SciPy), bounds, robust losses, multi-start"
    descends: ClassVar[bool] = True
    options_type: ClassVar[type[LeastSquaresOptions]] = LeastSquaresOptions

    def check_problem(self, problem: Problem, options: LeastSquaresOptions) -> None:
        """Reject starts and candidates without bounds, and a loss that cannot weigh priors."""
        if options.starts > 1:
            UnitCube.of(problem, f"starts = {options.starts}")
        if options.candidates:
            UnitCube.of(problem, f"candidates = {options.candidates}")
        Loss.of(problem, options.loss, options.loss_scale)

    def expected_simulations(self, options: LeastSquaresOptions, problem: Problem) -> int:
        """Return the simulations for difference steps and some iterations per start."""
        variables, columns = simulations_of_a_jacobian(problem)
        search = min(options.max_iterations, _USUAL_ITERATIONS) * (1 + columns)
        return len(problem.experiments) * (7 + 2 * variables + options.starts * search)

    def most_simulations(self, options: LeastSquaresOptions, problem: Problem) -> int:
        """Return the simulations of a long search from each start, with exact derivatives last."""
        variables, columns = simulations_of_a_jacobian(problem)
        search = min(options.max_iterations, _MANY_ITERATIONS) * (1 + columns)
        search += _REFINED * variables
        searches = options.starts + min(options.candidates, MOST_SEARCHES)
        single = 7 + 5 * variables + options.candidates
        return len(problem.experiments) * (single + searches * search)

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: LeastSquaresOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search from all starts in parallel, and return the best local minimum.

        Raises `ProblemError` for several starts without finite bounds, and for a robust loss with
        priors but without sigma; `JacobianError` if all simulations near a single start fail.
        """
        if options.solver == "ceres":
            monitor.note(
                'solver = "ceres" was removed: SciPy\'s trust region finds the same minima. Leave'
                " the key out."
            )
        progress = Progress(monitor, options.starts)
        least_squares = LeastSquaresProblem(problem, evaluator, options, progress)
        points = starting_points(problem, options)
        breaks = EventMatching(problem).may_move(evaluator, problem.initial)
        costs = _costs(evaluator, points, least_squares.loss)
        usable = np.flatnonzero(np.isfinite(costs)).tolist()
        abandoned = 0
        results: Sequence[LocalResult] = ()
        if len(points) > 1:
            for k in usable:
                progress.report(points[k], float(costs[k]), k + 1)
            ends = evaluator.side_by_side(
                [_search(least_squares, points[k], k + 1) for k in usable]
            )
            # Those that give up leave the others alone; their best points were reported.
            results = [end for end in ends if not isinstance(end, JacobianError)]
            abandoned = len(ends) - len(results)
        elif options.candidates and usable:
            more = hypercube(problem, options.candidates, options.seed, "candidates")
            results = search_with_candidates(least_squares, points[0], more)
        elif usable:
            results = [TrustRegionSearch(least_squares, points[0]).run()]
        if not results:
            return Estimate(
                problem.initial if progress.best.size == 0 else progress.best,
                "failed",
                f"no search reached an end; last failed simulation: {evaluator.last_failure}",
            )
        best = past_events(least_squares, results, breaks)
        if least_squares.loss.robust:
            monitor.note(least_squares.loss.note)
        message, details = best.message, {}
        if len(points) > 1:
            details = {"local_results": [r.as_mapping() for r in results]}
            reached = agreeing([r.cost for r in results], best.cost)
            message += f"; {reached} of {len(points)} starts reached the best minimum"
            if len(usable) < len(points):
                message += f", {len(points) - len(usable)} could not be simulated"
            if abandoned:
                message += f", {abandoned} given up among failing simulations"
        return Estimate(
            best.parameters,
            best.status,
            message,
            details,
            residual_scores=least_squares.loss.scores(evaluator.residuals(best.parameters)),
            ended_by=best.ended_by,
        )


def _search(
    least_squares: LeastSquaresProblem, start: F64, number: int
) -> Callable[[Evaluator], LocalResult]:
    return lambda own: TrustRegionSearch(replace(least_squares, evaluator=own), start, number).run()


def _costs(evaluator: Evaluator, points: F64, loss: Loss) -> F64:
    """Return the costs at points as one batch, robust loss included, (k, n) -> (k,)."""
    if not loss.robust:
        return evaluator.costs(points)
    costs = [loss.cost(row) for row in evaluator.residuals_many(points)]
    return np.where(np.isfinite(costs), costs, np.inf)


def starting_points(problem: Problem, options: LeastSquaresOptions) -> F64:
    """Return the starts in physical units, shape (starts, n); the first is the initial point.

    The others are a Latin hypercube in the search space, so that a parameter with log scaling
    is spread over its decades.
    """
    if options.starts == 1:
        return problem.initial[np.newaxis, :]
    others = hypercube(problem, options.starts - 1, options.seed, "starts")
    return np.vstack([problem.initial, others])


def hypercube(problem: Problem, count: int, seed: int, what: str) -> F64:
    """Return points within the bounds, which `what` needs, physical, shape (count, n)."""
    generator = np.random.default_rng(seed)
    unit = latin_hypercube(count, len(problem.free), generator)
    return UnitCube.of(problem, what).physical(unit)


@dataclass(frozen=True)
class _Candidate:
    """Result of the search from a candidate, if any, and whether it explains the data."""

    result: LocalResult | None = None
    explained: bool = False
    unfinished: bool = False

    @property
    def cost(self) -> float:
        return np.inf if self.result is None else self.result.cost


def search_with_candidates(
    least_squares: LeastSquaresProblem, start: F64, candidates: F64
) -> list[LocalResult]:
    """Return the result of the best search; empty if no search could run.

    `start` can be simulated; it is physical, as the `candidates`, shape (k, n).
    """
    evaluator, options = least_squares.evaluator, least_squares.options
    matching = EventMatching(least_squares.problem)

    def search_from(start: F64, iterations: int, number: int) -> _Candidate:
        most = min(iterations, options.max_iterations)
        limited = replace(least_squares, options=replace(options, max_iterations=most))
        try:
            result = TrustRegionSearch(limited, start, number).run()
        except JacobianError:
            return _Candidate()
        explained = matching.usable and matching.explained(evaluator.residuals(result.parameters))
        return _Candidate(result, explained, result.iterations >= most)

    best = search_from(start, _LONG, 1)
    if not best.explained:
        costs = _costs(evaluator, candidates, least_squares.loss)
        for number, k in enumerate(np.argsort(costs)[:MOST_SEARCHES], 2):
            if best.explained or not np.isfinite(costs[k]):
                break
            best = _better(best, search_from(candidates[k], _SHORT, number))
    if best.result is not None and best.unfinished:
        best = _better(best, search_from(best.result.parameters, options.max_iterations, 1))
    return [] if best.result is None else [best.result]


def _better(first: _Candidate, second: _Candidate) -> _Candidate:
    return second if second.cost < first.cost else first
