"""One estimation, everything wired together: plugins, checks, executors, the journal."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from fmident.api.journalled import JournalledRun, RunKind
from fmident.api.wiring import Report, ask_plugins, keeping_constraints, loaded, warn
from fmident.errors import Diagnostic
from fmident.estimation.compared import InputSignal
from fmident.problem.settings_keys import as_written

if TYPE_CHECKING:
    from fmident.estimation.monitor import Observer
    from fmident.estimation.result import EstimationResult
    from fmident.estimation.run import FmuIdentity
    from fmident.evaluation import Evaluator, Executor, ExecutorReport
    from fmident.evaluation.journal import Workspace
    from fmident.fmu.model_description.description import ModelDescription
    from fmident.plugins import Host
    from fmident.plugins.registry import Registration
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter


@dataclass(frozen=True)
class EstimateRun(RunKind["EstimationResult"]):
    """The estimation as a run with a journal and a result folder.

    Parameters
    ----------
    host, observers, report
        As of :func:`estimate`.
    reporters
        Who writes beside those of the plugins.
    """

    host: Host
    observers: Sequence[Observer]
    report: Report
    reporters: Sequence[Registration[type[Reporter]]] = ()
    marker: ClassVar[str] = "result.json"

    def run(self, problem: Problem, workspace: Workspace) -> EstimationResult:
        """Estimate."""
        return estimate(
            problem,
            host=self.host,
            observers=self.observers,
            report=self.report,
            workspace=workspace,
        )

    def status(self, result: EstimationResult) -> str:
        """Return that of the result."""
        return result.status

    def write(
        self, result: EstimationResult, problem: Problem, folder: Path
    ) -> Iterable[Diagnostic]:
        """Let the reporters write."""
        from fmident.report.folder import write_reports

        reporters = [*self.host.reporters, *self.reporters]
        sections, failed = self.host.report_sections(result, problem)
        return [*failed, *write_reports(result, problem, folder, reporters, sections)]


def estimate(
    problem: Problem,
    *,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    report: Report = warn,
    progress: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
    workspace: Workspace | None = None,
) -> EstimationResult:
    """Run the problem's estimator and return what it found.

    Parameters
    ----------
    problem
        From :func:`load_problem`, or built in Python.
    host
        Plugins; loaded when not given.
    observers
        Receives each iteration, before the plugins are.
    report
        Takes warnings of plugins; Python warnings by default.
    progress
        Show the run as it goes, on standard error or in the output of a notebook's cell.
    folder
        Where the result folder is written; a journal is kept beside it during the run. A result
        that is there is kept as ``NAME.1``.
    resume
        With `folder`: go on from the journal of a run that was interrupted or killed.
    workspace
        In place of both, for a caller who writes the result: holds the journal, stays open.

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
    from fmident.checking import quick_findings, refuse
    from fmident.estimation.checks import check_initial_simulation, check_survives
    from fmident.estimation.choices import suited
    from fmident.estimation.options import build_options
    from fmident.estimation.run import FmuIdentity, run_estimation
    from fmident.estimation.validation import validated
    from fmident.evaluation import Evaluator, runs_in_this_process
    from fmident.evaluation.journal import recording
    from fmident.fmu.fmu import read_description
    from fmident.plugins import Run
    from fmident.plugins.observers import PluginObserver

    if progress:
        from fmident.progress import watching

        with watching() as watch:
            return estimate(
                problem,
                host=host,
                observers=(watch, *observers),
                report=report,
                folder=folder,
                resume=resume,
                workspace=workspace,
            )
    host = loaded(host, report)
    if folder is not None:
        kind = EstimateRun(host, observers, report)
        return JournalledRun(kind, Path(folder), resume=resume, report=report).execute(problem)
    if resume:
        raise ValueError("resume needs the result folder of the run that was interrupted")
    estimator = host.estimators.get(problem.estimator.name)()
    if not problem.stages:
        problem = suited(problem, estimator, keeping_constraints(host))
    ask_plugins(problem, host, report)
    executor_of = recording(
        workspace.journal if workspace is not None else None,
        host.executors.by_name,
        warn=lambda diagnostic: report([diagnostic]),
    )
    names = [s.problem.estimator.name for s in problem.stages] or [problem.estimator.name]
    events = PluginObserver(
        host,
        Run(problem, ", ".join(dict.fromkeys(names))),
        lambda diagnostic: report([diagnostic]),
    )
    about = read_description(problem.fmu)
    identity = FmuIdentity(about.name, about.guid, about.generation_tool, problem.fmu)
    if problem.stages:
        look = _look_at_stages(problem, host, report)
        events.started()
        result = _estimate_in_stages(
            problem, host, (*observers, events), identity, executor_of, look
        )
        result = _with_data(result, problem, about)
        result = validated(problem, result, executor_of)
        events.finished(result)
        return result
    if runs_in_this_process(problem, host.executors.by_name):
        check_survives(problem)
    executor = executor_of(problem)
    with Evaluator(problem, executor) as evaluator:
        options = build_options(estimator, problem.estimator.options)
        inert_allowed = estimator.takes_inert(options)
        check_initial_simulation(problem, evaluator)
        found = quick_findings(problem, evaluator, about, inert_allowed=inert_allowed)
        refuse(found)
        report([d for d in found if d.severity == "warning"])
        events.started()
        result = run_estimation(
            problem, evaluator, estimator, observers=(*observers, events), fmu=identity
        )
        result = _with_executor(result, problem, executor.report())
        result = _with_data(result, problem, about)
    result = validated(problem, result, executor_of)
    events.finished(result)
    return result


