"""The estimator ``posterior``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError
from fmident.estimation.contract import Draws, Estimate, Estimator, Monitor
from fmident.evaluation import JacobianError
from fmident.evaluation.contract import Evaluator
from fmident.problem import Priors, Problem
from fmident_estimators.least_squares.estimator import LeastSquares
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.packages import imported
from fmident_estimators.posterior.ensembles import Ensembles
from fmident_estimators.posterior.target import PosteriorOptions, Target
from fmident_estimators.posterior.valley import Valley

_ROUND = 50
"""Draws of each walker between two looks at convergence, at the least."""

_KEPT = 20_000
"""Draws that are returned at most: more would make files large and quantiles no better."""

_FEWEST = 20
"""Draws of each walker that are worth keeping after an interruption."""


class Posterior(Estimator[PosteriorOptions]):
    """Draws from the posterior, started and preconditioned by least squares."""

    name: ClassVar[str] = "posterior"
    summary: ClassVar[str] = (
        "draws from the posterior distribution (emcee, judged by ArviZ), priors, bent valleys"
    )
    any_cost: ClassVar[bool] = False
    takes_priors: ClassVar[bool | None] = True
    descends: ClassVar[bool] = True
    options_type: ClassVar[type[PosteriorOptions]] = PosteriorOptions
    trials: ClassVar[tuple[Mapping[str, Any], ...]] = ({"effective": 400, "r_hat": 1.05},)

    def check_problem(self, problem: Problem, options: PosteriorOptions) -> None:
        """Reject a cost that is not a likelihood, and problems that least squares rejects."""
        for package in ("emcee", "arviz_stats.base"):
            imported(package, self.name, "posterior")
        if not problem.cost.gives_intervals:
            raise ProblemError(
                f"the cost '{problem.cost.name}' is not a likelihood, so that there is no posterior"
                " distribution",
                hint="use the time-domain cost as it is by default",
                code=Code.NOT_SUPPORTED,
            )
        LeastSquares().check_problem(problem, _search_options(options))

    def expected_simulations(self, options: PosteriorOptions, problem: Problem) -> int:
        """Return the simulations at an acceptance of four in five, plus a tenth for the rest."""
        search = LeastSquares().expected_simulations(_search_options(options), problem)
        return search + round(3.3 * options.effective) * len(problem.experiments)

    def most_simulations(self, options: PosteriorOptions, problem: Problem) -> int:
        """Return the maximum number of draws."""
        search = LeastSquares().most_simulations(_search_options(options), problem)
        return search + options.max_draws * len(problem.experiments)

    def minimise(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: PosteriorOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search for the minimum of the cost only."""
        self.check_problem(problem, options)
        return LeastSquares().estimate(problem, evaluator, _search_options(options), monitor)

    def estimate(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: PosteriorOptions,
        monitor: Monitor,
    ) -> Estimate:
        """Search for the minimum of the cost, and draw around it until the diagnostics converge.

        Raises `ProblemError` if the cost is not a likelihood; `EstimationError` if a package is
        missing, or the data leave a parameter without bounds and prior open; `JacobianError` if
        the Jacobian cannot be computed at the minimum.
        """
        least = self.minimise(problem, evaluator, options, monitor)
        best = least.parameters
        if least.status == "failed":
            return least
        samples = evaluator.residuals(best).size - Priors.of(problem).count
        target = Target(problem, evaluator, samples)
        valley, noise = _valley_at(problem, evaluator, best, samples)
        if options.straighten:
            generator = np.random.default_rng([options.seed, options.ensembles])
            valley.straighten(target, evaluator, noise, generator)
        return _Run(problem, evaluator, options, monitor, best, least.message).draw(target, valley)


def _search_options(options: PosteriorOptions) -> LeastSquaresOptions:
    return LeastSquaresOptions(starts=options.starts, seed=options.seed)


def _valley_at(
    problem: Problem, evaluator: Evaluator, best: F64, samples: int
) -> tuple[Valley, float]:
    """Return coordinates from the Jacobian at the minimum, and the noise of the residuals."""
    noise = 1.0
    if not problem.sigma_known:
        data = evaluator.residuals(best)[:samples]
        noise = float(np.sqrt(data @ data / max(samples - best.size, 1)))
    space = evaluator.space
    if not noise > 0.0:
        raise EstimationError(
            "the residuals vanish, and nothing else is known of the noise of the data: there is no"
            " posterior distribution",
            hint="give sigma for each output, such as the accuracy of the sensor",
        )
    information = evaluator.jacobian(best) * space.derivative(best) / noise
    widths = (space.upper - space.lower) / np.sqrt(12.0)
    try:
        return Valley(space.from_physical(best), information, widths), noise
    except np.linalg.LinAlgError as error:
        open_ones = [
            f"'{q.name}'"
            for q, width in zip(problem.free, widths, strict=True)
            if not np.isfinite(width)
        ]
        raise EstimationError(
            f"the data leave a direction of the parameters open ({error}), and there are neither"
            f" bounds nor priors that close it: {', '.join(open_ones)}",
            hint="give each parameter bounds, or a prior",
            code=Code.MISSING_BOUNDS,
        ) from error


