"""The estimators and costs that a problem file names, checked before anything is simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fmident.errors import Location, PluginError, ProblemError
from fmident.estimation.contract import Estimator
from fmident.estimation.options import build_options
from fmident.estimation.run import refuse_cost
from fmident.toml_file import Source

if TYPE_CHECKING:
    from fmident.problem.model import Problem

Keys = tuple[str | int, ...]

Find = Callable[[str], type[Estimator[Any]]]
"""Name of an estimator to its class; raises :class:`~fmident.errors.PluginError`."""


def estimator_options(
    problem: Problem,
    estimator: Estimator[Any] | type[Estimator[Any]],
    table: Keys = ("estimator",),
) -> Any:
    """Return the estimator's options as the problem gives them.

    Parameters
    ----------
    problem
        With the options.
    estimator
        Which the problem names.
    table
        Keys of the table in the problem's file, for messages.

    Raises
    ------
    fmident.errors.ProblemError
        Unknown or wrong options.
    """
    return build_options(
        estimator,
        problem.estimator.options,
        lambda key: _place(problem, *table, *(() if key is None else (key,))),
        f"[{'.'.join(str(k) for k in table if isinstance(k, str))}]",
    )


def check_estimators(problem: Problem, find: Find) -> None:
    """Refuse unknown estimators, wrong options and costs that do not fit, also of stages.

    Raises
    ------
    fmident.errors.ProblemError
        With the place in the file.
    """
    estimator = _check_estimator(problem, find, (), solves=not problem.stages)
    if not problem.stages:
        refuse_cost(problem, estimator, _place(problem, "cost"))
    for position, stage in enumerate(problem.stages):
        own: Keys = () if stage.separate else ("stages", position)
        solved = stage.problem
        estimator = _check_estimator(
            solved, find, () if solved.estimator is problem.estimator else own
        )
        table = () if solved.cost is problem.cost else own
        refuse_cost(solved, estimator, _place(solved, *table, "cost"))


def _check_estimator(
    problem: Problem, find: Find, owner: Keys, *, solves: bool = True
) -> type[Estimator[Any]]:
    """Return the estimator; its table is in the table `owner`."""
    try:
        estimator = find(problem.estimator.name)
    except PluginError as error:
        place = _place(problem, *owner, "estimator", "name")
        raise ProblemError(
            error.message, location=place, hint=error.hint, code=error.code
        ) from error
    options = estimator_options(problem, estimator, (*owner, "estimator"))
    if solves:
        try:
            estimator().check_problem(problem, options)
        except ProblemError as error:
            error.location = error.location or _place(problem, *owner, "estimator")
            raise
    return estimator


def _place(problem: Problem, *keys: str | int) -> Location | None:
    """Return the place of a key in the problem's file."""
    if problem.source is None:
        return None
    return Source(problem.source, problem.text).where(keys)
