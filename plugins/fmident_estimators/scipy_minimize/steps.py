"""Constrained Gauss-Newton steps that complete what a general method has found.

SciPy's methods do not know that the cost is a sum of squares: near its minimum they converge
slowly, and end early. Here each step minimises the linearised residuals subject to the linearised
constraints (Schittkowski, Solving nonlinear least squares problems by a general purpose SQP
method, 1988), shortened where that does not lower the cost and the violation of the constraints
together. Along a bent valley a step is corrected before it is shortened, with the derivatives from
where it began (the second-order correction of Fletcher, Practical Methods of Optimization, 2nd
ed., 1987, section 14.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fmident.arrays import F64
from fmident.problem.relations.constraints import VIOLATED
from fmident_estimators.scipy_minimize.functions import Functions, Linearised

_HALVINGS = 8
_TURNS = 100
"""Of steps and of the noise by which priors are weighed."""

_EPS = float(np.finfo(np.float64).eps)

_NOISE = 1e-9
"""Relative change of the cost that the simulations do not show."""


@dataclass(frozen=True, eq=False)
class Completed:
    """Where the steps ended.

    Parameters
    ----------
    z
        Shape (n,).
    arrived
        Whether nothing is left to go.
    steps
        That were taken.
    """

    z: F64
    arrived: bool
    steps: int


def complete_in_turn(functions: Functions, z: F64, most: int, tolerance: float) -> Completed:
    """Take steps, and hold the noise that the residuals then show, until neither changes.

    Without priors nothing depends on that noise.

    Parameters
    ----------
    functions, z, most, tolerance
        As of :func:`complete`.
    """
    steps = 0
    for _ in range(_TURNS):
        ended = complete(functions, z, most - steps, tolerance)
        z, steps = ended.z, steps + ended.steps
        held = functions.rows.noise
        functions.hold(z)
        if functions.rows.noise == held:
            return Completed(z, ended.arrived, steps)
        if steps >= most:
            break
    return Completed(z, arrived=False, steps=steps)


def complete(functions: Functions, z: F64, most: int, tolerance: float) -> Completed:
    """Take steps until nothing is left to go.

    Parameters
    ----------
    functions
        Cost and constraints.
    z
        Where the search has ended, shape (n,).
    most
        Steps at most.
    tolerance
        Length of a step in relation to the size of each parameter that need not be taken.
    """
    for number in range(most):
        here = functions.linearised(z)
        step, weight = constrained_step(here, functions)
        size = np.maximum(np.abs(z), np.where(z == 0.0, 1.0, 1e-6))
        near = functions.violation(z) <= VIOLATED * 1e-3
        if near and bool((np.abs(step) <= tolerance * size).all()):
            return Completed(z, arrived=True, steps=number)
        moved = _descended(functions, here, step, weight)
        if moved is None:
            promised = _promise(here, step)
            return Completed(z, arrived=near and promised <= _NOISE, steps=number)
        z = moved
        functions.report(z)
    return Completed(z, arrived=False, steps=most)


def constrained_step(here: Linearised, functions: Functions) -> tuple[F64, float]:
    """Return the step that minimises the linearised cost, and the largest multiplier.

    Parameters
    ----------
    here
        Residuals and constraints with their derivatives.
    functions
        With the bounds.

    Returns
    -------
    step
        In the search space, shape (n,).
    multiplier
        Greatest part that a constraint has in the gradient of the cost.
    """
    from scipy import optimize  # here, since it is slow to import and seldom needed

    minimize: Any = optimize.minimize
    norms = np.linalg.norm(here.jacobian, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    triangle = np.linalg.qr(here.jacobian / norms, mode="r")
    _, singular, right = np.linalg.svd(triangle)
    # Directions without influence get a little, so that the step along them stays short.
    raised = np.maximum(singular, 1e-7 * max(float(singular.max(initial=0.0)), _EPS))
    if raised.size < norms.size:
        raised = np.append(raised, np.full(norms.size - raised.size, raised.min(initial=1e-7)))
    # y = diag(s) V^T D d, so that the quadratic cost has the unit matrix for its Hessian.
    back = (right.T / raised) / norms[:, np.newaxis]
    projected = (here.jacobian / norms).T @ here.residuals
    target = -(right @ projected) / raised
    unit = max(float(np.linalg.norm(target)), float(np.sqrt(_EPS) * np.linalg.norm(here.residuals)))
    if unit == 0.0:
        unit = 1.0
    rows, values = (here.slopes @ back) * unit, here.constraints
    equal = functions.equalities
    parts: Any = [
        {
            "type": kind,
            "fun": _affine(rows[chosen], values[chosen]),
            "jac": _constant(rows[chosen]),
        }
        for kind, chosen in (("eq", equal), ("ineq", ~equal))
        if bool(chosen.any())
    ]
    lowest, highest = functions.lower - here.z, functions.upper - here.z
    inside = back * unit
    for sign, limit in ((1.0, lowest), (-1.0, highest)):
        bounded = np.isfinite(limit)
        if bool(bounded.any()):
            parts.append(
                {
                    "type": "ineq",
                    "fun": _affine(sign * inside[bounded], -sign * limit[bounded]),
                    "jac": _constant(sign * inside[bounded]),
                }
            )
    wanted = target / unit
    if not parts:
        return back @ target, 0.0
    settings: Any = {"maxiter": 100, "ftol": 1e-16}
    found = minimize(
        lambda y: 0.5 * float(np.sum((y - wanted) ** 2)),
        wanted if not bool(equal.any()) else np.zeros(norms.size),
        jac=lambda y: y - wanted,
        constraints=parts,
        method="SLSQP",
        options=settings,
    )
    y = np.asarray(found.x, dtype=np.float64)
    if not np.isfinite(y).all():
        return np.zeros(norms.size), 0.0
    step = np.clip(back @ y * unit, lowest, highest)
    gradient = (y - wanted) * unit**2
    share = np.linalg.lstsq(rows.T, gradient, rcond=None)[0] if len(rows) else np.zeros(0)
    return step, float(np.abs(share).max(initial=0.0))


def _affine(rows: F64, values: F64) -> Any:
    return lambda y: rows @ y + values


def _constant(rows: F64) -> Any:
    return lambda _: rows


def _promise(here: Linearised, step: F64) -> float:
    """Return by which part of itself the cost would fall if everything were linear."""
    before = float(here.residuals @ here.residuals)
    after = here.residuals + here.jacobian @ step
    return 0.0 if before == 0.0 else abs(before - float(after @ after)) / before


def _descended(functions: Functions, here: Linearised, step: F64, multiplier: float) -> F64 | None:
    """Return a point along the step that is better; ``None`` where there is none."""
    z = here.z
    unit = 0.5 * float(here.residuals @ here.residuals)
    unit = unit if unit > 0.0 else 1.0
    weight = 2.0 * max(multiplier / unit, 1.0)
    first = functions.cost(z)
    scale = first if first > 0.0 else 1.0

    def merit(point: F64) -> float:
        return functions.cost(point) / scale + weight * functions.violation(point)

    before, length = merit(z), 1.0
    for _ in range(_HALVINGS):
        candidate = z + length * step
        if merit(candidate) < before:
            return candidate
        corrected = _corrected(functions, here, candidate)
        if corrected is not None and merit(corrected) < before:
            return corrected
        length *= 0.5
    return None


def _corrected(functions: Functions, here: Linearised, candidate: F64) -> F64 | None:
    """Return a point to which the derivatives of `here` lead from a candidate, if any."""
    residuals = functions.residuals(candidate)
    if not bool(np.isfinite(residuals).all()):
        return None
    there = Linearised(
        candidate,
        residuals,
        here.jacobian,
        functions.values(candidate),
        functions.slopes(candidate),
    )
    step, _ = constrained_step(there, functions)
    return np.clip(candidate + step, functions.lower, functions.upper)
