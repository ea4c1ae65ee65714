"""What is looked at before an estimator starts."""

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
    """Simulate the initial point.

    Raises
    ------
    fmident.errors.EstimationError
        It fails; with the FMU's own message.
    """
    finding = initial_finding(problem, evaluator)
    if finding is not None:
        raise EstimationError(
            finding.message, location=finding.location, hint=finding.hint, code=finding.rule
        )


def initial_finding(problem: Problem, evaluator: Evaluator) -> Diagnostic | None:
    """Simulate the initial point; return that it fails, with the FMU's own message."""
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

    Parameters
    ----------
    name, variable
        Of the parameter.
    active_at
        A point inside the bounds at which it does act, shape (n,); ``None`` if none was found.
    """

    name: str
    variable: str | None
    active_at: F64 | None


def check_influence(problem: Problem, evaluator: Evaluator, *, descends: bool = True) -> None:
    """Change each free parameter and look whether any residual changes.

    Parameters
    ----------
    problem, evaluator
        Of the run.
    descends
        Whether the search follows derivatives from the initial point.

    Raises
    ------
    fmident.errors.ProblemError
        Parameters without influence, by name.
    """
    inert = inert_parameters(problem, evaluator)
    finding = inert_finding(problem, inert, descends=descends)
    if finding is not None and finding.severity == "error":
        raise ProblemError(
            finding.message, location=finding.location, hint=finding.hint, code=finding.rule
        )


def inert_parameters(problem: Problem, evaluator: Evaluator) -> tuple[InertParameter, ...]:
    """Return the free parameters that change no residual around the initial point.

    An FMU may take a parameter without using it, or freeze it when it is built. Its sensitivities
    show, or the choice of the finite-difference steps, which the run needs anyway; a parameter that
    does nothing then is tried with larger changes, and at last at other points inside the bounds.
    Parameters of the measurement model alone cost no simulation.
    """
    base = evaluator.residuals(problem.initial)
    moved, nothing = evaluator.influence(problem.initial)
    suspects = np.arange(len(problem.free)) if moved is None else np.flatnonzero(~moved)
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
    found, free = Constraints.of(problem), frozenset(q.name for q in problem.free)
    tied = [found.searched(c, free) for c in problem.constraints if c.equality]
    return frozenset().union(*(names for names in tied if len(names) > 1))


def points_inside(evaluator: Evaluator, count: int, seed: int = 0) -> F64:
    """Return a Latin hypercube of points inside the bounds, shape (count, n), physical units.

    Where a bound is missing, the parameter stays within a factor of about three of its initial
    value, or within its scale if it starts at zero.
    """
    from scipy.stats import qmc  # here, since it is slow to import and seldom needed

    lower, upper = box(evaluator)
    share = qmc.LatinHypercube(lower.size, seed=seed).random(count)
    points: F64 = evaluator.space.to_physical(lower + share * (upper - lower))
    return np.clip(points, evaluator.problem.lower, evaluator.problem.upper)


def _active_at(problem: Problem, evaluator: Evaluator, index: int, nothing: float) -> F64 | None:
    """Return a point inside the bounds at which a parameter acts, if one is found.

    First the parameter alone moves through its range, then all do.
    """
    base = evaluator.residuals(problem.initial)
    swept = np.tile(problem.initial, (len(_SWEEP), 1))
    swept[:, index] = _range_of(evaluator, index, np.array(_SWEEP))
    found = evaluator.probe(swept)
    change = _rms(found - base)
    for row in np.argsort(np.abs(swept[:, index] - problem.initial[index])):
        if change[row] > nothing and _is_more_than_error(evaluator, swept[row], change[row]):
            return np.asarray(swept[row])
    points = _elsewhere(evaluator)
    others = points.copy()
    for row in range(len(points)):
        others[row, index] = _moved(evaluator, points[row], index, _SMALL)
    found = evaluator.probe(np.vstack([points, others]))
    first, second = found[: len(points)], found[len(points) :]
    change = _rms(first - second)
    for row in np.flatnonzero(change > nothing):
        if _is_more_than_error(evaluator, points[row], change[row]):
            return np.asarray(points[row])
    return None


def _elsewhere(evaluator: Evaluator) -> F64:
    """Return points inside the bounds.

    Nearly all are large where bounds differ by decades: as many points are added that are spread
    evenly over the decades.
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
    """Return whether outputs change by more than other steps of the integrator can explain."""
    error = evaluator.integration_error(point)
    return error is None or change > _SAFETY * float(np.sqrt(np.mean(error**2)))


def _rms(rows: F64) -> F64:
    """Return the root mean square of each row; NaN where a simulation failed."""
    found: F64 = np.sqrt(np.mean(rows**2, axis=1))
    return found


def _range_of(evaluator: Evaluator, index: int, shares: F64) -> F64:
    """Return values of a parameter at shares of its range, 0 to 1."""
    lower, upper = box(evaluator)
    values = np.tile(lower, (shares.size, 1))
    values[:, index] += shares * (upper - lower)[index]
    found: F64 = evaluator.space.to_physical(values)[:, index]
    return found


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
    """Return in words that parameters have no influence, why, and what to do; ``None`` if all do.

    It is an error where they act nowhere, and where no parameter acts where a search begins that
    follows derivatives. Otherwise the search may lead to where they act.

    Parameters
    ----------
    problem
        With the parameters.
    inert
        From :func:`inert_parameters`.
    descends
        Whether the search follows derivatives from the initial point.
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
        shown = ", ".join(
            f"{q.name} = {x:.4g}" for q, x in zip(problem.free, reached.active_at, strict=True)
        )
        message += f" around the initial values, but '{reached.name}' acts elsewhere in the bounds"
        hint = f"start where it acts, for example at {shown}"
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
    """Return that no input ever changes, and why, or an empty text."""
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

    Native code that crashes or hangs takes the child with it, not this process. Does nothing
    when the problem asks for no check.

    Raises
    ------
    fmident.errors.EstimationError
        The simulation fails.
    fmident.errors.FmuError
        It crashes or hangs.
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
    """Return the parameter moved by a fraction of its size or range, inside its bounds."""
    space = evaluator.space
    z = space.from_physical(initial)[index]
    low, high = space.lower[index], space.upper[index]
    size = 1.0 if space.log[index] or z == 0.0 else abs(z)
    step = relative * size
    if not low <= z + step <= high:
        step = -step
    if not low <= z + step <= high:
        step = (high - z) if high - z > z - low else (low - z)
    moved = space.from_physical(initial).copy()
    moved[index] = z + step
    return float(space.to_physical(moved)[index])
