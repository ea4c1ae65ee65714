"""Checks before an estimator starts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from fmident.arrays import F64
from fmident.errors import (
    Code,
    Diagnostic,
    EstimationError,
    FmidentError,
    Location,
    PluginError,
    ProblemError,
    Severity,
    SimulationError,
)
from fmident.estimation.contract import Estimator
from fmident.evaluation import Evaluator, SimulationFailure
from fmident.evaluation.setups import simulation_setups
from fmident.fmu.processes import guard
from fmident.problem.constraints import Constraints, simplified
from fmident.problem.cost import TimeDomain
from fmident.problem.priors import Priors
from fmident.problem.residuals import parameter_values_for, residual_layout
from fmident.toml_file.section import Where, build_dataclass
from fmident.words import quoted

if TYPE_CHECKING:
    from fmident.problem.model import Problem


_SMALL, _LARGE = 0.01, 0.3

_FAR = 3.0
_SAFETY = 10.0
_SWEEP = (0.0, 0.02, 0.1, 0.5, 0.9, 1.0)
_ELSEWHERE = 6
"""Points inside the bounds at which a parameter without influence is tried again."""

_DECADES, _LEAST = 100.0, 1e-9
"""Ratio of two bounds from which on such points lie evenly over the decades, too; where they begin
above a bound of zero, in parts of the upper bound."""


_KEEPS_CONSTRAINTS = "scipy-minimize"

Keys = tuple[str | int, ...]

Find = Callable[[str], type[Estimator[Any]]]
"""Name of an estimator to its class; raises :class:`~fmident.errors.PluginError`."""

Capable = Callable[[], Iterable[str]]
"""Returns names of estimators; they are imported for it, so that it is called only for messages."""


def check_initial_simulation(problem: Problem, evaluator: Evaluator) -> None:
    """Simulate the initial point; raises `EstimationError` with the FMU's own message."""
    _refuse(initial_finding(problem, evaluator), EstimationError)


def _refuse(d: Diagnostic | None, kind: type[FmidentError]) -> None:
    if d is not None and d.severity == "error":
        raise kind(d.message, location=d.location, hint=d.hint, code=d.rule)


def initial_finding(problem: Problem, evaluator: Evaluator) -> Diagnostic | None:
    """Simulate the initial point; return an error with the FMU's own message if it fails."""
    if np.isfinite(evaluator.residuals(problem.initial)).all():
        return None
    failure = evaluator.last_failure
    text = str(failure) if failure is not None else "the residuals are not finite"
    log = "".join(f"\n  FMU: {line}" for line in failure.log[-5:]) if failure else ""
    return Diagnostic(
        "error",
        f"the simulation at the initial parameters fails: {text}{log}",
        problem.where(),
        (failure.hint if failure else None)
        or "change the initial values, or look at it with 'fmident simulate'",
        "initial-simulation-fails",
    )


@dataclass(frozen=True)
class InertParameter:
    """A free parameter without influence around the initial point.

    `active_at` is a point within the bounds where it has influence, or ``None``.
    """

    name: str
    variable: str | None
    active_at: F64 | None


def check_influence(problem: Problem, evaluator: Evaluator, *, descends: bool = True) -> None:
    """Check that each free parameter changes a residual; raises `ProblemError` with names.

    `descends` says whether the search follows derivatives from the initial point.
    """
    inert = inert_parameters(problem, evaluator)
    _refuse(inert_finding(problem, inert, descends=descends), ProblemError)


def inert_parameters(problem: Problem, evaluator: Evaluator) -> tuple[InertParameter, ...]:
    """Return the free parameters that change no residual around the initial point.

    An FMU may read a parameter without using it, or freeze it when it is built. This shows
    in its sensitivities or in the choice of finite-difference steps, which the run needs
    anyway. A parameter without effect there is tried with larger changes, and finally at
    other points within the bounds. Parameters of the measurement model alone cost no
    simulation.
    """
    base = evaluator.residuals(problem.initial)
    acting, nothing = evaluator.influence(problem.initial)
    suspects = np.arange(len(problem.free)) if acting is None else np.flatnonzero(~acting)
    tied = _tied_by_equalities(problem)  # these determine what the data do not
    suspects = np.array([j for j in suspects if problem.free[j].name not in tied], dtype=np.intp)
    for relative in (_SMALL, _LARGE, -_LARGE):
        if suspects.size == 0:
            return ()
        points = np.tile(problem.initial, (suspects.size, 1))
        for row, j in enumerate(suspects):
            points[row, j] = _moved(evaluator, problem.initial, int(j), relative)
        changed = evaluator.probe(points)
        # A failed simulation is NaN, which differs from everything: that is influence too.
        suspects = suspects[_rms_of_rows(changed - base) <= nothing]
    return tuple(
        InertParameter(
            problem.free[j].name,
            problem.free[j].variable,
            _active_at(problem, evaluator, int(j), nothing),
        )
        for j in suspects
    )


