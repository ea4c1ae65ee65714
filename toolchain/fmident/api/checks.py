"""Check a problem before it is estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

from fmident.api.problems import keeping_constraints
from fmident.api.run import (
    SIMULATIONS_DONE,
    Analysis,
    AnalysisArguments,
    RunContext,
    perform,
    with_arguments,
)
from fmident.checking import CheckReport, GlobalMethod, check_problem, in_stages
from fmident.errors import EstimationError, FmuError
from fmident.estimation.checks import estimator_options, suited
from fmident.evaluation import Evaluator, make_executor
from fmident.findings import Finding
from fmident.fmu import read_description
from fmident.problem.model import Problem


@dataclass(frozen=True)
class Checking(Analysis[CheckReport]):
    """A look at a problem; options as of :func:`check`."""

    quick: bool = False
    global_method: GlobalMethod | None = None

    def run(self, problem: Problem, context: RunContext) -> CheckReport:
        """Check the problem, or each of its stages."""
        findings = [Finding.of(d) for d in context.host.check_problem(problem)]
        if not problem.stages:
            return self._one(problem, context, findings, ("estimator",))
        reports = [
            self._one(
                s.problem, context, [] if number else findings, ("stages", number, "estimator")
            )
            for number, s in enumerate(problem.stages)
        ]
        return in_stages([s.name for s in problem.stages], reports)

    def _one(
        self,
        problem: Problem,
        context: RunContext,
        findings: Sequence[Finding],
        table: tuple[str | int, ...],
    ) -> CheckReport:
        """Check a problem, or a stage of one whose estimator is in `table`."""
        estimator = context.host.estimators.get(problem.estimator.name)()
        problem = suited(problem, estimator, keeping_constraints(context.host))
        crash = _crash(problem, context)
        kinds = context.host.executors.by_name
        with make_executor(problem, kinds, warn=context.warn) as executor:
            evaluator = Evaluator(problem, executor)
            evaluator.activities.listener = context.listener
            return check_problem(
                evaluator,
                description=read_description(problem.fmu),
                estimator=estimator,
                options=estimator_options(problem, estimator, table),
                earlier=findings if crash is None else [*findings, crash],
                simulate=crash is None,
                quick=self.quick,
                global_method=self.global_method,
            )


def _crash(problem: Problem, context: RunContext) -> Finding | None:
    try:
        context.try_out(problem)
    except EstimationError:
        return None  # an ordinary failure, which the check meets again and describes
    except FmuError as error:
        return Finding(
            "simulation-crashes", "error", error.message, error.location, error.hint or ""
        )
    return None


@with_arguments(AnalysisArguments, listener=SIMULATIONS_DONE)
def check(
    problem: Problem | str | Path,
    *,
    quick: bool = False,
    global_method: GlobalMethod | Literal["sobol", "morris"] | None = None,
    **run: Unpack[AnalysisArguments],
) -> CheckReport:
    """Look at a problem before it is estimated: whether it can be, how well, in which time.

    Parameters
    ----------
    problem
        From :func:`fmident.load_problem`, or built in Python; a problem file, or the folder of a
        result.
    quick
        Look at the initial point only.
    global_method
        Also move all parameters through their bounds, to see which of them matter there: a
        :class:`fmident.checking.GlobalMethod`, or its name.
    **run
        Arguments of every analysis, such as `progress`.

    Returns
    -------
    fmident.checking.CheckReport
        With everything that was found; what plugins say of the problem among it.

    Raises
    ------
    fmident.errors.FmidentError
        The FMU cannot be used at all; an unknown estimator or wrong options; global
        sensitivities of parameters that constraints tie.
    """
    if isinstance(global_method, str):
        global_method = GlobalMethod(global_method)
    return perform(Checking(quick, global_method), problem, **run)
