"""A complete estimation: plugins, checks, executors and the journal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Unpack

import numpy as np

from fmident.api.problems import Report, ask_plugins, keeping_constraints
from fmident.api.run import Analysis, Run, RunArguments, perform
from fmident.arrays import F64
from fmident.checking import data_findings, quick_findings, refuse, start_findings
from fmident.errors import Code, Diagnostic, EstimationError, ProblemError
from fmident.estimation.checks import check_initial_simulation
from fmident.estimation.choices import suited
from fmident.estimation.compared import InputSignal
from fmident.estimation.monitor import ActivityObserver
from fmident.estimation.options import build_options
from fmident.estimation.result import EstimationResult
from fmident.estimation.run import FmuIdentity, run_estimation
from fmident.estimation.stages.sequence import run_stages
from fmident.estimation.validation import validated
from fmident.evaluation.solver_error import interfaces_disagree
from fmident.findings import finding
from fmident.fmu.fmu import read_description
from fmident.plugins import Run as PluginRun
from fmident.plugins.observers import PluginObserver
from fmident.problem.constraints import simplified
from fmident.problem.settings_keys import as_written
from fmident.report.folder import write_reports
from fmident.report.result_json import FILE_NAME, read_result

if TYPE_CHECKING:
    from fmident.estimation.monitor import Observer
    from fmident.evaluation import Evaluator, Executor, ExecutorReport
    from fmident.fmu.model_description.description import ModelDescription
    from fmident.plugins import Host
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter


_SAME_COST = 1e-3
"""Difference between the cost here and in the result, relative to it, that is no accident."""


@dataclass(frozen=True)
class Estimation(Analysis[EstimationResult]):
    """The estimation of a problem; `reporters` write beside those of the plugins."""

    reporters: Sequence[Registration[type[Reporter]]] = ()
    marker: ClassVar[str] = "result.json"

    def run(self, problem: Problem, run: Run) -> EstimationResult:
        """Estimate, and predict the experiments for validation."""
        host = run.host
        estimator = host.estimators.get(problem.estimator.name)()
        if not problem.stages:
            problem = suited(problem, estimator, keeping_constraints(host))
        ask_plugins(problem, host, run.report)
        names = [s.problem.estimator.name for s in problem.stages] or [problem.estimator.name]
        about = PluginRun(problem, ", ".join(dict.fromkeys(names)))
        events = PluginObserver(host, about, run.warn)
        watched = dataclasses.replace(run, observers=(*run.observers, events))
        description = read_description(problem.fmu)
        executors = run.executors()
        identity = FmuIdentity(
            description.name, description.guid, description.generation_tool, problem.fmu
        )
        if problem.stages:
            look = _look_at_stages(problem, host, run.report)
            events.started()
            result = _estimate_in_stages(problem, watched, identity, executors, look)
        else:
            with run.evaluator(problem, executors) as (evaluator, executor):
                options = build_options(estimator, problem.estimator.options)
                check_initial_simulation(problem, evaluator)
                findings = quick_findings(
                    problem, evaluator, description, inert_allowed=estimator.takes_inert(options)
                )
                refuse(findings)
                run.report([d for d in findings if d.severity == "warning"])
                events.started()
                result = run_estimation(
                    problem, evaluator, estimator, observers=watched.observers, fmu=identity
                )
                result = _with_executor(result, problem, executor.report())
        result = _with_data(result, problem, description)
        result = validated(problem, result, executors)
        events.finished(result)
        return result

    def write(
        self, result: EstimationResult, problem: Problem, folder: Path, run: Run
    ) -> Iterable[Diagnostic]:
        """Let the reporters write."""
        reporters = [*run.host.reporters, *self.reporters]
        sections, failed = run.host.report_sections(result, problem)
        return [*failed, *write_reports(result, problem, folder, reporters, sections)]


def estimate(problem: Problem | str | Path, **run: Unpack[RunArguments]) -> EstimationResult:
    """Run the problem's estimator and return what it found.

    Parameters
    ----------
    problem
        From :func:`load_problem`, or built in Python; a problem file, or the folder of a result.
    **run
        As of :class:`fmident.api.run.RunArguments`: ``host``, ``report``, ``progress``,
        ``observers``, ``folder``, ``resume``, ``workspace``.

    Returns
    -------
    fmident.estimation.EstimationResult
        Also when the run was interrupted with Ctrl-C: with the best parameters so far.

    Raises
    ------
    fmident.errors.FmidentError
        The estimation cannot start: unknown estimator or option, a plugin's objection, an
        FMU that cannot be simulated at the initial parameters, a parameter without effect.
    """
    return perform(Estimation(), problem, **run)


def _estimate_in_stages(
    problem: Problem,
    run: Run,
    identity: FmuIdentity,
    make: Callable[[Problem], Executor],
    look: Callable[[Problem, Evaluator], None],
) -> EstimationResult:
    """Run the stages; the executors stay open until the last one has ended."""
    with ExitStack() as opened:
        executors: list[Executor] = []

        def executor_of(asked: Problem) -> Executor:
            run.try_out(asked)
            executors.append(opened.enter_context(make(asked)))
            return executors[-1]

        result = run_stages(
            problem,
            executor_of,
            lambda name: run.host.estimators.get(name)(),
            run.observers,
            identity,
            look,
        )
        return _with_executor(result, problem, executors[0].report())


def _look_at_stages(
    problem: Problem, host: Host, report: Report
) -> Callable[[Problem, Evaluator], None]:
    """Check the data of all stages; return the check of their initial simulations."""
    reported: set[Diagnostic] = set()

    def tell(found: Iterable[Diagnostic]) -> None:
        new = [d for d in found if d.severity == "warning" and d not in reported]
        reported.update(new)
        report(new)

    def look(asked: Problem, evaluator: Evaluator) -> None:
        tell(start_findings(asked, evaluator, read_description(asked.fmu)))

    for stage in problem.stages:
        estimator = host.estimators.get(stage.problem.estimator.name)
        found = data_findings(
            stage.problem,
            read_description(stage.problem.fmu),
            inert_allowed=estimator.accepts_inert_parameters,
            whole=problem,
        )
        named = f"stage '{stage.name}': "
        refuse([dataclasses.replace(d, message=named + d.message) for d in found])
        tell(found)
    return look


def _with_data(
    result: EstimationResult, problem: Problem, about: ModelDescription
) -> EstimationResult:
    """Add the inputs and the assumed units to the result."""
    return dataclasses.replace(
        result, assumed_units=assumed_units(problem), inputs=input_signals(problem, about)
    )


def _with_executor(
    result: EstimationResult, problem: Problem, report: ExecutorReport
) -> EstimationResult:
    """Add the executor's settings and report to the result."""
    doubts = (*(f"{text}." for text in interfaces_disagree(problem)), *report.doubts)
    evaluation = {**as_written(problem.evaluation), **report.settings()}
    settings = {**result.settings, "evaluation": evaluation}
    said = [finding("engine", text) for text in (*doubts, *report.notes)]
    return dataclasses.replace(result, settings=settings).with_findings(said)


