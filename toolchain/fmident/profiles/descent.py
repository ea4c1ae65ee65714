"""The least cost with one parameter held: bounded Gauss-Newton steps from a good start.

A walk starts each descent next to the minimum, with a Jacobian from close by. That Jacobian is
updated by every simulation (Broyden) and computed anew only where its predictions fail, so that a
descent takes one simulation as a rule.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64
from fmident.profiles.landscape import Landscape, State

_DAMPING = (1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14)
"""Tried in turn, in relation to the squared lengths of the columns."""

_SHARE = 1e-4
"""Part of the reduction of the cost that a step of a descent may leave for the next."""

_CHANCE = 3.0
"""What errors of the Jacobian may promise, in products with the size of a residual."""

_REACH = 3.0
"""Longest step, in sizes of the parameters: a direction that the data hardly determine promises
something for a step of any length, by chance."""

_GOOD, _POOR = 0.75, 0.25
"""Actual reduction of the cost in relation to the predicted one."""

_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)
_MOST_STEPS = 40
_TRAVEL = 0.3
"""Way from where the Jacobian was computed, in sizes of the parameters, up to which it predicts
where the minimum is, though the outputs may hardly have moved: along a valley they do not."""

_BENT = 0.05
"""Part of a change that it may have missed on the way, else the way counts."""

_STALE_STEPS = 3
"""Steps with an updated Jacobian before it is computed anew."""

_LEAST_FLOOR, _RAISE = 1e-6, 100.0
"""Damping after a step that went wrong, and its factor with each further one."""

_NOTHING, _NEAR = 1e-3, 100.0
"""In tolerances: a step too short to try, and what may be left where none gets further."""


@dataclass(frozen=True)
class Step:
    """A step of the parameters that are not held, in the linearised problem.

    Parameters
    ----------
    step
        Of all parameters in the search space, shape (n,).
    reduction
        Of the cost, predicted.
    """

    step: F64
    reduction: float


def linear_step(
    state: State,
    residuals: F64,
    low: F64,
    high: F64,
    *,
    allowed: float = 0.0,
    share: float = 0.0,
    floor: float = 0.0,
) -> Step:
    """Return a step inside bounds that takes nearly all of the linearised reduction of the cost.

    Of the damped steps the shortest that will do is taken (Levenberg 1944, Marquardt 1963): where
    the data do not determine a direction, nothing moves along it, nor where the errors of the
    Jacobian promise something by chance.

    Parameters
    ----------
    state
        Whose Jacobian is used.
    residuals
        To be made small, shape (m,).
    low, high
        Smallest and largest step of each parameter, shape (n,); equal for one that is held.
    allowed, share
        What may be left of the reduction, and what part of it.
    floor
        Smallest damping.
    """
    jacobian = state.jacobian
    step = np.zeros(state.z.size)
    free = np.flatnonzero((high > low) & (np.linalg.norm(jacobian, axis=0) > 0.0))
    if free.size == 0:
        return Step(step, 0.0)
    # The triangle of (J, r) has all that least squares needs.
    both = np.column_stack([jacobian[:, free], residuals])
    triangle: F64 = np.asarray(np.linalg.qr(both, mode="r"))
    norms: F64 = np.linalg.norm(triangle[:, :-1], axis=0)
    matrix, right = triangle[:, :-1] / norms, triangle[:, -1]
    before = 0.5 * float(right @ right)
    box = (low[free] * norms, high[free] * norms)

    def solve(damping: float) -> tuple[F64, float]:
        rows = np.vstack([matrix, np.sqrt(damping) * np.eye(free.size)])
        target = np.concatenate([-right, np.zeros(free.size)])
        found = _bounded(rows, target, *box)
        rest = right + matrix @ found
        return found, before - 0.5 * float(rest @ rest)

    best, most = solve(floor)
    chance = float(np.abs(best / norms) @ state.blur[free])
    chance *= _CHANCE * float(np.linalg.norm(residuals) / np.sqrt(residuals.size))
    for damping in (d for d in _DAMPING if d > floor):
        found, reduction = solve(damping)
        if reduction >= most - max(allowed, share * most) - chance:
            best, most = found, reduction
            break
    step[free] = np.clip(best / norms, low[free], high[free])
    return Step(step, max(most, 0.0))


def _bounded(rows: F64, target: F64, low: F64, high: F64) -> F64:
    from scipy.optimize import lsq_linear  # here, since it is slow to import and seldom needed

    found: F64 = np.asarray(np.linalg.lstsq(rows, target, rcond=1e-14)[0])
    if bool(((found >= low) & (found <= high)).all()):
        return found
    bounded: F64 = lsq_linear(rows, target, (low, high), method="bvls").x
    return bounded


def room(landscape: Landscape, z: F64, held: int | None) -> tuple[F64, F64]:
    """Return the smallest and the largest step, shape (n,) each; zero for a parameter held."""
    reach = _REACH * np.where(
        landscape.log, landscape.sizes, np.maximum(landscape.sizes, np.abs(z))
    )
    low = np.clip(landscape.lower - z, -reach, 0.0)
    high = np.clip(landscape.upper - z, 0.0, reach)
    if held is not None:
        low[held] = high[held] = 0.0
    return low, high


@dataclass(frozen=True)
class Descent:
    """Where a descent ended.

    Parameters
    ----------
    state
        The last point.
    converged
        Whether no more than the tolerance is left to gain.
    """

    state: State
    converged: bool


def descend(
    landscape: Landscape,
    state: State,
    held: int | None,
    tolerance: float,
    *,
    exact: float = np.inf,
) -> Descent:
    """Go to the least cost with one parameter held, or with none.

    Parameters
    ----------
    landscape
        Evaluates states.
    state
        Where to start.
    held
        Index of the parameter that does not move, if any.
    tolerance
        Predicted reduction of the cost at which the descent ends.
    exact
        Largest drift of the Jacobian at the end; one that has drifted further is computed anew.

    Raises
    ------
    fmident.evaluation.JacobianError
        A Jacobian is needed where the simulation fails all around.
    """
    floor, stale = 0.0, 0
    for _ in range(_MOST_STEPS):
        low, high = room(landscape, state.z, held)
        bare = linear_step(state, state.residuals, low, high, share=_SHARE)
        if bare.reduction <= max(tolerance, _ROUNDING * state.cost):
            far = state.bent > _BENT and landscape.travel(state) > _TRAVEL
            if state.drift <= exact and not far:
                return Descent(state, True)
            state, stale = landscape.refreshed(state), 0
            continue
        if state.drift > 0.0 and stale >= _STALE_STEPS:
            state, stale = landscape.refreshed(state), 0
            continue
        found = bare
        if floor > 0.0:
            found = linear_step(state, state.residuals, low, high, share=_SHARE, floor=floor)
        if found.reduction <= _NOTHING * tolerance:
            return Descent(state, bare.reduction <= _NEAR * tolerance)
        trial = landscape.moved(state, state.z + found.step)
        ratio = -np.inf if trial is None else (state.cost - trial.cost) / found.reduction
        if trial is not None and ratio > 0.0:
            updated = state.drift > 0.0
            state, stale = trial, stale + 1
            if ratio > _GOOD:
                floor = 0.0 if floor < _LEAST_FLOOR else 0.01 * floor
            elif ratio < _POOR:
                if updated:
                    state, stale = landscape.refreshed(state), 0
                floor = max(_RAISE * floor, _LEAST_FLOOR)
        elif state.drift > 0.0:
            state, stale = landscape.refreshed(state), 0
        else:
            floor = max(_RAISE * floor, _LEAST_FLOOR)
    return Descent(state, False)
