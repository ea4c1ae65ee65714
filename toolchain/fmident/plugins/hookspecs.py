"""Specifications of all hooks.

A plugin is a module (or any object) with functions of these names, marked with
:data:`fmident.plugins.hookimpl` and named by an entry point of the group ``fmident``. A
function may omit arguments it does not need. No hook is called once per simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    import pandas as pd

    from fmident.compilers.base import Compiler
    from fmident.errors import Diagnostic
    from fmident.estimation.contract import Estimator, Iteration
    from fmident.estimation.result import EstimationResult
    from fmident.evaluation import ExecutorKind
    from fmident.plugins.registry import Registry
    from fmident.problem.cost import Cost
    from fmident.problem.model import Problem
    from fmident.report.contract import Reporter
    from fmident.report.sections import Section

PROJECT = "fmident"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@dataclass(frozen=True)
class Run:
    """One run of an estimator, as the hooks see it.

    Plugins keep their own data between the hooks of this run in `memory`, under a key of their own.
    """

    problem: Problem
    estimator: str
    memory: dict[str, object] = field(default_factory=dict)


@hookspec
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register estimators: ``registry.add("random-search", RandomSearch)``.

    Parameters
    ----------
    registry
        Takes subclasses of :class:`~fmident.estimation.contract.Estimator`. The name is
        used in the problem file's ``[estimator]`` table.
    """


@hookspec
def fmident_register_costs(registry: Registry[type[Cost]]) -> None:
    """Register costs: ``registry.add("smoothed-spectrum", SmoothedSpectrum)``.

    Parameters
    ----------
    registry
        Takes subclasses of :class:`~fmident.problem.cost.Cost`, which map measured and
        predicted signals to residuals whose sum of squares is minimised. The name is used
        in the problem file's ``[cost]`` table.
    """


@hookspec
def fmident_register_executors(registry: Registry[ExecutorKind]) -> None:
    """Register executors: ``registry.add("pool", ExecutorKind(make, "a pool of processes"))``.

    Parameters
    ----------
    registry
        Takes :class:`~fmident.evaluation.executors.registry.ExecutorKind`, which holds the
        factory and the capabilities of an executor. The name is the value of ``executor``
        in the problem file's ``[evaluation]`` table.
    """


@hookspec
def fmident_register_compilers(registry: Registry[type[Compiler]]) -> None:
    """Register Modelica compilers: ``registry.add("embedded", EmbeddedCompiler)``.

    Parameters
    ----------
    registry
        Takes subclasses of :class:`~fmident.compilers.base.Compiler` whose constructor
        needs no arguments.
    """


@hookspec
def fmident_register_reporters(registry: Registry[type[Reporter]]) -> None:
    """Register reporters, which write a result in another format.

    Parameters
    ----------
    registry
        Takes subclasses of :class:`~fmident.report.contract.Reporter`. Each is called
        once after a run and adds its files to the result folder.
    """


@hookspec(firstresult=True)
def fmident_read_data(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
    """Read a data file in a format that fmident does not support.

    Parameters
    ----------
    path
        The file.
    spec
        The problem file's ``[[experiments]]`` table as written.

    Returns
    -------
    pandas.DataFrame or None
        One column per signal and one for the time in seconds; ``None`` if the format is not
        this plugin's. The first plugin that returns a frame is used.
    """


@hookspec
def fmident_check_problem(problem: Problem) -> list[Diagnostic]:  # type: ignore[empty-body]
    """Check a problem before the run.

    Parameters
    ----------
    problem
        As it will be estimated.

    Returns
    -------
    list of Diagnostic
        A diagnostic of severity ``"error"`` rejects the problem; the others are displayed.
    """


@hookspec
def fmident_report_sections(  # type: ignore[empty-body]
    result: EstimationResult, problem: Problem
) -> list[Section]:
    """Add sections to ``report.html``.

    Parameters
    ----------
    result
        Everything the run found, also when it was interrupted.
    problem
        What was asked.

    Returns
    -------
    list of Section
        Paragraphs, tables and figures under a heading, see :mod:`fmident.report.sections`.
        Empty where there is nothing to show.
    """


@hookspec
def fmident_run_started(run: Run) -> None:
    """Handle the start of a run.

    Parameters
    ----------
    run
        The problem, the estimator's name, and a dictionary in which a plugin can keep
        data until the run has finished.
    """


@hookspec
def fmident_iteration(run: Run, state: Iteration) -> None:
    """Handle an iteration.

    Parameters
    ----------
    run
        The same object as in ``fmident_run_started``.
    state
        Number, best parameters, cost, counts, time.

    Raises
    ------
    fmident.estimation.contract.StopEstimation
        Ends the run with the best parameters so far.
    """


@hookspec
def fmident_run_finished(run: Run, result: EstimationResult) -> None:
    """Handle the end of a run.

    Parameters
    ----------
    run
        The same object as in ``fmident_run_started``.
    result
        The complete result, also of an interrupted run.
    """