def assumed_units(problem: Problem) -> tuple[str, ...]:
    """Return the units assumed for columns without one, a sentence per group of experiments."""
    columns: dict[str, list[str]] = {}
    for e in problem.experiments:
        sentences = []
        for column, unit in e.assumed_units.items():
            if column == e.time_column:
                sentences.append(f"time: column '{column}', no unit in its header: seconds assumed")
            else:
                sentences.append(f"column '{column}', no unit in its header: {unit} assumed")
        if sentences:
            columns.setdefault("; ".join(sentences), []).append(f"'{e.name}'")
    return tuple(f"{', '.join(names)}: {text}" for text, names in columns.items())


def input_signals(problem: Problem, description: ModelDescription) -> tuple[InputSignal, ...]:
    """Return the inputs of all experiments, validation included, with their units."""
    chosen = description.with_interface(problem.evaluation.interface)
    return tuple(
        InputSignal(
            experiment.name,
            name,
            description.by_name[name].unit if name in description.by_name else None,
            experiment.times,
            values,
            chosen.holds_input(name, problem.interpolation_of(experiment, name)),
            experiment in problem.experiments,
        )
        for experiment in (*problem.experiments, *problem.validation)
        for name, values in experiment.inputs.items()
    )


def estimated(
    problem: Problem, result: EstimationResult | str | Path | None, run: Run, *, what: str
) -> EstimationResult:
    """Return the estimate that `what` begins from: as given, read from its folder, or found now.

    Raises
    ------
    fmident.errors.EstimationError
        The estimation failed.
    KeyboardInterrupt
        It was interrupted.
    """
    if isinstance(result, EstimationResult):
        return result
    if result is not None:
        return read_result(Path(result)).result
    estimate = Estimation().run(problem, run)
    if estimate.status == "interrupted":
        raise KeyboardInterrupt
    if estimate.status == "failed":
        raise EstimationError(
            f"there is no estimate to begin {what} from: {estimate.message}",
            hint="'fmident check' shows why an estimation fails",
        )
    return estimate


