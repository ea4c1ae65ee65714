"""The library's front door: everything wired together.

:func:`load_problem` and :func:`estimate` are what ``fmident.load_problem`` and
``fmident.estimate`` are, and what the command line calls.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.errors import Diagnostic, FmidentError, Location, PluginError, ProblemError
from fmident.overrides import apply_overrides, relocate
from fmident.toml_file import Source

if TYPE_CHECKING:
    from fmident.design import Design, DesignTask, SineDesign
    from fmident.estimation.contract import Estimator
    from fmident.estimation.monitor import Observer
    from fmident.estimation.result import EstimationResult
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
        _check_estimator(found, host)
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
    from fmident.evaluation import Evaluator, InProcessExecutor
    from fmident.fmu import open_fmu

    task = load_design(path, resolve_model=_resolver(_host(host, report), report))
    with (
        open_fmu(task.problem.fmu) as fmu,
        Evaluator(task.problem, InProcessExecutor(task.problem, fmu)) as evaluator,
    ):
        if isinstance(task.settings, SineSettings):
            return task, design_sine(evaluator, task.sigmas, task.settings)
        return task, design_excitation(evaluator, task.axes, task.sigmas, task.settings)


def estimate(
    problem: Problem,
    *,
    host: Host | None = None,
    observers: Sequence[Observer] = (),
    report: Report = warn,
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
    from fmident.estimation.checks import check_survives
    from fmident.estimation.run import FmuIdentity, run_estimation
    from fmident.evaluation import Evaluator, InProcessExecutor
    from fmident.fmu import open_fmu
    from fmident.plugins import Run
    from fmident.plugins.observers import PluginObserver

    host = _host(host, report)
    estimator = host.estimators.get(problem.estimator.name)()
    _ask_plugins(problem, host, report)
    events = PluginObserver(
        host, Run(problem, problem.estimator.name), lambda diagnostic: report([diagnostic])
    )
    with open_fmu(problem.fmu) as fmu:
        check_survives(problem)
        about = fmu.description
        identity = FmuIdentity(about.name, about.guid, about.generation_tool, problem.fmu)
        with Evaluator(problem, InProcessExecutor(problem, fmu)) as evaluator:
            events.started()
            result = run_estimation(
                problem, evaluator, estimator, observers=(*observers, events), fmu=identity
            )
    events.finished(result)
    return result


def estimator_options(problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]]) -> Any:
    """Return the estimator's options as the problem gives them.

    Raises
    ------
    fmident.errors.ProblemError
        Unknown or wrong options.
    """
    from fmident.estimation.options import build_options

    return build_options(estimator, problem.estimator.options, lambda key: _place(problem, key))


def _check_estimator(problem: Problem, host: Host) -> None:
    """Refuse an unknown estimator or wrong options of it, before anything is simulated.

    Raises
    ------
    fmident.errors.ProblemError
        With the place in the file.
    """
    try:
        estimator = host.estimators.get(problem.estimator.name)
    except PluginError as error:
        raise ProblemError(
            error.message, location=_place(problem, "name"), hint=error.hint
        ) from error
    estimator_options(problem, estimator)


def _place(problem: Problem, key: str | None = None) -> Location | None:
    """Return the place of the table ``[estimator]`` or of a key in it."""
    if problem.source is None:
        return None
    keys = ("estimator",) if key is None else ("estimator", key)
    return Source(problem.source, problem.text).where(keys)


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