def _tied_by_equalities(problem: Problem) -> frozenset[str]:
    constraints, free = Constraints.of(problem), frozenset(q.name for q in problem.free)
    tied = [constraints.searched(c, free) for c in problem.constraints if c.equality]
    return frozenset().union(*(names for names in tied if len(names) > 1))


def points_inside(evaluator: Evaluator, count: int, seed: int = 0) -> F64:
    """Return a Latin hypercube of points within the bounds, physical, shape (count, n).

    Without a bound, the parameter stays within a factor of about three of its initial
    value, or within its scale if it starts at zero.
    """
    lower, upper = box(evaluator)
    share = scipy.stats.qmc.LatinHypercube(lower.size, seed=seed).random(count)
    points: F64 = evaluator.space.to_physical(lower + share * (upper - lower))
    return np.clip(points, evaluator.problem.lower, evaluator.problem.upper)


def _active_at(problem: Problem, evaluator: Evaluator, index: int, nothing: float) -> F64 | None:
    """Return a point within the bounds at which a parameter has influence, if one is found."""
    base = evaluator.residuals(problem.initial)
    swept = np.tile(problem.initial, (len(_SWEEP), 1))
    swept[:, index] = _range_of(evaluator, index, np.array(_SWEEP))
    change = _rms_of_rows(evaluator.probe(swept) - base)
    nearest = np.argsort(np.abs(swept[:, index] - problem.initial[index]))
    found = _beyond_error(evaluator, swept[nearest], change[nearest], nothing)
    if found is not None:
        return found
    points = _elsewhere(evaluator)
    others = points.copy()
    others[:, index] = [_moved(evaluator, point, index, _SMALL) for point in points]
    first, second = np.split(evaluator.probe(np.vstack([points, others])), 2)
    return _beyond_error(evaluator, points, _rms_of_rows(first - second), nothing)


def _elsewhere(evaluator: Evaluator) -> F64:
    """Return points within the bounds, evenly spread over decades as well.

    Where bounds differ by decades, nearly all uniform points are large; as many points are
    added that are spread evenly over the decades.
    """
    points = points_inside(evaluator, _ELSEWHERE)
    lower, upper = (evaluator.space.to_physical(z) for z in box(evaluator))
    least = np.where(lower > 0.0, lower, _LEAST * upper)
    wide = (upper > 0.0) & (upper > _DECADES * least) & ~evaluator.space.log
    if not wide.any():
        return points
    spread = points.copy()
    shares = (points - lower) / (upper - lower)
    low, high = least[wide], upper[wide]
    spread[:, wide] = low * (high / low) ** shares[:, wide]
    return np.vstack([points, spread])


def _beyond_error(evaluator: Evaluator, points: F64, changes: F64, nothing: float) -> F64 | None:
    for point, change in zip(points, changes, strict=True):
        if change > nothing:
            error = evaluator.integration_error(point)
            if error is None or change > _SAFETY * float(np.sqrt(np.mean(error**2))):
                return np.asarray(point)
    return None


def _rms_of_rows(rows: F64) -> F64:
    """Return the root mean square of each row; NaN where a simulation failed."""
    return np.asarray(np.sqrt(np.mean(rows**2, axis=1)))


def _range_of(evaluator: Evaluator, index: int, shares: F64) -> F64:
    """Return the values of a parameter at fractions of its range, 0 to 1."""
    lower, upper = box(evaluator)
    values = np.tile(lower, (shares.size, 1))
    values[:, index] += shares * (upper - lower)[index]
    return evaluator.space.to_physical(values)[:, index]


def box(evaluator: Evaluator) -> tuple[F64, F64]:
    """Return finite bounds in the search space, shape (n,) each; see :func:`points_inside`."""
    space = evaluator.space
    z = space.from_physical(evaluator.problem.initial)
    reach = np.where(space.log, np.log(_FAR), np.where(z == 0.0, 1.0, (1.0 - 1.0 / _FAR) * abs(z)))
    lower = np.where(np.isfinite(space.lower), space.lower, z - reach)
    upper = np.where(np.isfinite(space.upper), space.upper, z + reach)
    return lower, upper


