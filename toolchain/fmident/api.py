"""The library's front door: everything wired together.

:func:`load_problem` and :func:`estimate` are what ``fmident.load_problem`` and
``fmident.estimate`` are, and what the command line calls.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.errors import (
    Diagnostic,
    EstimationError,
    FmidentError,
    FmuError,
    Location,
    ProblemError,
)
from fmident.overrides import apply_overrides, relocate

if TYPE_CHECKING:
    from fmident.checking import CheckReport
    from fmident.design import Design, DesignTask, SineDesign
    from fmident.estimation.monitor import Observer
    from fmident.estimation.result import EstimationResult
    from fmident.estimation.run import FmuIdentity
    from fmident.evaluation import Evaluator, Executor, ExecutorReport
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem import ModelResolver
    from fmident.problem.model import Problem

Report = Callable[[Iterable[Diagnostic]], None]
"""Takes warnings and notes that come up on the way."""


def warn(diagnostics: Iterable[Diagnostic]) -> None:
    """Report diagnostics as Python warnings, but for mere notes."""
    for diagnostic in diagnostics:
        if diagnostic.severity != "note":
            warnings.warn(str(diagnostic), stacklevel=3)


def load_problem(
    path: str | Path,
    *,
    host: Host | None = None,
    overrides: Mapping[str, object] | None = None,
    report: Report = warn,
    text: str | None = None,
) -> Problem:
    """Read a problem file, its data, and the description of its FMU.

    A class named by ``model.class`` is compiled when its FMU is missing or stale.

    Parameters
    ----------
    path
        The TOML file.
    host
        Plugins; loaded when not given.
    overrides
        Dotted key of the file to value, such as ``{"estimator.solver": "scipy"}``.
    report
        Takes warnings of plugins and of the compiler; Python warnings by default.
    text
        What to read in place of the file's content.

    Returns
    -------
    fmident.problem.Problem
        Immutable.

    Raises
    ------
    fmident.errors.FmidentError
        Anything that is wrong in the file, the data or the FMU.
    """
    from fmident import problem as problems
    from fmident.estimation.choices import check_estimators

    host = _host(host, report)
    chosen = dict(overrides or {})
    content = problems.read_problem_file(path) if text is None else text
    text = apply_overrides(content, chosen, str(path))
    try:
        found = problems.load_problem(
            path,
            text=text,
            resolve_model=_resolver(host, report),
            reader=host.read_data,
            resolve_cost=host.costs.get,
        )
        check_estimators(found, host.estimators.get)
    except FmidentError as error:
        relocate(error, content, text, chosen, str(path))
        raise
    report(found.notes)
    return found


def design(
    path: str | Path, *, host: Host | None = None, report: Report = warn
) -> tuple[DesignTask, Design | SineDesign]:
    """Find the motion that a design file asks for.

    Parameters
    ----------
    path
        The TOML file.
    host
        Plugins; loaded when not given.
    report
        Takes warnings of plugins and of the compiler; Python warnings by default.

    Returns
    -------
    task
        What was asked for.
    design
        The motion, or the sine, and what it promises.

    Raises
    ------
    fmident.errors.FmidentError
        Anything that is wrong in the file or the FMU; parameters that no motion tells apart.
    """
    from fmident.design import SineSettings, design_excitation, design_sine, load_design
    from fmident.evaluation import Evaluator, make_executor

    task = load_design(path, resolve_model=_resolver(_host(host, report), report))
    executor = make_executor(task.problem, warn=lambda diagnostic: report([diagnostic]))
    with Evaluator(task.problem, executor) as evaluator:
        if isinstance(task.settings, SineSettings):
            return task, design_sine(evaluator, task.sigmas, task.settings)
        return task, design_excitation(evaluator, task.axes, task.sigmas, task.settings)


def estimate(
    problem: Problem,
    *,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    report: Report = warn,
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
        Told of each iteration, before the plugins are.
    report
        Takes warnings of plugins; Python warnings by default.
    folder
        Where the result folder is written; a journal is kept beside it during the run. A result
        that stands there is kept as ``NAME.1``.
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
    from fmident.estimation.assumed_units import assumed_units
    from fmident.estimation.checks import check_initial_simulation, check_survives
    from fmident.estimation.run import FmuIdentity, run_estimation
    from fmident.evaluation import Evaluator, runs_in_this_process
    from fmident.evaluation.journal import recording
    from fmident.fmu.fmu import read_description
    from fmident.plugins import Run
    from fmident.plugins.observers import PluginObserver

    host = _host(host, report)
    if folder is not None:
        return _estimate_into(Path(folder), problem, host, observers, report, resume)
    if resume:
        raise ValueError("resume needs the result folder of the run that was interrupted")
    estimator = host.estimators.get(problem.estimator.name)()
    _ask_plugins(problem, host, report)
    executor_of = recording(
        workspace.journal if workspace is not None else None,
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
        result = dataclasses.replace(result, assumed_units=assumed_units(problem))
        events.finished(result)
        return result
    if runs_in_this_process(problem):
        check_survives(problem)
    executor = executor_of(problem)
    with Evaluator(problem, executor) as evaluator:
        inert_allowed = estimator.accepts_inert_parameters
        check_initial_simulation(problem, evaluator)
        found = quick_findings(problem, evaluator, about, inert_allowed=inert_allowed)
        refuse(found)
        report([d for d in found if d.severity == "warning"])
        events.started()
        result = run_estimation(
            problem, evaluator, estimator, observers=(*observers, events), fmu=identity
        )
        result = _with_executor(result, executor.report())
        result = dataclasses.replace(result, assumed_units=assumed_units(problem))
    events.finished(result)
    return result


def _estimate_into(
    folder: Path,
    problem: Problem,
    host: Host,
    observers: Sequence[Observer],
    report: Report,
    resume: bool,
) -> EstimationResult:
    """Estimate with a journal, and write the result folder."""
    from fmident.evaluation.journal import Workspace
    from fmident.report.folder import check_target, holds_unfinished, write_folder

    check_target(folder)
    with Workspace(folder, problem, resume=resume, report=report) as workspace:
        result = estimate(
            problem, host=host, observers=observers, report=report, workspace=workspace
        )
        workspace.keep()
        replace = resume and holds_unfinished(folder)
        _, failed = write_folder(
            result,
            problem,
            folder,
            host.reporters,
            replace=replace,
            placing=lambda work: workspace.placing(work, result.status),
        )
        report(failed)
        workspace.finish(result.status)
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
    from fmident.estimation.stages import run_stages
    from fmident.evaluation import runs_in_this_process

    with ExitStack() as opened:
        executors: list[Executor] = []

        def executor_of(asked: Problem) -> Executor:
            if runs_in_this_process(asked):
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
        return _with_executor(result, executors[0].report())


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

    told: set[Diagnostic] = set()

    def tell(found: Iterable[Diagnostic]) -> None:
        new = [d for d in found if d.severity == "warning" and d not in told]
        told.update(new)
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


def check(
    problem: Problem, *, host: Host | None = None, quick: bool = False, report: Report = warn
) -> CheckReport:
    """Look at a problem before it is estimated: whether it can be, how well, in which time.

    Parameters
    ----------
    problem
        From :func:`load_problem`, or built in Python.
    host
        Plugins; loaded when not given.
    quick
        Look at the initial point only.
    report
        Takes warnings of plugins that cannot be loaded; Python warnings by default.

    Returns
    -------
    fmident.checking.CheckReport
        With everything that was found; what plugins say of the problem among it.

    Raises
    ------
    fmident.errors.FmidentError
        The FMU cannot be used at all; an unknown estimator or wrong options.
    """
    from fmident.checking import in_stages

    host = _host(host, report)
    found = host.check_problem(problem)
    if not problem.stages:
        return _check_one(problem, host, found, ("estimator",), quick=quick, report=report)
    reports = [
        _check_one(
            s.problem,
            host,
            [] if number else found,
            ("stages", number, "estimator"),
            quick=quick,
            report=report,
            whole=problem,
        )
        for number, s in enumerate(problem.stages)
    ]
    return in_stages([s.name for s in problem.stages], reports)


def _check_one(
    problem: Problem,
    host: Host,
    found: Sequence[Diagnostic],
    table: tuple[str | int, ...],
    *,
    quick: bool,
    report: Report,
    whole: Problem | None = None,
) -> CheckReport:
    """Check a problem, or a stage of one whose estimator stands in `table`."""
    from fmident.checking import check_problem
    from fmident.estimation.choices import estimator_options
    from fmident.evaluation import make_executor
    from fmident.fmu import read_description

    estimator = host.estimators.get(problem.estimator.name)()
    crash = _crash(problem)
    with make_executor(problem, warn=lambda diagnostic: report([diagnostic])) as executor:
        return check_problem(
            problem,
            executor,
            description=read_description(problem.fmu),
            estimator=estimator,
            options=estimator_options(problem, estimator, table),
            found=found if crash is None else [*found, crash],
            simulate=crash is None,
            quick=quick,
            whole=whole,
        )


def _crash(problem: Problem) -> Diagnostic | None:
    """Return that the FMU's code takes the process with it, if it does."""
    from fmident.estimation.checks import check_survives
    from fmident.evaluation import runs_in_this_process

    if not runs_in_this_process(problem):
        return None
    try:
        check_survives(problem)
    except EstimationError:
        return None  # an ordinary failure, which the check meets again and describes
    except FmuError as error:
        return Diagnostic("error", error.message, error.location, error.hint, "simulation-crashes")
    return None


