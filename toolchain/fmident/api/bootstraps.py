"""The bootstrap: the analysis and its function."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Unpack

from fmident.api.estimates import with_executor
from fmident.api.given_estimates import (
    OfEstimate,
    changed_since,
    estimated,
    loss_of,
    not_converged,
    start_of,
    without_constraints,
)
from fmident.api.run import RunArguments, RunContext, perform, with_arguments
from fmident.errors import Code, ProblemError
from fmident.estimation.diagnostics.noise import asks_for_noise
from fmident.estimation.result import EstimationResult
from fmident.problem.model import Problem
from fmident.progress.watch import Watch
from fmident.report.bootstrap import BOOTSTRAP
from fmident.resampling import (
    BootstrapOptions,
    BootstrapParameter,
    BootstrapResult,
    Method,
    Weights,
    check_bootstrap,
    run_bootstrap,
)


@dataclass(frozen=True)
class Bootstrapping(OfEstimate[BootstrapResult], BootstrapOptions):
    """A bootstrap of a problem."""

    contents = BOOTSTRAP
    marker: ClassVar[str] = BOOTSTRAP.marker

    def run(self, problem: Problem, context: RunContext) -> BootstrapResult:
        """Estimate if needed, and fit the replicates."""
        _refuse(problem)
        part = without_constraints(problem, "replicates")
        check_bootstrap(part, self)  # before the estimation: that may take long
        estimate = estimated(problem, self.result, context, what="the replicates")
        _refuse(problem, estimate)
        start = start_of(part, estimate)
        with context.evaluator(part) as (evaluator, executor):
            cost = float("nan") if asks_for_noise(part) else evaluator.cost(start)
            orders = None if estimate.noise is None else estimate.noise.model_orders
            result = run_bootstrap(part, evaluator, start, self, context.tell, orders)
            about = executor.report()
        notes = not_converged(estimate, "the replicates")
        notes += changed_since(part, estimate, cost, estimate.cost_final)
        parameters = tuple(_beside(p, estimate) for p in result.estimates)
        return with_executor(dataclasses.replace(result, estimates=parameters), part, about, notes)

    def show(self, watch: Watch, *state: Any) -> None:
        """Show how many replicates have ended."""
        watch.work("replicates", *state)


@with_arguments(RunArguments, listener="the number of replicates that have ended, and of all")
def bootstrap(
    problem: Problem | str | Path,
    result: EstimationResult | str | Path | None = None,
    *,
    replicates: int = 500,
    method: Method | None = None,
    weights: Weights = "rademacher",
    block_length: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    count: int | None = None,
    **run: Unpack[RunArguments],
) -> BootstrapResult:
    """Fit replicates of the data, and return what their estimates say of the uncertainty.

    A replicate is what the estimate predicts, with resampled residuals or new noise. Each is fitted
    by least squares from the estimate, with exact sensitivities where the FMU offers them.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python; a problem file, or the folder of a
        result; without stages.
    result
        An estimate of it, or the folder of one; that of the folder given as the problem, else it is
        estimated first.
    replicates
        How many.
    method
        ``"residual"``: residuals drawn with replacement, for independent noise; ``"wild"``:
        residuals with random signs, for noise whose size varies; ``"block"``: blocks of
        neighbouring residuals, for correlated noise; ``"parametric"``: new normal noise, of an
        autoregression where the residuals are not white. By default as tests of the residuals say.
    weights
        Factors of the wild bootstrap: ``"rademacher"`` or ``"mammen"``.
    block_length
        Of the blocks, in samples; automatic by default (Politis and White 2004).
    level
        Probability of the intervals and bands.
    seed
        Of the random numbers: the same seed gives the same replicates.
    count
        The earlier name of `replicates`.
    **run
        Arguments of every analysis, such as `progress`, `folder` and `resume`.

    Returns
    -------
    fmident.resampling.BootstrapResult
        Also when the run was interrupted with Ctrl-C: with the replicates so far.

    Raises
    ------
    fmident.errors.FmidentError
        The problem cannot be estimated or bootstrapped; a result that is not one of this problem.
    """
    if count is not None:
        warnings.warn("'count' is called 'replicates'", DeprecationWarning, stacklevel=2)
        replicates = count
    analysis = Bootstrapping(
        result=result,
        replicates=replicates,
        method=method,
        weights=weights,
        block_length=block_length,
        level=level,
        seed=seed,
    )
    return perform(analysis, problem, **run)


def _refuse(problem: Problem, result: EstimationResult | None = None) -> None:
    """Raise `ProblemError` for what replicates do not repeat: of the problem, or of a result."""
    loss = "linear" if result is None else loss_of(result)
    if problem.stages:
        message = (
            "a problem with stages cannot be bootstrapped: every replicate would have to go "
            "through all of them"
        )
        hint = (
            "bootstrap a problem that searches all parameters at once, begun at this result; "
            "the intervals of stages count what the stages before leave uncertain"
        )
    elif loss != "linear":
        message = (
            f"the estimate minimises the robust loss '{loss}', and replicates are fitted by least "
            "squares: their spread would be that of another estimate"
        )
        hint = (
            "estimate with --set estimator.loss=linear, after excluding outliers "
            "([experiments.prepare]); the intervals of the robust estimate count its loss"
        )
    else:
        return
    where = (problem.where("stages") if problem.stages else None) or problem.where()
    raise ProblemError(message, location=where, hint=hint, code=Code.NOT_SUPPORTED)


def _beside(parameter: BootstrapParameter, result: EstimationResult) -> BootstrapParameter:
    for e in result.estimates:
        if e.name == parameter.name:
            return dataclasses.replace(
                parameter, result_error=e.standard_error, result_interval=e.interval_95
            )
    return parameter
