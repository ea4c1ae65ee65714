"""Bootstrap of a problem: the estimate, an executor and a journal.

:func:`bootstrap` is ``fmident.bootstrap``; the command line calls it too.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from fmident.api.estimates import (
    changed_since,
    estimated,
    loss_of,
    result_in,
    start_of,
    without_constraints,
)
from fmident.api.run import Analysis, Run, RunArguments, perform
from fmident.errors import Code, ProblemError
from fmident.estimation.noise.alternate import asks_for_noise
from fmident.estimation.result import EstimationResult
from fmident.problem.settings_keys import as_written
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

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.problem.model import Problem
    from fmident.progress import Watch


@dataclass(frozen=True)
class Bootstrapping(Analysis[BootstrapResult]):
    """A bootstrap of a problem; options as of :func:`bootstrap`."""

    result: EstimationResult | str | Path | None = None
    options: BootstrapOptions = field(default_factory=BootstrapOptions)
    marker: ClassVar[str] = "bootstrap.json"

    def run(self, problem: Problem, run: Run) -> BootstrapResult:
        """Estimate if needed, and fit the replicates."""
        _refuse_stages(problem)
        part = without_constraints(problem, "replicates")
        check_bootstrap(part, self.options)  # before the estimation: that may take long
        estimate = estimated(problem, self.result, run, what="the replicates")
        _refuse_loss(problem, estimate)
        _refuse_truncated(problem, estimate)
        start = start_of(part, estimate)
        with run.evaluator(part) as (evaluator, executor):
            # The cost of a result with a model of the noise is that of the innovations.
            cost = estimate.cost_final if asks_for_noise(part) else evaluator.cost(start)
            notes = _differences(part, estimate, cost)
            orders = None if estimate.noise is None else estimate.noise.model_orders
            result = run_bootstrap(part, evaluator, start, self.options, run.tell, orders)
            about = executor.report()
        return dataclasses.replace(
            result,
            parameters=tuple(_beside(p, estimate) for p in result.parameters),
            notes=(*notes, *about.doubts, *about.notes, *result.notes),
            settings={"evaluation": {**as_written(part.evaluation), **about.settings()}},
        )

    def write(
        self, result: BootstrapResult, problem: Problem, folder: Path, run: Run
    ) -> Iterable[Diagnostic]:
        """Write the replicates."""
        BOOTSTRAP.write(result, problem, folder)
        return ()

    def show(self, watch: Watch, *state: Any) -> None:
        """Show how many replicates have ended."""
        watch.work("replicates", *state)


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
        The former name of `replicates`.
    **run
        As of :func:`fmident.estimate`; ``listener`` receives the number of replicates that have
        ended, and that of all.

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
    options = BootstrapOptions(replicates, method, weights, block_length, level, seed)
    return perform(Bootstrapping(result_in(problem, result), options), problem, **run)


def _refuse_stages(problem: Problem) -> None:
    """Raise `ProblemError` for a problem with stages."""
    if problem.stages:
        raise ProblemError(
            "a problem with stages cannot be bootstrapped: every replicate would have to go "
            "through all of them",
            location=problem.where("stages") or None,
            hint="bootstrap a problem that searches all parameters at once, begun at this result; "
            "the intervals of stages count what the stages before leave uncertain",
            code=Code.NOT_SUPPORTED,
        )


def _refuse_loss(problem: Problem, result: EstimationResult) -> None:
    """Raise `ProblemError` for an estimate that minimises a robust loss."""
    loss = loss_of(result)
    if loss != "linear":
        raise ProblemError(
            f"the estimate minimises the robust loss '{loss}', and replicates are fitted by least "
            "squares: their spread would be that of another estimate",
            location=problem.where(),
            hint="estimate with --set estimator.loss=linear, after excluding outliers "
            "([experiments.prepare]); the intervals of the robust estimate count its loss",
            code=Code.NOT_SUPPORTED,
        )


def _refuse_truncated(problem: Problem, result: EstimationResult) -> None:
    """Raise `ProblemError` for an estimate that held undetermined parameters at the start."""
    if result.truncation is not None:
        raise ProblemError(
            "the estimate is truncated, and replicates are fitted in all directions: their spread"
            " would be that of another estimate",
            location=problem.where(),
            hint="fix parameters in place of truncating; the intervals of the result are those of"
            " the truncated estimate",
            code=Code.NOT_SUPPORTED,
        )


def _differences(problem: Problem, result: EstimationResult, cost: float) -> list[str]:
    """Return notes if the result belongs to another problem, or is not a minimum."""
    notes = changed_since(problem, result, cost, result.cost_final)
    if result.status != "converged":
        notes.insert(
            0,
            f"The estimation that the replicates begin from has not converged ({result.status}).",
        )
    return notes


def _beside(parameter: BootstrapParameter, result: EstimationResult) -> BootstrapParameter:
    """Return a parameter with the interval of the result."""
    for e in result.estimates:
        if e.name == parameter.name:
            return dataclasses.replace(
                parameter, result_error=e.standard_error, result_interval=e.interval_95
            )
    return parameter
