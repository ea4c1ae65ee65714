"""Minimise the cost with one parameter held, by bounded Gauss-Newton steps.

A walk starts each descent close to the minimum, with a Jacobian from nearby. Every
simulation updates that Jacobian (Broyden); it is recomputed only if its predictions
fail, so that a descent usually takes one simulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import lsq_linear

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
    """A step of the free parameters in the linearised problem.

    `step` is in the search space with the held ones included, shape (n,), and `reduction`
    is the predicted reduction of the cost.
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
    """Return a step within bounds that achieves nearly all of the linearised cost reduction.

    It is the shortest sufficient step among the damped ones (Levenberg 1944, Marquardt
    1963), so that nothing moves along a direction that the data do not determine, or where
    errors of the Jacobian promise a spurious gain. `low` and `high` limit the step of each
    parameter, shape (n,); they are equal for a held one. `allowed` and `share` are the part
    of the reduction that may remain, absolute and relative, and `floor` is the minimum
    damping.
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
        candidate = _bounded(rows, target, *box)
        rest = right + matrix @ candidate
        return candidate, before - 0.5 * float(rest @ rest)

    best, most = solve(floor)
    chance = float(np.abs(best / norms) @ state.blur[free])
    chance *= _CHANCE * float(np.linalg.norm(residuals) / np.sqrt(residuals.size))
    for damping in (d for d in _DAMPING if d > floor):
        candidate, reduction = solve(damping)
        if reduction >= most - max(allowed, share * most) - chance:
            best, most = candidate, reduction
            break
    step[free] = np.clip(best / norms, low[free], high[free])
    return Step(step, max(most, 0.0))


def _bounded(rows: F64, target: F64, low: F64, high: F64) -> F64:
    solution: F64 = np.asarray(np.linalg.lstsq(rows, target, rcond=1e-14)[0])
    if bool(((solution >= low) & (solution <= high)).all()):
        return solution
    bounded: F64 = lsq_linear(rows, target, (low, high), method="bvls").x
    return bounded


def room(landscape: Landscape, z: F64, held: int | None) -> tuple[F64, F64]:
    """Return the smallest and the largest step, shape (n,) each; zero for a held parameter."""
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
    """Result of a descent; it converged if at most the tolerance is left to gain."""

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
    """Minimise the cost with one parameter held, or none.

    The descent starts at `state` and ends when the predicted cost reduction is below
    `tolerance`. There, the Jacobian is recomputed if its drift exceeds `exact`. Raises
    `JacobianError` if a Jacobian is needed where all simulations nearby fail.
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
        step = bare
        if floor > 0.0:
            step = linear_step(state, state.residuals, low, high, share=_SHARE, floor=floor)
        if step.reduction <= _NOTHING * tolerance:
            return Descent(state, bare.reduction <= _NEAR * tolerance)
        trial = landscape.moved(state, state.z + step.step)
        ratio = -np.inf if trial is None else (state.cost - trial.cost) / step.reduction
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