class _Run:
    """Draws until convergence, the maximum number of draws, or an interruption."""

    def __init__(
        self,
        problem: Problem,
        evaluator: Evaluator,
        options: PosteriorOptions,
        monitor: Monitor,
        best: F64,
        search: str,
    ) -> None:
        self._problem, self._evaluator, self._options = problem, evaluator, options
        self._monitor, self._best, self._search = monitor, best, search
        self._cost = evaluator.cost(best)

    def draw(self, target: Target, valley: Valley) -> Estimate:
        """Return the medians as the estimate, with the draws."""
        ensembles = Ensembles(target, valley, self._options)
        most = max(self._options.max_draws // (ensembles.walkers * self._options.ensembles), 1)
        draws: Draws | None = None
        try:
            while ensembles.draws < most:
                wanted = max(_ROUND + self._options.warm_up, ensembles.draws // 2)
                ensembles.run(self._evaluator, min(wanted, most - ensembles.draws))
                draws = self._judged(ensembles, target)
                self._report(draws, ensembles)
                if self._converged(draws):
                    break
        except (KeyboardInterrupt, JacobianError) as end:
            if isinstance(end, JacobianError) and ensembles.draws == 0:
                raise
            if ensembles.draws < self._options.warm_up + _FEWEST:
                raise
            return self._interrupted(self._judged(ensembles, target))
        assert draws is not None
        middle = np.median(draws.values.reshape(-1, self._best.size), axis=0)
        summary = (
            f"{draws.count} draws kept of {ensembles.walkers * self._options.ensembles} walkers"
        )
        summary += f", {_worst(draws)}; {ensembles.accepted:.0%} accepted"
        details = {
            "least_cost": {"parameters": self._best.tolist(), "cost": self._cost},
            "search": self._search,
            "accepted": ensembles.accepted,
            "noise": "given" if self._problem.sigma_known else "integrated out, Jeffreys' prior",
        }
        if self._converged(draws):
            return Estimate(
                middle, "converged", f"the draws agree: {summary}", details, draws=draws
            )
        return Estimate(
            middle,
            "limit",
            f"max_draws = {self._options.max_draws} were drawn before they agreed: {summary}",
            details,
            draws=draws,
        )

    def _interrupted(self, found: Draws) -> Estimate:
        message = f"interrupted after {found.count} draws ({_worst(found)}); the least cost so far"
        return Estimate(self._best, "interrupted", message, draws=found)

    def _converged(self, found: Draws) -> bool:
        least = min(float(found.bulk.min()), float(found.tail.min()))
        return least >= self._options.effective and float(found.r_hat.max()) < self._options.r_hat

    def _judged(self, ensembles: Ensembles, target: Target) -> Draws:
        """Return the draws after the warm-up with the diagnostics of ArviZ."""
        judge = imported("arviz_stats.base", "posterior", "posterior").array_stats
        skipped = max(self._options.warm_up, ensembles.draws // 4)
        chains = ensembles.chains(min(skipped, ensembles.draws - 4))
        points, count = chains.points, self._best.size

        def each(function: str, **options: object) -> F64:
            compute = getattr(judge, function)
            diagnostics = [
                compute(points[:, :, j], chain_axis=0, draw_axis=1, **options) for j in range(count)
            ]
            return np.nan_to_num(np.array(diagnostics, dtype=np.float64), nan=np.inf)

        bulk = each("ess", method="bulk")
        tail = each("ess", method="tail", prob=(0.025, 0.975))
        step = -(-points.shape[0] * points.shape[1] // _KEPT)
        shape = points[:, ::step].shape
        physical = target.physical(points[:, ::step].reshape(-1, count)).reshape(shape)
        return Draws(
            physical,
            chains.densities[:, ::step],
            np.where(np.isfinite(bulk), bulk, 0.0),
            np.where(np.isfinite(tail), tail, 0.0),
            each("rhat", method="rank"),
            points.shape[0] * points.shape[1],
        )

    def _report(self, found: Draws, ensembles: Ensembles) -> None:
        self._monitor.iteration(
            self._best,
            self._cost,
            draws=float(found.count),
            effective_bulk=float(found.bulk.min()),
            effective_tail=float(found.tail.min()),
            r_hat=float(found.r_hat.max()),
            accepted=ensembles.accepted,
        )


def _worst(found: Draws) -> str:
    least = min(float(found.bulk.min()), float(found.tail.min()))
    return f"at least {least:.0f} effective, R-hat at most {float(found.r_hat.max()):.4g}"
