"""A bootstrap of a problem, everything wired together: the estimate, an executor, a journal.

:func:`bootstrap` is what ``fmident.bootstrap`` is, and what the command line calls.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fmident.api.journalled import WatchedKind, carried_out
from fmident.api.uncertainty.begin import (
    changed_since,
    estimated,
    loss_of,
    start_of,
    without_constraints,
)
from fmident.api.wiring import Report, loaded, warn
from fmident.errors import Code, Location, ProblemError
from fmident.estimation.result import EstimationResult
from fmident.problem.settings_keys import as_written
from fmident.resampling import (
    BootstrapOptions,
    BootstrapParameter,
    BootstrapResult,
    Method,
    Weights,
)

if TYPE_CHECKING:
    from fmident.errors import Diagnostic
    from fmident.estimation.monitor import Observer
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem
    from fmident.progress import Watch

Listener = Callable[[int, int], None]
"""Receives the number of replicates that have ended, and that of all."""


@dataclass(frozen=True)
class BootstrapRun(WatchedKind[BootstrapResult]):
    """A bootstrap as a run with a journal and a result folder."""

    result: EstimationResult | str | Path | None = None
    options: BootstrapOptions = field(default_factory=BootstrapOptions)
    host: Host | None = None
    observers: Sequence[Observer] = ()
    listener: Listener = lambda _, __: None
    report: Report = warn
    marker: ClassVar[str] = "bootstrap.json"

    def run(self, problem: Problem, workspace: Workspace | None) -> BootstrapResult:
        """Estimate if needed, and fit the replicates."""
        return _bootstrap(problem, self, workspace)

    def watched(self, watch: Watch) -> BootstrapRun:
        """Return the same run, which tells how many replicates have ended."""

        def both(done: int, expected: int) -> None:
            watch.work("replicates", done, expected)
            self.listener(done, expected)

        return dataclasses.replace(self, observers=(watch, *self.observers), listener=both)

    def status(self, result: BootstrapResult) -> str:
        """Return that of the result, in the words of an estimation."""
        return "converged" if result.status == "complete" else result.status

    def write(
        self, result: BootstrapResult, problem: Problem, folder: Path
    ) -> Iterable[Diagnostic]:
        """Write the files."""
        from fmident.report.bootstrap.folder import BOOTSTRAP

        BOOTSTRAP.write(result, problem, folder)
        return ()


def bootstrap(
    problem: Problem,
    result: EstimationResult | str | Path | None = None,
    *,
    count: int = 500,
    method: Method | None = None,
    weights: Weights = "rademacher",
    block_length: int | None = None,
    level: float = 0.95,
    seed: int = 0,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    listener: Listener = lambda _, __: None,
    report: Report = warn,
    progress: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
) -> BootstrapResult:
    """Fit replicates of the data, and return what their estimates say of the uncertainty.

    A replicate is what the estimate predicts, with resampled residuals or new noise. Each is fitted
    by least squares from the estimate, with exact sensitivities where the FMU offers them.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python; without stages.
    result
        An estimate of it, or the folder of one; estimated first when not given.
    count
        Number of replicates.
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
    host
        Plugins; loaded when not given.
    observers
        Receives the iterations where the problem is estimated first.
    listener
        Receives how many replicates have ended.
    report
        Takes warnings and notes; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    folder
        Where the result folder is written; a journal is kept beside it during the run.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.

    Returns
    -------
    fmident.resampling.BootstrapResult
        Also when the run was interrupted with Ctrl-C: with the replicates so far.

    Raises
    ------
    fmident.errors.FmidentError
        The problem cannot be estimated or bootstrapped; a result that is not one of this problem.
    """
    options = BootstrapOptions(count, method, weights, block_length, level, seed)
    kind = BootstrapRun(result, options, host, observers, listener, report)
    return carried_out(kind, problem, folder, progress=progress, resume=resume)


def _bootstrap(
    problem: Problem, kind: BootstrapRun, workspace: Workspace | None
) -> BootstrapResult:
    from fmident.estimation.checks import check_survives
    from fmident.estimation.noise.alternate import asks_for_noise
    from fmident.evaluation import Evaluator, runs_in_this_process
    from fmident.evaluation.journal import recording
    from fmident.resampling import check_bootstrap, run_bootstrap

    report = kind.report
    host = loaded(kind.host, report)
    kinds = host.executors.by_name
    _refuse_stages(problem)
    part = without_constraints(problem, "replicates")
    check_bootstrap(part, kind.options)  # before the estimation: that may take long
    found = estimated(
        problem, kind.result, host, kind.observers, report, workspace, what="the replicates"
    )
    _refuse_loss(problem, found)
    _refuse_truncated(problem, found)
    start = start_of(part, found)
    if runs_in_this_process(part, kinds):
        check_survives(part)
    executor_of = recording(
        workspace.journal if workspace is not None else None,
        kinds,
        warn=lambda diagnostic: report([diagnostic]),
    )
    executor = executor_of(part)
    with Evaluator(part, executor) as evaluator:
        # The cost of a result with a model of the noise is that of the innovations.
        cost = found.cost_final if asks_for_noise(part) else evaluator.cost(start)
        notes = _differences(part, found, cost)
        orders = None if found.noise is None else found.noise.model_orders
        result = run_bootstrap(part, evaluator, start, kind.options, kind.listener, orders)
        about = executor.report()
    notes += [*about.doubts, *about.notes]
    settings = {"evaluation": {**as_written(part.evaluation), **about.settings()}}
    return dataclasses.replace(
        result,
        parameters=tuple(_beside(p, found) for p in result.parameters),
        notes=(*notes, *result.notes),
        settings=settings,
    )


def _refuse_stages(problem: Problem) -> None:
    """Refuse a problem with stages.

    Raises
    ------
    fmident.errors.ProblemError
        It has some.
    """
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
    """Refuse an estimate that minimises a robust loss.

    Raises
    ------
    fmident.errors.ProblemError
        It does.
    """
    loss = loss_of(result)
    if loss != "linear":
        raise ProblemError(
            f"the estimate minimises the robust loss '{loss}', and replicates are fitted by least "
            "squares: their spread would be that of another estimate",
            location=None if problem.source is None else Location(str(problem.source)),
            hint="estimate with --set estimator.loss=linear, after excluding outliers "
            "([experiments.prepare]); the intervals of the robust estimate count its loss",
            code=Code.NOT_SUPPORTED,
        )


def _refuse_truncated(problem: Problem, result: EstimationResult) -> None:
    """Refuse an estimate that held at the start what the data do not determine.

    Raises
    ------
    fmident.errors.ProblemError
        It does.
    """
    if result.truncation is not None:
        raise ProblemError(
            "the estimate is truncated, and replicates are fitted in all directions: their spread"
            " would be that of another estimate",
            location=None if problem.source is None else Location(str(problem.source)),
            hint="fix parameters in place of truncating; the intervals of the result are those of"
            " the truncated estimate",
            code=Code.NOT_SUPPORTED,
        )


def _differences(problem: Problem, result: EstimationResult, cost: float) -> list[str]:
    """Return what makes the result another than one of this problem, or no minimum of it."""
    notes = changed_since(problem, result, cost, result.cost_final)
    if result.status != "converged":
        notes.insert(
            0,
            f"The estimation that the replicates begin from has not converged ({result.status}).",
        )
    return notes


def _beside(parameter: BootstrapParameter, result: EstimationResult) -> BootstrapParameter:
    """Return a parameter with the interval that the result has."""
    for e in result.estimates:
        if e.name == parameter.name:
            return dataclasses.replace(
                parameter, result_error=e.standard_error, result_interval=e.interval_95
            )
    return parameter
