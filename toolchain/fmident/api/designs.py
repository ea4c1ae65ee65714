"""Design the motion of an experiment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from fmident.api.problems import loaded, plugins_of, warn
from fmident.api.run import (
    SIMULATIONS_DONE,
    Analysis,
    AnalysisArguments,
    RunContext,
    perform,
    with_arguments,
)
from fmident.designing import (
    Design,
    DesignTask,
    SineDesign,
    SineSettings,
    design_excitation,
    design_sine,
    load_design,
)
from fmident.evaluation import Evaluator, make_executor
from fmident.problem.model import Problem


@dataclass(frozen=True)
class Designing(Analysis["Design | SineDesign"]):
    """The design of a motion, or of a sine."""

    task: DesignTask

    def run(self, problem: Problem, context: RunContext) -> Design | SineDesign:
        """Search the motion."""
        task = self.task
        kinds = context.host.executors.by_name
        executor = make_executor(problem, kinds, warn=context.warn)
        with Evaluator(problem, executor) as evaluator:
            evaluator.activities.listener = context.listener
            if isinstance(task.settings, SineSettings):
                return design_sine(evaluator, task.sigmas, task.settings)
            return design_excitation(evaluator, task.axes, task.sigmas, task.settings)


@with_arguments(AnalysisArguments, listener=SIMULATIONS_DONE)
def design(
    path: str | Path, **run: Unpack[AnalysisArguments]
) -> tuple[DesignTask, Design | SineDesign]:
    """Find the motion that a design file asks for.

    Parameters
    ----------
    path
        The TOML file.
    **run
        Arguments of every analysis, such as `progress`.

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
    report = run.setdefault("report", warn)
    host = run["host"] = loaded(run.get("host"), report)
    task = load_design(path, plugins=plugins_of(host, report))
    report(task.problem.notes)
    return task, perform(Designing(task), task.problem, **run)
