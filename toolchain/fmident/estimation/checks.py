"""Checks before an estimator starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.errors import Diagnostic, EstimationError, ProblemError, Severity, SimulationError
from fmident.evaluation import Evaluator, SimulationFailure
from fmident.problem.constraints import Constraints

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


def check_initial_simulation(problem: Problem, evaluator: Evaluator) -> None:
    """Simulate the initial point; raises `EstimationError` with the FMU's own message."""
    finding = initial_finding(problem, evaluator)
    if finding is not None:
        raise EstimationError(
            finding.message, location=finding.location, hint=finding.hint, code=finding.rule
        )


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
    finding = inert_finding(problem, inert, descends=descends)
    if finding is not None and finding.severity == "error":
        raise ProblemError(
            finding.message, location=finding.location, hint=finding.hint, code=finding.rule
        )


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
        suspects = suspects[_rms(changed - base) <= nothing]
    return tuple(
        InertParameter(
            problem.free[j].name,
            problem.free[j].variable,
            _active_at(problem, evaluator, int(j), nothing),
        )
        for j in suspects
    )


def _tied_by_equalities(problem: Problem) -> frozenset[str]:
    """Return the searched parameters that equalities tie to others."""
    constraints, free = Constraints.of(problem), frozenset(q.name for q in problem.free)
    tied = [constraints.searched(c, free) for c in problem.constraints if c.equality]
    return frozenset().union(*(names for names in tied if len(names) > 1))


def points_inside(evaluator: Evaluator, count: int, seed: int = 0) -> F64:
    """Return a Latin hypercube of points within the bounds, physical, shape (count, n).

    Without a bound, the parameter stays within a factor of about three of its initial
    value, or within its scale if it starts at zero.
    """
    from scipy.stats import qmc  # here, since it is slow to import and seldom needed

    lower, upper = box(evaluator)
    share = qmc.LatinHypercube(lower.size, seed=seed).random(count)
    points: F64 = evaluator.space.to_physical(lower + share * (upper - lower))
    return np.clip(points, evaluator.problem.lower, evaluator.problem.upper)


def _active_at(problem: Problem, evaluator: Evaluator, index: int, nothing: float) -> F64 | None:
    """Return a point within the bounds at which a parameter has influence, if one is found."""
    base = evaluator.residuals(problem.initial)
    swept = np.tile(problem.initial, (len(_SWEEP), 1))
    swept[:, index] = _range_of(evaluator, index, np.array(_SWEEP))
    probed = evaluator.probe(swept)
    change = _rms(probed - base)
    for row in np.argsort(np.abs(swept[:, index] - problem.initial[index])):
        if change[row] > nothing and _is_more_than_error(evaluator, swept[row], change[row]):
            return np.asarray(swept[row])
    points = _elsewhere(evaluator)
    others = points.copy()
    for row in range(len(points)):
        others[row, index] = _moved(evaluator, points[row], index, _SMALL)
    probed = evaluator.probe(np.vstack([points, others]))
    first, second = probed[: len(points)], probed[len(points) :]
    change = _rms(first - second)
    for row in np.flatnonzero(change > nothing):
        if _is_more_than_error(evaluator, points[row], change[row]):
            return np.asarray(points[row])
    return None


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


def _is_more_than_error(evaluator: Evaluator, point: F64, change: float) -> bool:
    """Return whether outputs change by more than the integration error can explain."""
    error = evaluator.integration_error(point)
    return error is None or change > _SAFETY * float(np.sqrt(np.mean(error**2)))


def _rms(rows: F64) -> F64:
    """Return the root mean square of each row; NaN where a simulation failed."""
    rms: F64 = np.sqrt(np.mean(rows**2, axis=1))
    return rms


def _range_of(evaluator: Evaluator, index: int, shares: F64) -> F64:
    """Return the values of a parameter at fractions of its range, 0 to 1."""
    lower, upper = box(evaluator)
    values = np.tile(lower, (shares.size, 1))
    values[:, index] += shares * (upper - lower)[index]
    physical: F64 = evaluator.space.to_physical(values)[:, index]
    return physical


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
    from fmident.evaluation.setups import simulation_setups
    from fmident.fmu.processes import guard
    from fmident.problem.residuals import parameter_values_for

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
    """Return the parameter moved by a fraction of its size or range, within its bounds."""
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
