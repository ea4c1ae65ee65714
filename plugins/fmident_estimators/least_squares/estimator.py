"""The estimator ``least-squares``: local searches from one or several starts.

Further searches, from points that promise something, where the first does not explain the data.

A search that crawls along, or ends in a local minimum, mostly does so since it started in the wrong
place, and then another start costs less than going on. The costs of points all over the bounds
show which: a simulation each, without derivatives. From the best of them searches start one after
the other, none of which may take long, until one explains the data.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError
from fmident.estimation.contract import Estimate, Estimator, Monitor
from fmident.estimation.searches import agreeing
from fmident.evaluation import EventMatching, JacobianError
from fmident.evaluation.contract import Evaluator
from fmident.problem.model import Problem
from fmident.problem.priors import Priors
from fmident.statistics import ResidualScores
from fmident_estimators.least_squares import ceres_solver, scipy_solver
from fmident_estimators.least_squares.events import breaks_at_start, past_events
from fmident_estimators.least_squares.losses import robust_cost, scores
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.least_squares.progress import LocalResult, Progress
from fmident_estimators.least_squares.search import LocalSearch
from fmident_estimators.least_squares.truncated import truncated_estimate
from fmident_estimators.population import without_bounds

_USUAL_ITERATIONS = 5
_MANY_ITERATIONS = 20

_REFINED = 40
"""Simulations per parameter of the derivatives near the end of a search that has to go far."""
"""Of a search that converges from a reasonable start; for the expected effort only."""


_LONG = 100
"""Iterations of the search from the initial point before others are tried."""

_SHORT = 15
"""Iterations of each of these, which have better starts."""

MOST_SEARCHES = 6
"""From so many candidates at most."""


class LeastSquares(Estimator[LeastSquaresOptions]):
    """Nonlinear least squares with bounds, robust losses and several starts."""

    name: ClassVar[str] = "least-squares"
    summary: ClassVar[str] = (
        "Levenberg-Marquardt (Ceres) or trust region (SciPy), bounds, robust losses, multi-start"
    )
    descends: ClassVar[bool] = True
    options_type: ClassVar[type[LeastSquaresOptions]] = LeastSquaresOptions

    def check_problem(self, problem: Problem, options: LeastSquaresOptions) -> None:
        """Reject starts and candidates without finite bounds, and robust losses with priors."""
        if options.starts > 1:
            _refuse_open_bounds(problem, f"starts = {options.starts}")
        if options.candidates:
            _refuse_open_bounds(problem, f"candidates = {options.candidates}")
        _refuse_bounded_priors(problem, options)
        _refuse_truncated(problem, options)

    def holds_directions(self, options: LeastSquaresOptions) -> bool:
        """Return whether the singular value decomposition is truncated."""
        return options.truncate is not None

    def expected_simulations(self, options: LeastSquaresOptions, problem: Problem) -> int:
        """Return the simulations for difference steps and some iterations per start."""
        variable_count = sum(q.variable is not None for q in problem.free)
        columns = variable_count * (2 if problem.evaluation.difference == "central" else 1)
        search = min(options.max_iterations, _USUAL_ITERATIONS) * (1 + columns)
        return len(problem.experiments) * (7 + 2 * variable_count + options.starts * search)

    def most_simulations(self, options: LeastSquaresOptions, problem: Problem) -> int:
        """Return the simulations of a long search from each start, with exact derivatives last."""
        variable_count = sum(q.variable is not None for q in problem.free)
        columns = variable_count * (2 if problem.evaluation.difference == "central" else 1)
        search = (
            min(options.max_iterations, _MANY_ITERATIONS) * (1 + columns)
            + _REFINED * variable_count
        )
        searches = options.starts + min(options.candidates, MOST_SEARCHES)
        single = 7 + 5 * variable_count + options.candidates
        return len(problem.experiments) * (single + searches * search)

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: LeastSquaresOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search from all starts in parallel, and return the best local minimum.

        Raises `ProblemError` for several starts without finite bounds and for a robust loss
        with priors; `JacobianError` if all simulations near a single start fail.
        """
        _refuse_bounded_priors(problem, options)
        _refuse_truncated(problem, options)
        solve = ceres_solver.solve if options.solver == "ceres" else scipy_solver.solve
        progress = Progress(monitor, options.starts)
        points = starting_points(problem, evaluator, options)
        breaks = breaks_at_start(problem, evaluator)

        def cost_of(points: F64) -> F64:
            return _costs(evaluator, points, options)

        costs = cost_of(points)
        if len(points) > 1:
            for k in np.flatnonzero(np.isfinite(costs)):
                progress.report(points[k], float(costs[k]), int(k) + 1)

        def search_from(number: int) -> Callable[[Evaluator], LocalResult]:
            start = points[number - 1]
            return lambda own: LocalSearch(problem, own, options, progress, start, number).run(
                solve
            )

        searches = [search_from(k) for k, cost in enumerate(costs, 1) if np.isfinite(cost)]
        skipped = len(points) - len(searches)
        if options.candidates and searches:
            more = np.vstack([points, hypercube(problem, evaluator, options.candidates, options)])
            results = search_with_candidates(
                problem, evaluator, options, progress, solve, cost_of, more
            )
        elif len(points) == 1:
            results = [search(evaluator) for search in searches]
        else:
            # Those that give up leave the others alone; what they found was reported.
            ends = evaluator.side_by_side(searches)
            results = [end for end in ends if not isinstance(end, JacobianError)]
        abandoned = len(searches) - len(results)
        if not results:
            return Estimate(
                problem.initial if progress.best.size == 0 else progress.best,
                "failed",
                f"no search reached an end; last failed simulation: {evaluator.last_failure}",
            )
        best = past_events(problem, evaluator, options, progress, solve, results, breaks)
        if options.truncate is not None:
            return truncated_estimate(problem, evaluator, options, monitor, solve, best)
        if options.loss != "linear":
            monitor.note(
                f"The loss '{options.loss}' was minimised; the cost shown is half the plain sum of "
                "squares. The intervals are those of this loss, with the noise that the residuals "
                "show: outliers widen them little."
            )
        message = best.message
        if len(points) > 1:
            reached = agreeing([r.cost for r in results], best.cost)
            message += f"; {reached} of {len(points)} starts reached the best minimum"
            if skipped:
                message += f", {skipped} could not be simulated"
            if abandoned:
                message += f", {abandoned} given up among failing simulations"
        details = {"local_results": [r.as_mapping() for r in results]} if len(points) > 1 else {}
        return Estimate(
            best.parameters,
            best.status,
            message,
            details,
            residual_scores=_scores(evaluator, best.parameters, options),
            ended_by=best.ended_by,
        )


