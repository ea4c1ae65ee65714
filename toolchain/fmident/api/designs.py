"""From a design file to the motion that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fmident.api.problems import resolver
from fmident.api.wiring import Report, loaded, warn

if TYPE_CHECKING:
    from fmident.designing import Design, DesignTask, SineDesign
    from fmident.evaluation.activity import Listener
    from fmident.plugins import Host


def design(
    path: str | Path,
    *,
    host: Host | None = None,
    report: Report = warn,
    progress: bool = False,
    listener: Listener | None = None,
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
    progress
        Show how far it is, on standard error or in the output of a notebook's cell.
    listener
        In its place: hears what is being done, how many of its simulations are done, and how
        many it takes as a rule.

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
    from fmident.designing import SineSettings, design_excitation, design_sine, load_design
    from fmident.evaluation import Evaluator, make_executor

    if progress:
        from fmident.progress import watching

        with watching() as watch:
            return design(path, host=host, report=report, listener=watch.activity)
    host = loaded(host, report)
    kinds = host.executors.by_name
    task = load_design(path, resolve_model=resolver(host, report), executors=kinds)
    report(task.problem.notes)
    executor = make_executor(task.problem, kinds, warn=lambda diagnostic: report([diagnostic]))
    with Evaluator(task.problem, executor) as evaluator:
        evaluator.activities.listener = listener
        if isinstance(task.settings, SineSettings):
            return task, design_sine(evaluator, task.sigmas, task.settings)
        return task, design_excitation(evaluator, task.axes, task.sigmas, task.settings)
