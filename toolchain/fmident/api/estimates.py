"""The estimation: plugins, checks before the run, executors, the run, and the reporters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar, Unpack

from fmident.api.problems import Report, ask_plugins, keeping_constraints
from fmident.api.run import Analysis, RunArguments, RunContext, perform, with_arguments
from fmident.arrays import F64
from fmident.checking import data_findings, quick_findings, refuse, start_findings
from fmident.errors import Diagnostic
from fmident.estimation.checks import check_initial_simulation, suited
from fmident.estimation.comparisons import InputSignal
from fmident.estimation.monitor import ActivityObserver, Observer
from fmident.estimation.result import EstimationResult
from fmident.estimation.run import FmuIdentity, run_with_statistics, without_profiles
from fmident.estimation.stages.sequence import run_stages
from fmident.estimation.validation import validated
from fmident.evaluation import Evaluator, Executor, ExecutorReport
from fmident.evaluation.solver_error import interfaces_disagree
from fmident.findings import Finding, finding, in_order
from fmident.fmu.fmu import read_description
from fmident.fmu.model_description.description import ModelDescription
from fmident.plugins import Host
from fmident.plugins import Run as PluginRun
from fmident.plugins.host import PluginObserver
from fmident.plugins.registry import Origin, Registration
from fmident.problem.model import Problem
from fmident.problem.settings_keys import as_written
from fmident.report.estimate import ESTIMATE
from fmident.report.export import export_reporters
from fmident.report.folder import write_reports
from fmident.report.result_json import FILE_NAME
from fmident.words import counted

if TYPE_CHECKING:
    from fmident.profiles import ProfileResult
    from fmident.resampling import BootstrapResult

AnyResult = TypeVar("AnyResult", EstimationResult, "ProfileResult", "BootstrapResult")

_ADVICE = {
    "plateau": "no limit ended this run, so that --resume would lead to the same end: start from"
    " other initial values, or search the whole box with differential-evolution or cma-es",
    "jump": "no limit ended this run, so that --resume would lead to the same end: start where the"
    " note says that the cost is lower, or give several starts",
    "stuck": "no limit ended this run, so that --resume would lead to the same end: see why it"
    " stopped, and change that or the initial values",
}
"""What to do after an end that a higher limit does not change."""


def _with_profiles(
    problem: Problem, evaluator: Evaluator, result: EstimationResult
) -> tuple[EstimationResult, F64 | None]:
    """Return the result with intervals of profiles where the model is too curved for others."""
    if not any(e.curved for e in result.estimates):
        return result, None
    from fmident.profiles.intervals import with_profile_intervals  # seldom, and seven modules

    return with_profile_intervals(problem, evaluator, result)


@dataclass(frozen=True)
class Estimation(Analysis[EstimationResult]):
    """The estimation of a problem.

    `export` names forms in which values are written, too; with `linear_intervals`, no profiles are
    computed where the model is curved.
    """

    contents = ESTIMATE
    export: Sequence[str] = ()
    linear_intervals: bool = False
    marker: ClassVar[str] = FILE_NAME

    def run(self, problem: Problem, context: RunContext) -> EstimationResult:
        """Estimate, and predict the experiments for validation."""
        host = context.host
        estimator = host.estimators.get(problem.estimator.name)()
        if not problem.stages:
            problem = suited(problem, estimator, keeping_constraints(host))
        ask_plugins(problem, host, context.report)
        names = [s.problem.estimator.name for s in problem.stages] or [problem.estimator.name]
        for_plugins = PluginRun(problem, ", ".join(dict.fromkeys(names)))
        plugin_observer = PluginObserver(host, for_plugins, context.warn)
        observed = dataclasses.replace(context, observers=(*context.observers, plugin_observer))
        description = read_description(problem.fmu)
        executors = context.executors()
        identity = FmuIdentity(
            description.name, description.guid, description.generation_tool, problem.fmu
        )
        if problem.stages:
            check = _checks_of_stages(problem, host, context.report)
            plugin_observer.started()
            result, report = _estimate_in_stages(problem, observed, identity, executors, check)
        else:
            with context.evaluator(problem, executors) as (evaluator, executor):
                check_initial_simulation(problem, evaluator)
                findings = quick_findings(
                    problem,
                    evaluator,
                    description,
                    inert_allowed=estimator.accepts_inert_parameters,
                )
                refuse(findings)
                context.report([f.diagnostic for f in findings if f.severity == "warning"])
                plugin_observer.started()
                result = run_with_statistics(
                    problem,
                    evaluator,
                    estimator,
                    observers=observed.observers,
                    fmu=identity,
                    profiles=without_profiles if self.linear_intervals else _with_profiles,
                ).result
                report = executor.report()
        doubts = [finding("engine", f"{text}.") for text in interfaces_disagree(problem)]
        result = dataclasses.replace(
            with_executor(result, problem, report, doubts),
            assumed_units=assumed_units(problem),
            inputs=input_signals(problem, description),
        )
        result = validated(problem, result, executors)
        plugin_observer.finished(result)
        return result

    def write(
        self, result: EstimationResult, problem: Problem, folder: Path, context: RunContext
    ) -> Iterable[Diagnostic]:
        """Let the reporters write."""
        here = Origin("(command line)")
        reporters = [
            *context.host.reporters,
            *(Registration(n, k, k.summary, here) for n, k in export_reporters(self.export)),
        ]
        sections, failed = context.host.report_sections(result, problem)
        return [*failed, *write_reports(result, problem, folder, reporters, sections)]

    def announcement(self, problem: Problem) -> str:
        """Return the size of the problem, and its estimators."""
        samples = sum(e.samples for e in problem.experiments)
        outputs = len({m.name for e in problem.experiments for m in e.measurements})
        held_out = f" and {len(problem.validation)} for validation" if problem.validation else ""
        solvers = [f"{s.name} ({s.problem.estimator.name})" for s in problem.stages]
        return (
            f"{problem.fmu.name}: {counted(len(problem.free), 'free parameter')}, "
            f"{counted(len(problem.experiments), 'experiment')}{held_out}, "
            f"{counted(samples, 'sample')} of {counted(outputs, 'output')}; "
            + (f"stages {', '.join(solvers)}" if solvers else f"estimator {problem.estimator.name}")
        )

    def advice(self, result: EstimationResult) -> str:
        """Return what to do after an end that a higher limit does not change."""
        return _ADVICE.get(result.ended_by or "", "")


@with_arguments(RunArguments, listener="nothing: observers hear how far an estimation is")
def estimate(
    problem: Problem | str | Path,
    *,
    linear_intervals: bool = False,
    **run: Unpack[RunArguments],
) -> EstimationResult:
    """Run the problem's estimator and return what it found.

    Where the model is too curved for the linear interval of a parameter, the interval is that of
    its profile likelihood; problems with stages have linear intervals only. How intervals come
    about: ``fmident.statistics.local_model``.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python; a problem file, or the folder of a
        result.
    linear_intervals
        Compute no profiles: all intervals are linear.
    **run
        Arguments of every analysis, such as `progress`, `folder` and `resume`.

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
    return perform(Estimation(linear_intervals=linear_intervals), problem, **run)


