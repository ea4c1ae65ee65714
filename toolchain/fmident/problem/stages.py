"""Stages of a problem: the part solved in each, and its start point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fmident.errors import Code, ProblemError, did_you_mean, unknown_name
from fmident.problem.constraints import Constraints
from fmident.problem.dependent import acting_on, named_elsewhere, with_values
from fmident.problem.expressions import CONSTANTS, Constraint, known_name
from fmident.problem.model import Parameter, Problem, Stage, with_notes


def stage_of(
    problem: Problem,
    name: str,
    *,
    free: Sequence[str] | None = None,
    experiments: Sequence[str] | None = None,
    **changes: object,
) -> Stage:
    """Return a stage that solves a part of a problem.

    `free` are the searched parameters, with wildcards ``*`` and ``?``, the others being
    held; by default all that are not fixed and act on the stage's `experiments`, which are
    by default all. `changes` are other fields of the problem, such as ``cost`` and
    ``estimator``. Raises `ProblemError` if a name does not exist or is fixed, or nothing is
    left to search.
    """
    known = [e.name for e in problem.experiments]
    chosen = known if experiments is None else list(experiments)
    for experiment in chosen:
        if experiment in (e.name for e in problem.validation):
            raise ProblemError(
                f"stage '{name}' names the experiment '{experiment}', which is for validation only",
                hint="leave it out of the stage, or change its 'role'",
                key="experiments",
            )
        if experiment not in known:
            raise ProblemError(
                f"stage '{name}' names the experiment '{experiment}', which does not exist",
                key="experiments",
                **unknown_name(experiment, known, "experiment"),
            )
    if not chosen:
        raise ProblemError(
            f"stage '{name}' has no experiments",
            hint="leave 'experiments' out to use all",
            key="experiments",
        )
    searched = free_names(problem, name, free, chosen)
    parameters = tuple(_within(q, chosen, fixed=q.name not in searched) for q in problem.parameters)
    acting = acting_on(problem, chosen) | named_elsewhere(problem)
    staged = replace(
        with_notes(problem, ()),
        parameters=tuple(q for q in parameters if q.experiments != () or q.name in acting),
        experiments=tuple(e for e in problem.experiments if e.name in chosen),
        validation=(),
        stages=(),
        constraints=(),
    )
    staged = replace(staged, constraints=_constraints(problem, staged))
    return Stage(name, replace(staged, **changes))  # type: ignore[arg-type]


def _constraints(problem: Problem, staged: Problem) -> tuple[Constraint, ...]:
    """Return the constraints that involve the parameters searched by a stage."""
    names, free = {q.name for q in staged.parameters}, frozenset(q.name for q in staged.free)
    known = [
        c
        for c in problem.constraints
        if all(known_name(n, names) or n in CONSTANTS for n in c.names)
    ]
    constraints = Constraints.of(replace(staged, constraints=tuple(known)))
    return tuple(c for c in known if constraints.searched(c, free))


def free_names(
    problem: Problem, stage: str, patterns: Sequence[str] | None, experiments: Sequence[str]
) -> set[str]:
    """Return the names of the parameters that a stage searches.

    Raises `ProblemError` if a name does not exist, is fixed or acts on other experiments
    only, or if nothing is left.
    """
    acting = acting_on(problem, experiments)
    usable = [q.name for q in problem.free if q.name in acting]
    searched_names: set[str] = set()
    for pattern in usable if patterns is None else patterns:
        matching = [pattern] if pattern in usable else _matching(pattern, usable)
        if not matching:
            raise _not_free(problem, stage, pattern, usable)
        searched_names.update(matching)
    if not searched_names:
        raise ProblemError(
            f"stage '{stage}' searches no parameter", hint="name at least one in 'free'", key="free"
        )
    return searched_names


def continued(stage: Stage, values: Mapping[str, float]) -> tuple[Problem, tuple[str, ...]]:
    """Return the problem of a stage with the values estimated so far, and notes.

    Values set by the stage itself take precedence over `values`, given by parameter name. A
    value outside the stage's bounds is moved to the nearest bound.
    """
    parameters, notes = [], []
    for q in stage.problem.parameters:
        value = stage.starts.get(q.name, values.get(q.name, q.initial))
        if q.searched and not q.lower <= value <= q.upper:
            inside = min(max(value, q.lower), q.upper)
            notes.append(
                f"'{q.name}' starts at {inside:g}, since {value:g} lies outside of its bounds "
                f"[{q.lower:g}, {q.upper:g}]."
            )
            value = inside
        parameters.append(replace(q, initial=value))
    return replace(stage.problem, parameters=with_values(parameters)), tuple(notes)


def _within(q: Parameter, experiments: Sequence[str], *, fixed: bool) -> Parameter:
    """Return a parameter of a stage, acting on the stage's experiments only.

    A dependent parameter stays dependent in every stage; it is never held.
    """
    acts = None if q.experiments is None else tuple(e for e in q.experiments if e in experiments)
    return replace(q, experiments=acts, fixed=fixed and q.expression is None)


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the matching names; only * and ? are special, since brackets occur in names."""
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return [name for name in names if re.fullmatch(expression, name)]


def _not_free(problem: Problem, stage: str, name: str, usable: Sequence[str]) -> ProblemError:
    q = next((q for q in problem.parameters if q.name == name), None)
    if q is None:
        why, hint = ", but there is no such parameter", did_you_mean(name, usable, kind="parameter")
    elif q.expression is not None:
        why, hint = ", which follows from other parameters", "name those from which it follows"
    elif q.fixed:
        why = ", which is fixed"
        hint = "remove 'fixed = true': a stage holds what it does not name"
    else:
        why = ", which acts on none of its experiments"
        hint = "use another experiment, or leave the parameter out"
    code = Code.UNKNOWN_NAME if q is None else None
    message = f"stage '{stage}' searches '{name}'{why}"
    return ProblemError(message, hint=hint, code=code, key="free")