def _scores(evaluator: Evaluator, p: F64, options: LeastSquaresOptions) -> ResidualScores | None:
    """Return the scores of the residuals if a robust loss was minimised."""
    if options.loss == "linear":
        return None
    residuals = evaluator.residuals(p)
    if not bool(np.isfinite(residuals).all()):
        return None
    return scores(options.loss, options.loss_scale, residuals)


def _costs(evaluator: Evaluator, points: F64, options: LeastSquaresOptions) -> F64:
    """Return the costs at points as one batch, robust loss included, (k, n) -> (k,)."""
    if options.loss == "linear":
        return evaluator.costs(points)
    residuals = evaluator.residuals_many(points)
    costs = [robust_cost(options.loss, options.loss_scale, row) for row in residuals]
    return np.where(np.isfinite(costs), costs, np.inf)


def starting_points(problem: Problem, evaluator: Evaluator, options: LeastSquaresOptions) -> F64:
    """Return the starts in physical units, shape (starts, n); the first is the initial point.

    The others are a Latin hypercube (McKay, Beckman and Conover, Technometrics 21, 1979) in
    the search space, so that a parameter with log scaling is spread over its decades.
    """
    if options.starts == 1:
        return problem.initial[np.newaxis, :]
    _refuse_open_bounds(problem, f"starts = {options.starts}")
    return np.vstack([problem.initial, hypercube(problem, evaluator, options.starts - 1, options)])


def hypercube(
    problem: Problem, evaluator: Evaluator, count: int, options: LeastSquaresOptions
) -> F64:
    """Return points of a Latin hypercube within the bounds, physical, shape (count, n)."""
    space = evaluator.space
    unit = _latin_hypercube(count, len(problem.free), options.seed)
    points = space.to_physical(space.lower + unit * (space.upper - space.lower))
    inside: F64 = np.clip(points, problem.lower, problem.upper)
    return inside


def _refuse_bounded_priors(problem: Problem, options: LeastSquaresOptions) -> None:
    if options.loss != "linear" and Priors.of(problem).count:
        raise ProblemError(
            f"the loss '{options.loss}' would also bound what priors count",
            hint='use loss = "linear", or remove the priors',
            code=Code.NOT_SUPPORTED,
        )


def _refuse_truncated(problem: Problem, options: LeastSquaresOptions) -> None:
    if options.truncate is None:
        return
    what = ""
    if Priors.of(problem).count:
        what = "priors, which are another way to regularise"
    elif any(m.noise is not None for e in problem.experiments for m in e.measurements):
        what = "a model of the noise"
    elif problem.constraints:
        what = "constraints"
    elif not problem.cost.gives_intervals:
        what = f"the cost '{problem.cost.name}', which has no standard errors"
    if what:
        raise ProblemError(
            f"truncate does not go together with {what}",
            hint="leave one of them out",
            code=Code.NOT_SUPPORTED,
        )


def _refuse_open_bounds(problem: Problem, option: str) -> None:
    if open_ones := without_bounds(problem):
        raise ProblemError(
            f"{option} needs finite bounds, but these have none: " + ", ".join(open_ones),
            hint=f"give each of them bounds = [low, high], or leave out {option}",
            code=Code.MISSING_BOUNDS,
        )


def _latin_hypercube(count: int, dimension: int, seed: int) -> F64:
    """Return points in the unit cube, shape (count, dimension), one in each of `count` slices."""
    generator = np.random.default_rng(seed)
    slices = np.column_stack([generator.permutation(count) for _ in range(dimension)])
    points: F64 = (slices + generator.random((count, dimension))) / count
    return points


@dataclass(frozen=True)
class _End:
    """Result of one search, if any, and whether it explains the data."""

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
    """Return the result of the best search; empty if no search could run.

    `costs` returns the costs of points, (k, n) -> (k,), infinite where the simulation
    fails. `points` are the start, which can be simulated, and the candidates, physical,
    shape (1 + k, n).
    """
    matching = EventMatching(problem)

    def search_from(start: F64, iterations: int, number: int) -> _End:
        most = min(iterations, options.max_iterations)
        limits = dataclasses.replace(options, max_iterations=most)
        try:
            result = LocalSearch(problem, evaluator, limits, progress, start, number).run(solve)
        except JacobianError:
            return _End()
        explained = matching.usable and matching.explained(evaluator.residuals(result.parameters))
        return _End(result, explained, result.iterations >= most)

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
