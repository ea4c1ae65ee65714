"""The estimate that an analysis of its uncertainty begins from, and the problem that it is of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.api.estimates import estimate
from fmident.api.wiring import Report
from fmident.arrays import F64
from fmident.errors import Code, EstimationError, Location, ProblemError
from fmident.estimation.result import EstimationResult

if TYPE_CHECKING:
    from fmident.estimation.monitor import Observer
    from fmident.evaluation.journal import Workspace
    from fmident.plugins import Host
    from fmident.problem.model import Problem

_SAME_COST = 1e-3
"""Difference between the cost here and in the result, relative to it, that is no accident."""


def estimated(
    problem: Problem,
    result: EstimationResult | str | Path | None,
    host: Host,
    observers: Sequence[Observer],
    report: Report,
    workspace: Workspace | None,
    *,
    what: str,
) -> EstimationResult:
    """Return the estimate: as given, read from its folder, or found now.

    Parameters
    ----------
    problem
        What to estimate.
    result
        An estimate, or the folder of one.
    host, observers, report, workspace
        As of :func:`fmident.estimate`.
    what
        Begins from it, such as ``"the profiles"``.

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
        from fmident.report.stored import read_result

        return read_result(Path(result)).result
    found = estimate(problem, host=host, observers=observers, report=report, workspace=workspace)
    if found.status == "interrupted":
        raise KeyboardInterrupt
    if found.status == "failed":
        raise EstimationError(
            f"there is no estimate to begin {what} from: {found.message}",
            hint="'fmident check' shows why an estimation fails",
        )
    return found


def without_constraints(problem: Problem, what: str) -> Problem:
    """Return the problem with bounds and dependent parameters in place of its constraints.

    Parameters
    ----------
    problem
        With constraints or none.
    what
        Does not keep them, such as ``"profiles"``.

    Raises
    ------
    fmident.errors.ProblemError
        A constraint is left.
    """
    if not problem.constraints:
        return problem
    from fmident.problem.relations.elimination import simplified

    found = simplified(problem)
    if found.constraints:
        raise ProblemError(
            f"{what} do not keep the constraint {found.constraints[0]}",
            location=None if problem.source is None else Location(str(problem.source)),
            hint=f"the intervals of 'fmident estimate' end where constraints do; {what} need"
            " linear equalities or linear inequalities in one parameter",
            code=Code.NOT_SUPPORTED,
        )
    return found


def start_of(problem: Problem, result: EstimationResult) -> F64:
    """Return the estimate as a point of the problem, shape (n,).

    Raises
    ------
    fmident.errors.ProblemError
        The result does not have a parameter, or has it outside of its bounds.
    """
    source = None if problem.source is None else Location(str(problem.source))
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
    """Return a note where a result is not of this problem any more.

    Parameters
    ----------
    problem
        As it is now.
    result
        The estimate.
    cost
        Of the problem at the estimate.
    before
        The cost that the result has.
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
    """Return the loss that a result has minimised: ``"linear"`` is that of least squares."""
    options = result.settings.get("options", {})
    return str(options.get("loss", "linear")) if isinstance(options, Mapping) else "linear"


def activity_of(observers: Sequence[Observer]) -> Callable[[str, int, int], None] | None:
    """Return what tells observers how far a batch of simulations is."""
    from fmident.estimation.monitor import ActivityObserver

    interested = [o for o in observers if isinstance(o, ActivityObserver)]

    def tell(text: str, done: int, expected: int) -> None:
        for observer in interested:
            observer.activity(text, done, expected)

    return tell if interested else None
