"""The estimate that profiles, a bootstrap or a prediction begin from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from fmident.api.estimates import Estimation
from fmident.api.problems import file_of, problem_of
from fmident.api.run import Analysis, Result, RunContext
from fmident.arrays import F64
from fmident.errors import Code, EstimationError, ProblemError
from fmident.estimation.diagnostics.noise import asks_for_noise
from fmident.estimation.result import EstimationResult
from fmident.findings import Finding, finding
from fmident.problem.constraints import simplified
from fmident.problem.model import Problem
from fmident.report.result_json import FILE_NAME, read_result

_SAME_COST = 1e-3
"""Difference between the cost here and in the result, relative to it, that is no accident."""


@dataclass(frozen=True)
class OfEstimate(Analysis[Result]):
    """An analysis that begins from an estimate: given, in a folder, or found first."""

    result: EstimationResult | str | Path | None = None

    def prepared(
        self, subject: Any, context: RunContext, overrides: Mapping[str, object] | None = None
    ) -> tuple[Self, Problem]:
        """Take the estimate of the folder that is given as the problem, if there is one."""
        analysis = self
        if self.result is None and isinstance(subject, str | Path):
            folder = file_of(subject).parent
            if file_of(subject) != Path(subject) and (folder / FILE_NAME).is_file():
                analysis = dataclasses.replace(self, result=folder)
        return analysis, problem_of(subject, context.host, context.report, overrides)

    def announcement(self, problem: Problem) -> str:
        """Return that the problem is estimated first, if it is."""
        if self.result is not None:
            return ""
        return "no --result is given: the problem is estimated first"


def estimated(
    problem: Problem,
    result: EstimationResult | str | Path | None,
    context: RunContext,
    *,
    what: str,
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
    # What begins from it takes its values, and has intervals of its own.
    estimate = Estimation(linear_intervals=True).run(problem, context)
    if estimate.status == "interrupted":
        raise KeyboardInterrupt
    if estimate.status == "failed":
        raise EstimationError(
            f"there is no estimate to begin {what} from: {estimate.message}",
            hint="'fmident check' shows why an estimation fails",
        )
    return estimate


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


def not_converged(result: EstimationResult, what: str) -> list[Finding]:
    """Return a note where the estimate that `what` begin from has not converged."""
    if result.status == "converged":
        return []
    text = f"The estimation that {what} begin from has not converged ({result.status})."
    return [finding("not-converged", text)]


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
) -> list[Finding]:
    """Return a note if a result no longer belongs to this problem.

    `cost` is that of the problem at the estimate, and `before` that stored in the result. The cost
    of a result with a model of the noise is that of the innovations: it is not compared.
    """
    if (
        asks_for_noise(problem)
        or result.cost != problem.cost.name
        or not np.isfinite(cost)
        or abs(cost - before) <= max(_SAME_COST * abs(before), 1e-6)
    ):
        return []
    return [
        finding(
            "result-outdated",
            f"The cost at the estimate is {cost:.6g}, but {before:.6g} in its result: the data, "
            "the FMU or the problem have changed since.",
        )
    ]


def loss_of(result: EstimationResult) -> str:
    """Return the loss that a result minimised; ``"linear"`` is least squares."""
    options = result.settings.get("options", {})
    return str(options.get("loss", "linear")) if isinstance(options, Mapping) else "linear"