def _estimate_in_stages(
    problem: Problem,
    context: RunContext,
    identity: FmuIdentity,
    make: Callable[[Problem], Executor],
    check_start: Callable[[Problem, Evaluator], None],
) -> tuple[EstimationResult, ExecutorReport]:
    """Run the stages; the executors stay open until the last one has ended."""
    with ExitStack() as opened:
        executors: list[Executor] = []

        def executor_of(asked: Problem) -> Executor:
            context.try_out(asked)
            executors.append(opened.enter_context(make(asked)))
            return executors[-1]

        result = run_stages(
            problem,
            executor_of,
            lambda name: context.host.estimators.get(name)(),
            context.observers,
            identity,
            check_start,
        )
        return result, executors[0].report()


def _checks_of_stages(
    problem: Problem, host: Host, report: Report
) -> Callable[[Problem, Evaluator], None]:
    """Check the data of all stages; return the check of their initial simulations."""
    reported: set[Finding] = set()

    def report_new(findings: Iterable[Finding]) -> None:
        new = [f for f in findings if f.severity == "warning" and f not in reported]
        reported.update(new)
        report([f.diagnostic for f in new])

    def check_start(asked: Problem, evaluator: Evaluator) -> None:
        report_new(start_findings(asked, evaluator, read_description(asked.fmu)))

    for stage in problem.stages:
        estimator = host.estimators.get(stage.problem.estimator.name)
        findings = data_findings(
            stage.problem,
            read_description(stage.problem.fmu),
            inert_allowed=estimator.accepts_inert_parameters,
        )
        named = f"stage '{stage.name}': "
        refuse([dataclasses.replace(f, text=named + f.text) for f in findings])
        report_new(findings)
    return check_start


def engine_findings(report: ExecutorReport) -> list[Finding]:
    """Return what an executor has to say of the simulations."""
    return [finding("engine", text) for text in (*report.doubts, *report.notes)]


def with_executor(
    result: AnyResult, problem: Problem, report: ExecutorReport, findings: Iterable[Finding] = ()
) -> AnyResult:
    """Return the result with what its executor says, its settings, and further findings."""
    evaluation = {**as_written(problem.evaluation), **report.settings()}
    return dataclasses.replace(
        result,
        settings={**result.settings, "evaluation": evaluation},
        findings=in_order([*findings, *engine_findings(report), *result.findings]),
    )


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


def activity_of(observers: Sequence[Observer]) -> Callable[[str, int, int], None] | None:
    """Return a function that tells observers the progress of a batch of simulations."""
    interested = [o for o in observers if isinstance(o, ActivityObserver)]

    def tell(text: str, done: int, expected: int) -> None:
        for observer in interested:
            observer.activity(text, done, expected)

    return tell if interested else None