def inert_finding(
    problem: Problem, inert: Sequence[InertParameter], *, descends: bool = True
) -> Diagnostic | None:
    """Return a diagnostic about parameters without influence; ``None`` if all have one.

    It is an error for parameters without influence anywhere, and if `descends` (the search
    follows derivatives) and no parameter has influence at the start. Otherwise the search
    may lead to where they have influence.
    """
    nowhere = [q for q in inert if q.active_at is None]
    leads = not nowhere and (not descends or len(inert) < len(problem.free))
    inert = nowhere or inert
    if not inert:
        return None
    names = [q.name for q in inert]
    listed = ", ".join(repr(n) for n in names)
    blind = not problem.cost.gives_intervals  # what an output shows, such a cost may not see
    message = (
        f"the cost '{problem.cost.name}' does not change with {listed}"
        if blind
        else f"no output changes with {listed}"
    )
    place = problem.where(*(("parameters", names[0]) if len(names) == 1 else ()))
    variables = [q.variable for q in inert if q.variable]
    still = "" if leads else still_inputs(problem)
    reached = next((q for q in inert if q.active_at is not None), None)
    if still:
        message += f": {still}"
        hint = (
            "name a column that varies in [experiments.inputs] (FMU variable = column), or "
            "fix the parameters that act only where an input moves the model"
        )
    elif reached is not None and reached.active_at is not None:
        example = ", ".join(
            f"{q.name} = {x:.4g}" for q, x in zip(problem.free, reached.active_at, strict=True)
        )
        message += f" around the initial values, but '{reached.name}' acts elsewhere in the bounds"
        hint = f"start where it acts, for example at {example}"
        if leads:
            hint = f"the search may lead to where it does; if not, {hint}"
    else:
        if variables and not blind:
            listed = ", ".join(map(repr, variables))
            message += (
                f"; the FMU accepts values for {listed}, but nothing that is measured depends on"
                f" {'them' if len(variables) > 1 else 'it'}"
            )
        hint = (
            "fix or remove the parameter, measure an output that depends on it, or build the "
            "FMU so that it stays a parameter (not final, not evaluated)"
        )
        if blind:
            hint = "fix or remove the parameter, or use a cost that sees it, such as time-domain"
    severity: Severity = "warning" if leads else "error"
    return Diagnostic(severity, message, place, hint, "parameter-without-influence")


def still_inputs(problem: Problem) -> str:
    """Return a text that no input ever changes, and why; empty otherwise."""
    given = [(e.name, n, x) for e in problem.experiments for n, x in e.inputs.items()]
    if any(np.ptp(values) > 0.0 for _, _, values in given):
        return ""
    undriven = [d.message for d in problem.notes if d.rule == "input-without-data"]
    still = [f"the input '{n}' is constant in experiment '{e}'" for e, n, _ in given]
    reasons = [*undriven, *still]
    more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
    return f"no input ever changes; {'; '.join(reasons[:3])}{more}" if reasons else ""


def check_survives(problem: Problem) -> None:
    """Simulate the initial point of the first experiment in a child process.

    Native code that crashes or hangs then affects only the child. Does nothing if the
    problem disables the check. Raises `EstimationError` if the simulation fails, `FmuError`
    if it crashes or hangs.
    """
    if not problem.evaluation.check:
        return
    experiment = problem.experiments[0]
    values = parameter_values_for(problem, experiment, problem.initial)
    try:
        guard.check_survives(
            problem.fmu,
            simulation_setups(problem)[0],
            values,
            timeout=problem.evaluation.timeout,
            interface=problem.evaluation.interface,
        )
    except SimulationError as error:
        failure = SimulationFailure.of(error, values, experiment.name)
        raise EstimationError(
            f"the simulation at the initial parameters fails: {failure}",
            location=problem.where(),
            hint=error.hint or "look at it with 'fmident simulate'",
        ) from error


def _moved(evaluator: Evaluator, initial: F64, index: int, relative: float) -> float:
    space = evaluator.space
    z = space.from_physical(initial)[index]
    low, high = space.lower[index], space.upper[index]
    size = 1.0 if space.log[index] or z == 0.0 else abs(z)
    step = relative * size
    if not low <= z + step <= high:
        step = -step
    if not low <= z + step <= high:
        step = (high - z) if high - z > z - low else (low - z)
    point = space.from_physical(initial).copy()
    point[index] = z + step
    return float(space.to_physical(point)[index])


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


