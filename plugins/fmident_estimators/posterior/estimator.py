"""Estimator ``posterior``: draws around the least-squares minimum until they converge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError
from fmident.estimation.contract import Draws, Estimate, Estimator, Monitor, Status
from fmident.evaluation import Evaluator, JacobianError
from fmident.problem import Priors, Problem
from fmident_estimators.least_squares.estimator import LeastSquares
from fmident_estimators.least_squares.options import LeastSquaresOptions
from fmident_estimators.packages import imported
from fmident_estimators.posterior.ensembles import Ensembles, PosteriorOptions, Target, Valley

_ROUND = 50
"""Fewest draws of each walker between two tests of convergence."""

_KEPT = 20_000
"""Most draws that are returned: more would make files large and quantiles no better."""

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
        missing, or the data do not determine a parameter that has neither bounds nor a prior;
        `JacobianError` if the Jacobian cannot be computed at the minimum.
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
        cost = evaluator.cost(best)
        run = _Run(problem, evaluator, options, monitor, best, cost, least.message)
        return run.draw(target, valley)


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
            f"the data do not determine all parameters ({error}), and these have neither bounds nor"
            f" priors: {', '.join(open_ones)}",
            hint="give each parameter bounds, or a prior",
            code=Code.MISSING_BOUNDS,
        ) from error


@dataclass(frozen=True, eq=False)
class _Run:
    """Draws until convergence, the maximum number of draws, or an interruption.

    `best` are the parameters of least `cost`, and `message` is that of the search for them.
    """

    problem: Problem
    evaluator: Evaluator
    options: PosteriorOptions
    monitor: Monitor
    best: F64
    cost: float
    message: str

    def draw(self, target: Target, valley: Valley) -> Estimate:
        ensembles = Ensembles(target, valley, self.options)
        walkers = ensembles.walkers * self.options.ensembles
        most = max(self.options.max_draws // walkers, 1)
        draws: Draws | None = None
        try:
            while ensembles.draws < most:
                wanted = max(_ROUND + self.options.warm_up, ensembles.draws // 2)
                ensembles.run(self.evaluator, min(wanted, most - ensembles.draws))
                draws = self._judged(ensembles, target)
                self._report(draws, ensembles)
                if self._converged(draws):
                    break
        except (KeyboardInterrupt, JacobianError) as end:
            if isinstance(end, JacobianError) and ensembles.draws == 0:
                raise
            if ensembles.draws < self.options.warm_up + _FEWEST:
                raise
            draws = self._judged(ensembles, target)
            message = f"interrupted after {draws.count} draws ({_worst(draws)})"
            return Estimate(
                self.best, "interrupted", f"{message}; the least cost so far", draws=draws
            )
        assert draws is not None
        middle = np.median(draws.values.reshape(-1, self.best.size), axis=0)
        summary = f"{draws.count} draws kept of {walkers} walkers, {_worst(draws)}"
        summary += f"; {ensembles.accepted:.0%} accepted"
        details = {
            "least_cost": {
                "parameters": self.best.tolist(),
                "cost": self.cost,
            },
            "search": self.message,
            "accepted": ensembles.accepted,
            "noise": "given" if self.problem.sigma_known else "integrated out, Jeffreys' prior",
        }
        status: Status = "converged" if self._converged(draws) else "limit"
        agreement = "the draws agree"
        if status == "limit":
            agreement = f"max_draws = {self.options.max_draws} were drawn before they agreed"
        return Estimate(middle, status, f"{agreement}: {summary}", details, draws=draws)

    def _converged(self, draws: Draws) -> bool:
        enough = _fewest_effective(draws) >= self.options.effective
        return enough and float(draws.r_hat.max()) < self.options.r_hat

    def _judged(self, ensembles: Ensembles, target: Target) -> Draws:
        """Return the draws after the warm-up with the diagnostics of ArviZ."""
        judge = imported("arviz_stats.base", "posterior", "posterior").array_stats
        skipped = max(self.options.warm_up, ensembles.draws // 4)
        points, densities = ensembles.chains(min(skipped, ensembles.draws - 4))
        count = self.best.size

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
        physical = target.space.bounded(points[:, ::step].reshape(-1, count)).reshape(shape)
        return Draws(
            physical,
            densities[:, ::step],
            np.where(np.isfinite(bulk), bulk, 0.0),
            np.where(np.isfinite(tail), tail, 0.0),
            each("rhat", method="rank"),
            points.shape[0] * points.shape[1],
        )

    def _report(self, draws: Draws, ensembles: Ensembles) -> None:
        self.monitor.iteration(
            self.best,
            self.cost,
            draws=float(draws.count),
            effective_bulk=float(draws.bulk.min()),
            effective_tail=float(draws.tail.min()),
            r_hat=float(draws.r_hat.max()),
            accepted=ensembles.accepted,
        )


def _fewest_effective(draws: Draws) -> float:
    return min(float(draws.bulk.min()), float(draws.tail.min()))


def _worst(draws: Draws) -> str:
    fewest, r_hat = _fewest_effective(draws), float(draws.r_hat.max())
    return f"at least {fewest:.0f} effective, R-hat at most {r_hat:.4g}"