def _estimate_in_stages(
    problem: Problem,
    host: Host,
    observers: Sequence[Observer],
    identity: FmuIdentity,
    make: Callable[[Problem], Executor],
    look: Callable[[Problem, Evaluator], None],
) -> EstimationResult:
    """Run the stages; the executors are open until the last has ended."""
    from fmident.estimation.checks import check_survives
    from fmident.estimation.stages.sequence import run_stages
    from fmident.evaluation import runs_in_this_process

    with ExitStack() as opened:
        executors: list[Executor] = []

        def executor_of(asked: Problem) -> Executor:
            if runs_in_this_process(asked, host.executors.by_name):
                check_survives(asked)
            executors.append(opened.enter_context(make(asked)))
            return executors[-1]

        result = run_stages(
            problem,
            executor_of,
            lambda name: host.estimators.get(name)(),
            observers,
            identity,
            look,
        )
        return _with_executor(result, problem, executors[0].report())


def _look_at_stages(
    problem: Problem, host: Host, report: Report
) -> Callable[[Problem, Evaluator], None]:
    """Look at the data of all stages; return what looks at their initial simulations.

    Raises
    ------
    fmident.errors.ProblemError
        One of the stages cannot succeed.
    """
    from fmident.checking import data_findings, refuse, start_findings
    from fmident.fmu.fmu import read_description

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
    """Add what is known of the data: the inputs, and units that were assumed."""
    return dataclasses.replace(
        result, assumed_units=assumed_units(problem), inputs=input_signals(problem, about)
    )


def _with_executor(
    result: EstimationResult, problem: Problem, report: ExecutorReport
) -> EstimationResult:
    """Add how the simulations were to be run, who ran them, and how that went."""
    from fmident.evaluation.solver_error import interfaces_disagree

    doubts = (*(f"{text}." for text in interfaces_disagree(problem)), *report.doubts)
    evaluation = {**as_written(problem.evaluation), **report.settings()}
    settings = {**result.settings, "evaluation": evaluation}
    return dataclasses.replace(
        result, settings=settings, notes=(*result.notes, *doubts, *report.notes)
    )


def assumed_units(problem: Problem) -> tuple[str, ...]:
    """Return what was assumed for columns without a unit: one sentence for equal experiments."""
    found: dict[str, list[str]] = {}
    for e in problem.experiments:
        said = []
        for column, unit in e.assumed_units.items():
            if column == e.time_column:
                said.append(f"time: column '{column}', no unit in its header: seconds assumed")
            else:
                said.append(f"column '{column}', no unit in its header: {unit} assumed")
        if said:
            found.setdefault("; ".join(said), []).append(f"'{e.name}'")
    return tuple(f"{', '.join(names)}: {text}" for text, names in found.items())


def input_signals(problem: Problem, description: ModelDescription) -> tuple[InputSignal, ...]:
    """Return the inputs of all experiments, those for validation included.

    Parameters
    ----------
    problem
        With the experiments.
    description
        Of its FMU, for the units.
    """
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