def result_in(
    subject: Problem | str | Path, result: EstimationResult | str | Path | None
) -> EstimationResult | str | Path | None:
    """Return the estimate to begin from: `result`, or that of the folder given as the problem."""
    if result is None and isinstance(subject, str | Path):
        folder = Path(subject).parent if Path(subject).name == FILE_NAME else Path(subject)
        return folder if (folder / FILE_NAME).is_file() else None
    return result


def without_constraints(problem: Problem, what: str) -> Problem:
    """Return the problem with bounds and dependent parameters instead of its constraints.

    `what` names the analysis that does not support constraints. Raises `ProblemError` if a
    constraint remains.
    """
    if not problem.constraints:
        return problem
    simplified_problem = simplified(problem)
    if simplified_problem.constraints:
        raise ProblemError(
            f"{what} do not keep the constraint {simplified_problem.constraints[0]}",
            location=problem.where(),
            hint=f"the intervals of 'fmident estimate' end where constraints do; {what} need"
            " linear equalities or linear inequalities in one parameter",
            code=Code.NOT_SUPPORTED,
        )
    return simplified_problem


def start_of(problem: Problem, result: EstimationResult) -> F64:
    """Return the estimate as a point of the problem, shape (n,).

    Raises `ProblemError` if the result lacks a parameter, or has it outside its bounds.
    """
    source = problem.where()
    values = result.values
    for q in problem.free:
        if q.name not in values:
            raise ProblemError(
                f"the result has no value of the parameter '{q.name}'",
                location=source,
                hint="it is one of another problem: estimate this one, or leave --result out",
            )
        slack = 1e-9 * max(abs(values[q.name]), np.finfo(np.float64).tiny)
        if not q.lower - slack <= values[q.name] <= q.upper + slack:
            raise ProblemError(
                f"the result has {q.name} = {values[q.name]:g}, outside of the bounds "
                f"[{q.lower:g}, {q.upper:g}]",
                location=source,
                hint="the bounds have changed since: estimate again, or leave --result out",
            )
    return np.array([values[q.name] for q in problem.free], dtype=np.float64)


def changed_since(
    problem: Problem, result: EstimationResult, cost: float, before: float
) -> list[str]:
    """Return a note if a result no longer belongs to this problem.

    `cost` is that of the problem at the estimate, and `before` that stored in the result.
    """
    difference = abs(cost - before)
    if (
        result.cost != problem.cost.name
        or not np.isfinite(cost)
        or difference <= max(_SAME_COST * abs(before), 1e-6)
    ):
        return []
    return [
        f"The cost at the estimate is {cost:.6g}, but {before:.6g} in its result: the data, "
        "the FMU or the problem have changed since."
    ]


def loss_of(result: EstimationResult) -> str:
    """Return the loss that a result minimised; ``"linear"`` is least squares."""
    options = result.settings.get("options", {})
    return str(options.get("loss", "linear")) if isinstance(options, Mapping) else "linear"


def activity_of(observers: Sequence[Observer]) -> Callable[[str, int, int], None] | None:
    """Return a function that tells observers the progress of a batch of simulations."""
    interested = [o for o in observers if isinstance(o, ActivityObserver)]

    def tell(text: str, done: int, expected: int) -> None:
        for observer in interested:
            observer.activity(text, done, expected)

    return tell if interested else None