def _with_executor(result: EstimationResult, report: ExecutorReport) -> EstimationResult:
    """Add who ran the simulations, and how that went."""
    settings = {**result.settings, "evaluation": report.settings()}
    return dataclasses.replace(result, settings=settings, notes=(*result.notes, *report.notes))


def _resolver(host: Host, report: Report) -> ModelResolver:
    """Return what finds or builds the FMU of a class."""

    def resolve(class_name: str, table: Mapping[str, Any], base: Path) -> Path:
        from fmident.builds import resolve_class

        built = resolve_class(host, class_name, table, base)
        if built.result is not None:
            note = f"{built.fmu} built by {built.result.compiler} in {built.result.seconds:.1f} s"
            report([*built.result.diagnostics, Diagnostic("note", note)])
        return built.fmu

    return resolve


def _host(host: Host | None, report: Report) -> Host:
    if host is not None:
        return host
    from fmident.plugins import load_plugins

    loaded = load_plugins()
    report(loaded.diagnostics)
    return loaded


def _ask_plugins(problem: Problem, host: Host, report: Report) -> None:
    """Let the plugins look at the problem.

    Raises
    ------
    fmident.errors.ProblemError
        One of them refuses it.
    """
    found = host.check_problem(problem)
    errors = [d for d in found if d.severity == "error"]
    report([d for d in found if d.severity != "error"])
    if errors:
        first = errors[0]
        source = Location(str(problem.source)) if problem.source is not None else None
        raise ProblemError(
            "; ".join(d.message for d in errors),
            location=first.location or source,
            hint=first.hint,
        )
