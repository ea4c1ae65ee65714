"""What is looked at before an estimator starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident._types import F64
from fmident.errors import EstimationError, Location, ProblemError, SimulationError
from fmident.evaluation import Evaluator, SimulationFailure

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_SMALL, _LARGE = 0.01, 0.3


def check_initial_simulation(problem: Problem, evaluator: Evaluator) -> None:
    """Simulate the initial point.

    Raises
    ------
    fmident.errors.EstimationError
        It fails; with the FMU's own message.
    """
    if np.isfinite(evaluator.residuals(problem.initial)).all():
        return
    failure = evaluator.last_failure
    text = str(failure) if failure is not None else "the residuals are not finite"
    log = "".join(f"\n  FMU: {line}" for line in failure.log[-5:]) if failure else ""
    raise EstimationError(
        f"the simulation at the initial parameters fails: {text}{log}",
        location=_location(problem),
        hint=(failure.hint if failure else None)
        or "change the initial values, or look at it with 'fmident simulate'",
    )


def check_influence(problem: Problem, evaluator: Evaluator) -> None:
    """Change each free parameter and look whether any residual changes.

    An FMU may take a parameter without using it, or freeze it when it is built. The choice of
    the finite-difference steps tells, which the run needs anyway; a parameter that does
    nothing then is tried with larger changes before it is refused. Parameters of the
    measurement model alone cost no simulation.

    Raises
    ------
    fmident.errors.ProblemError
        Parameters without influence, by name.
    """
    base = evaluator.residuals(problem.initial)
    moved = evaluator.measure_steps(problem.initial).influence
    suspects = np.arange(len(problem.free)) if moved is None else np.flatnonzero(~moved)
    if suspects.size == 0:
        return
    for relative in (_SMALL, _LARGE, -_LARGE):
        points = np.tile(problem.initial, (suspects.size, 1))
        for row, j in enumerate(suspects):
            points[row, j] = _moved(evaluator, problem.initial, int(j), relative)
        changed = evaluator.probe(points)
        # A failed simulation is NaN, which differs from everything: that is influence too.
        suspects = suspects[(changed == base).all(axis=1)]
        if suspects.size == 0:
            return
    names = [problem.free[j].name for j in suspects]
    listed = ", ".join(f"'{n}'" for n in names)
    variables = [problem.free[j].variable for j in suspects if problem.free[j].variable]
    frozen = (
        f"; the FMU accepts values for {', '.join(f'{v!r}' for v in variables)} but ignores them"
        if variables
        else ""
    )
    still = _still_inputs(problem)
    if still:
        raise ProblemError(
            f"no output changes with {listed}: {still}",
            location=_location(problem),
            hint="name a column that varies in [experiments.inputs] (FMU variable = column), or "
            "fix the parameters that act only where an input moves the model",
        )
    raise ProblemError(
        f"no output changes with {listed}{frozen}",
        location=_location(problem),
        hint="fix or remove the parameter, measure an output that depends on it, or build the "
        "FMU so that it stays a parameter (not final, not evaluated)",
    )


def _still_inputs(problem: Problem) -> str:
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
    from fmident.fmu import guard
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
        )
    except SimulationError as error:
        failure = SimulationFailure.of(error, values, experiment.name)
        raise EstimationError(
            f"the simulation at the initial parameters fails: {failure}",
            location=_location(problem),
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


def _location(problem: Problem) -> Location | None:
    return Location(str(problem.source)) if problem.source is not None else None