def refuse_unsuited(
    problem: Problem, estimator: Estimator[Any] | type[Estimator[Any]], location: Location | None
) -> None:
    """Reject a cost or priors that the estimator does not use, or that do not go together.

    Raises `ProblemError`, for a cost at `location`.
    """
    if not estimator.any_cost and not problem.cost.gives_intervals:
        raise ProblemError(
            f"the estimator '{estimator.name}' solves equations of its own and does not minimise "
            f"the cost '{problem.cost.name}'",
            location=location,
            hint="leave the cost out, or choose an estimator that minimises one, such as "
            "least-squares",
        )
    priors = Priors.of(problem)
    if not priors.count:
        return
    has = f"{quoted(priors.names)} {'has a prior' if priors.count == 1 else 'have priors'}"
    samples, free = residual_layout(problem).size, len(problem.free)
    code: Code | None = Code.NOT_SUPPORTED
    if not problem.cost.gives_intervals:
        options = ", ".join(f"{k} = {v!r}" for k, v in problem.cost.options().items())
        cost = f"'{problem.cost.name}'" + (f" with {options}" if options else "")
        why = (
            f"the cost {cost} is not a likelihood: how much a standard deviation of a prior counts"
            " beside the data is not known"
        )
        hint = "use the time-domain cost as it is by default, or remove the priors"
    elif not (estimator.any_cost if estimator.takes_priors is None else estimator.takes_priors):
        why = (
            f"the estimator '{estimator.name}' solves equations of its own, in which priors do not"
            " count"
        )
        hint = (
            "choose an estimator that minimises the cost, such as least-squares, or remove the"
            " priors"
        )
    elif not problem.sigma_known and samples <= free:
        why = (
            "how much it counts beside the data is not known: nothing is known of the noise, and"
            f" {samples} samples cannot tell it together with {free} parameters"
        )
        hint, code = "give each output its sigma, or more samples", None
    else:
        return
    place = problem.where("parameters", priors.names[0], "prior") or location
    raise ProblemError(f"{has}, but {why}", location=place, hint=hint, code=code)


def fails_at_the_estimate(
    evaluator: Evaluator, what: str = "the simulation", hint: str | None = None
) -> EstimationError:
    """Return the error that `what` fails where another analysis begins."""
    hint = hint or "give the result folder of an estimation of this problem with --result"
    return EstimationError(f"{what} fails at the estimate: {evaluator.last_failure}", hint=hint)


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


def check_estimators(problem: Problem, find: Find, capable: Capable = tuple) -> None:
    """Reject unknown estimators, wrong options and unsuitable costs, also of stages.

    `find` returns an estimator by name; `capable` returns the names of those that support
    constraints, for messages. Raises `ProblemError` with the place in the file.
    """
    estimator = _check_estimator(problem, find, (), solves=not problem.stages)
    where = problem.where("constraints")
    if not problem.stages:
        suited(problem, estimator, capable, where)
        refuse_unsuited(problem, estimator, problem.where("cost"))
    for position, stage in enumerate(problem.stages):
        own: Keys = () if stage.separate else ("stages", position)
        solved = stage.problem
        table = () if solved.estimator is problem.estimator else own
        estimator = _check_estimator(solved, find, table)
        suited(solved, estimator, capable, where)
        table = () if solved.cost is problem.cost else own
        refuse_unsuited(solved, estimator, solved.where(*table, "cost"))


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


def build_options(
    estimator: type[Estimator[Any]] | Estimator[Any],
    raw: Mapping[str, Any],
    location: Location | Where | None = None,
    table: str = "[estimator]",
) -> Any:
    """Return an instance of the estimator's ``options_type`` from a table as written.

    See :func:`fmident.toml_file.build_dataclass` for the possible fields. `raw` has values by key;
    `location` is that of the table, or a function that finds the location of a key in it, and
    `table` its name, both for messages. Raises `ProblemError` for an unknown or missing key and for
    values of a wrong type or that are not allowed, `PluginError` if `options_type` is not a
    dataclass.
    """
    kind = estimator.options_type
    name = estimator.name
    if not (isinstance(kind, type) and dataclasses.is_dataclass(kind)):
        raise PluginError(
            f"options_type of the estimator '{name}' is {kind!r}",
            hint="make it a frozen dataclass",
        )

    def where(key: str | None) -> Location | None:
        return location(key) if callable(location) else location

    return build_dataclass(kind, raw, table=table, name=name, where=where)
