"""Running the stages of a problem one after the other, and combining their results."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.errors import Code, EstimationError, FmidentError, ProblemError
from fmident.estimation.choices import suited
from fmident.estimation.contract import Estimator
from fmident.estimation.fits import output_fits
from fmident.estimation.monitor import Observer
from fmident.estimation.noise.alternate import refuse_noise
from fmident.estimation.options import build_options
from fmident.estimation.result import EstimationResult, OutputFit
from fmident.estimation.run import FmuIdentity, run_with_statistics
from fmident.estimation.stages.progress import Translator
from fmident.estimation.stages.propagation import Propagation, with_effort
from fmident.estimation.stages.results import combined
from fmident.estimation.stages.stage_run import StageRun
from fmident.evaluation import Evaluator, Executor, Simulated, SimulationTask
from fmident.evaluation.executors import SubsetExecutor
from fmident.findings import finding
from fmident.problem.residuals import parameter_values_for
from fmident.problem.stages import continued

if TYPE_CHECKING:
    from fmident.problem.model import Problem


ExecutorOf = Callable[["Problem"], Executor]
"""Makes the executor of a problem; whoever made it closes it."""

Look = Callable[["Problem", Evaluator], None]
"""Looks at a problem at its initial point before it is estimated; may raise."""

_ENDS_THE_RUN = ("interrupted", "stopped", "failed")


def run_stages(
    problem: Problem,
    executor_of: ExecutorOf,
    estimator_of: Callable[[str], Estimator[Any]],
    observers: Sequence[Observer] = (),
    fmu: FmuIdentity | None = None,
    look: Look = lambda problem, evaluator: None,
) -> EstimationResult:
    """Run the stages of a problem; each starts from the values estimated before.

    Stages of the problem's own FMU share one executor, so that nothing is loaded twice and
    there is only one journal. A stage that is interrupted, stopped or fails ends the run
    with the best values so far. `executor_of` creates the executor of the whole problem,
    and that of a stage with its own FMU, once for each; they are not closed here. `look` is
    called before the first stage with the whole problem, and before a stage with its own
    FMU with its problem, simulated at the initial point. Raises `FmidentError` if the first
    stage cannot start, or any has an unknown estimator or wrong options.
    """
    began = time.perf_counter()
    searched: set[str] = set()
    for stage in problem.stages:  # a mistake in the last one must not wait for the others
        estimator = estimator_of(stage.problem.estimator.name)
        refuse_noise(problem, estimator, problem.where())
        searched |= {q.name for q in suited(stage.problem, estimator).free}
        options = build_options(estimator, stage.problem.estimator.options)
        estimator.check_problem(stage.problem, options)
        if estimator.holds_directions(options):
            raise ProblemError(
                f"stage '{stage.name}' holds at the start what the data do not determine, and"
                " stages do not hand on how uncertain that is",
                location=problem.where("stages") or None,
                hint="truncate in a problem without stages, begun at the values of these",
                code=Code.NOT_SUPPORTED,
            )
    names = [q.name for q in problem.parameters if q.name in searched]
    values = {q.name: q.initial for q in problem.parameters}
    done: list[StageRun] = []
    propagation = Propagation(problem)
    failure: FmidentError | None = None
    interrupted = False
    whole: Executor | None = None
    first: tuple[Simulated, ...] = ()
    if not all(stage.separate for stage in problem.stages):
        whole = executor_of(problem)
        everything = SubsetExecutor(whole, range(len(problem.experiments)))
        with Evaluator(problem, everything) as evaluator:
            first = evaluator.simulate(problem.initial)
            look(problem, evaluator)
    for number, stage in enumerate(problem.stages):
        # A file of its own has initial values of its own; what was found takes their place.
        known = {n: v for d in done for n, v in d.found.items()} if stage.separate else values
        staged, remarks = continued(stage, known)
        staged = suited(staged, estimator_of(staged.estimator.name))
        staged = dataclasses.replace(staged, preliminary=not propagation.wanted[number])
        if stage.separate:
            base, places = executor_of(staged), _indices(staged, staged)
        else:
            assert whole is not None
            base, places = whole, _indices(problem, staged)
        executor = SubsetExecutor(base, places)  # stays open when the evaluator is closed
        finished = [d.result for d in done]
        place = (number + 1, len(problem.stages))
        translator = Translator(
            observers, names, stage.name, staged, values, finished, began, place
        )
        try:
            with Evaluator(staged, executor) as evaluator:
                if stage.separate:
                    look(staged, evaluator)
                run = run_with_statistics(
                    staged,
                    evaluator,
                    estimator_of(staged.estimator.name),
                    observers=[translator],
                    fmu=fmu,
                    intervals=propagation.wanted[number],
                )
                carried = propagation.add(
                    number, stage, staged, run, evaluator, executor, translator.activity
                )
        except FmidentError as error:
            if not done:
                raise
            failure = error
            break
        except KeyboardInterrupt:
            if not done:
                raise
            interrupted = True
            break
        result = with_effort(run.result, carried)
        result = result.with_findings([finding("stage", text) for text in remarks])
        done.append(StageRun(stage, staged, result, carried))
        values |= done[-1].found
        if result.status in _ENDS_THE_RUN:
            break
    fits, last = all_fits(problem, whole, first, values, done)
    seconds = time.perf_counter() - began
    total = combined(problem, names, done, propagation, fits, seconds)
    total = dataclasses.replace(total, simulations=total.simulations + len(first) + last)
    following = problem.stages[len(done)].name if len(done) < len(problem.stages) else ""
    if failure is not None:
        message = f"stage '{following}' cannot start: {failure.message}" + (
            f" (hint: {failure.hint})" if failure.hint else ""
        )
        return dataclasses.replace(total, status="failed", message=message, ended_by=None)
    if interrupted:
        message = f"interrupted in stage '{following}'; the values of the stages before it"
        return dataclasses.replace(total, status="interrupted", message=message, ended_by=None)
    return total


def _indices(problem: Problem, staged: Problem) -> list[int]:
    place = {e.name: k for k, e in enumerate(problem.experiments)}
    return [place[e.name] for e in staged.experiments]


def all_fits(
    problem: Problem,
    whole: Executor | None,
    first: Sequence[Simulated],
    values: Mapping[str, float],
    done: Sequence[StageRun],
) -> tuple[tuple[OutputFit, ...], int]:
    """Return the fits of all experiments at the first and the last values.

    Each stage used only its own experiments, and started from the result of another. After
    an interrupt nothing is simulated: the fits are those of the last stage. Fits of stages
    with their own FMU come last; the second result is the number of simulations.
    """
    if not done:
        raise EstimationError("no stage was run", hint="add [[stages]], or none at all")
    last = done[-1]
    others = _own_fits(problem, done)
    if whole is None or last.result.status == "interrupted":
        own = () if last.stage.separate else last.result.fits
        return (*own, *others), 0
    final = dataclasses.replace(
        problem,
        parameters=tuple(
            dataclasses.replace(q, initial=values[q.name], fixed=True) for q in problem.parameters
        ),
    )
    nothing = np.empty(0)
    tasks = [
        SimulationTask(k, parameter_values_for(final, e, nothing))
        for k, e in enumerate(problem.experiments)
    ]
    try:
        outcomes = whole.run(tasks)
    except KeyboardInterrupt:  # all has been found: it must not be lost for want of a plot
        return (*last.result.fits, *(() if last.stage.separate else others)), 0
    scale = _residual_scale(final, last.result.fits)
    fits = output_fits(final, first, outcomes, nothing, scale)
    return (*(fits or last.result.fits), *others), len(tasks)


def _own_fits(problem: Problem, done: Sequence[StageRun]) -> tuple[OutputFit, ...]:
    """Return the fits of stages with their own FMU, each experiment with its own name."""
    known = {e.name for e in problem.experiments}
    fits: list[OutputFit] = []
    for one in (d for d in done if d.stage.separate):
        for fit in one.result.fits:
            ambiguous = fit.experiment in known
            name = f"{fit.experiment} (stage {one.stage.name})" if ambiguous else fit.experiment
            fits.append(dataclasses.replace(fit, experiment=name))
        known |= {e.name for e in one.problem.experiments}
    return tuple(fits)


def _residual_scale(problem: Problem, fits: Sequence[OutputFit]) -> float:
    """Return the last stage's estimate of the standard deviation for outputs without one."""
    known = {(e.name, m.name): m for e in problem.experiments for m in e.measurements}
    for fit in fits:
        m = known.get((fit.experiment, fit.name))
        if m is not None and m.sigma is None:
            return float(fit.sigma[0]) * m.weight
    return 1.0
