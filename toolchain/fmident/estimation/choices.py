"""Checks of the estimators and costs in a problem file, before anything is simulated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from fmident.errors import Code, Location, PluginError, ProblemError
from fmident.estimation.contract import Estimator
from fmident.estimation.options import build_options
from fmident.problem.constraints import simplified
from fmident.problem.cost import TimeDomain
from fmident.problem.priors import Priors
from fmident.problem.residuals import residual_layout

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_KEEPS_CONSTRAINTS = "scipy-minimize"

Keys = tuple[str | int, ...]

Find = Callable[[str], type[Estimator[Any]]]
"""Name of an estimator to its class; raises :class:`~fmident.errors.PluginError`."""

Capable = Callable[[], Iterable[str]]
"""Returns names of estimators; they are imported for it, so that it is called only for messages."""


def estimator_options(
    problem: Problem,
    estimator: Estimator[Any] | type[Estimator[Any]],
    table: Keys = ("estimator",),
) -> Any:
    """Return the estimator's options from the problem.

    `table` is the path of the table in the problem file, for messages. Raises
    `ProblemError`.
    """
    return build_options(
        estimator,
        problem.estimator.options,
        lambda key: problem.where(*table, *(() if key is None else (key,))),
        f"[{'.'.join(str(k) for k in table if isinstance(k, str))}]",
    )


def suited(
    problem: Problem,
    estimator: Estimator[Any] | type[Estimator[Any]],
    capable: Capable = tuple,
    location: Location | None = None,
) -> Problem:
    """Return the problem with only the constraints that the estimator supports.

    For an estimator without constraints, a linear equality makes a parameter depend on the
    others, and a linear inequality in a single parameter becomes a bound. Raises
    `ProblemError` if others remain; `capable` returns the names of estimators that support
    constraints, and `location` is that of the constraints, both for its message.
    """
    if not problem.constraints or estimator.keeps_constraints:
        return problem
    reduced = simplified(problem)
    if not reduced.constraints:
        return reduced
    named = ", ".join(str(c) for c in reduced.constraints)
    several = len(reduced.constraints) > 1
    others = " or ".join(f"'{name}'" for name in tuple(capable()) or (_KEEPS_CONSTRAINTS,))
    raise ProblemError(
        f"the estimator '{estimator.name}' does not keep the constraint{'s' * several} {named}",
        location=location,
        hint=f"use the estimator {others}, or remove the constraint{'s' * several}; linear"
        " equalities whose bounds leave one parameter to follow from the others, and linear"
        " inequalities in one parameter, are kept with every estimator",
        code=Code.NOT_SUPPORTED,
    )


def refuse_cost(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Reject a cost that the estimator does not use; raises `ProblemError` at `location`."""
    if not estimator.any_cost and not problem.cost.gives_intervals:
        raise ProblemError(
            f"the estimator '{estimator.name}' solves equations of its own and does not minimise "
            f"the cost '{problem.cost.name}'",
            location=location,
            hint="leave the cost out, or choose an estimator that minimises one, such as "
            "least-squares",
        )


def no_errors_note(problem: Problem) -> str:
    """Return why the cost gives no standard errors."""
    chosen = f"'{problem.cost.name}'"
    plain = "the time-domain cost"
    if problem.cost.name == TimeDomain.name:  # with an option that changes what it counts
        options = ", ".join(f"{k} = {v!r}" for k, v in problem.cost.options().items())
        chosen += f" with {options}"
        plain += " as it is by default"
    return (
        f"There are no standard errors: they do not follow from the cost {chosen}. A further "
        f"stage with least-squares and {plain} gives them."
    )


def refuse_priors(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Reject priors that the estimator does not use, or the cost cannot be combined with."""
    priors = Priors.of(problem)
    if not priors.count:
        return
    names = ", ".join(f"'{name}'" for name in priors.names)
    has = f"{names} {'has a prior' if priors.count == 1 else 'have priors'}"
    location = problem.where("parameters", priors.names[0], "prior") or location
    if not problem.cost.gives_intervals:
        options = ", ".join(f"{k} = {v!r}" for k, v in problem.cost.options().items())
        cost = f"'{problem.cost.name}'" + (f" with {options}" if options else "")
        raise ProblemError(
            f"{has}, but the cost {cost} is not a likelihood: how much a standard deviation of a"
            " prior counts beside the data is not known",
            location=location,
            hint="use the time-domain cost as it is by default, or remove the priors",
            code=Code.NOT_SUPPORTED,
        )
    if not (estimator.any_cost if estimator.takes_priors is None else estimator.takes_priors):
        raise ProblemError(
            f"{has}, but the estimator '{estimator.name}' solves equations of its own, in which"
            " priors do not count",
            location=location,
            hint="choose an estimator that minimises the cost, such as least-squares, or remove"
            " the priors",
            code=Code.NOT_SUPPORTED,
        )
    samples, free = residual_layout(problem).size, len(problem.free)
    if not problem.sigma_known and samples <= free:
        raise ProblemError(
            f"{has}, but how much it counts beside the data is not known: nothing is known of the"
            f" noise, and {samples} samples cannot tell it together with {free} parameters",
            location=location,
            hint="give each output its sigma, or more samples",
        )


def check_estimators(problem: Problem, find: Find, capable: Capable = tuple) -> None:
    """Reject unknown estimators, wrong options and unsuitable costs, also of stages.

    `find` returns an estimator by name; `capable` returns the names of those that support
    constraints, for messages. Raises `ProblemError` with the place in the file.
    """
    estimator = _check_estimator(problem, find, (), solves=not problem.stages)
    where = problem.where("constraints")
    if not problem.stages:
        suited(problem, estimator, capable, where)
        refuse_cost(problem, estimator, problem.where("cost"))
        refuse_priors(problem, estimator, None)
    for position, stage in enumerate(problem.stages):
        own: Keys = () if stage.separate else ("stages", position)
        solved = stage.problem
        estimator = _check_estimator(
            solved, find, () if solved.estimator is problem.estimator else own
        )
        suited(solved, estimator, capable, where)
        table = () if solved.cost is problem.cost else own
        refuse_cost(solved, estimator, solved.where(*table, "cost"))
        refuse_priors(solved, estimator, None)


def _check_estimator(
    problem: Problem, find: Find, owner: Keys, *, solves: bool = True
) -> type[Estimator[Any]]:
    """Return the estimator, whose table is in the table `owner`."""
    try:
        estimator = find(problem.estimator.name)
    except PluginError as error:
        place = problem.where(*owner, "estimator", "name")
        raise ProblemError(
            error.message, location=place, hint=error.hint, code=error.code
        ) from error
    options = estimator_options(problem, estimator, (*owner, "estimator"))
    if solves:
        try:
            estimator().check_problem(problem, options)
        except ProblemError as error:
            error.location = error.location or problem.where(*owner, "estimator")
            raise
    return estimator
