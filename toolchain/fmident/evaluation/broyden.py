"""Rank-one updates of a Jacobian between those by finite differences.

A Jacobian by differences costs a simulation per parameter; the residuals at the last two
accepted points are there anyway and tell the derivative along the step between them. Broyden's
update takes that over and leaves all directions at right angles to the step as they were, in
the search space, where parameters are of similar size (Broyden, A class of methods for solving
nonlinear simultaneous equations, Math. Comp. 19, 1965, equation 4.5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident._types import F64

Flags = npt.NDArray[np.bool_]

_GAIN = 0.25
"""Least reduction of the cost in relation to the predicted one for which an update is enough:
below it Levenberg-Marquardt methods shrink their trust region, too."""

_PROGRESS = 0.25
"""The same in relation to what a whole Gauss-Newton step promised: many short steps that are
each as good as predicted cost more than the Jacobian that would make them long."""

_NEAR = 1e-4
"""Fraction of the cost that is still to be gained below which differences pay: near the minimum
Gauss-Newton steps gain digits by the step, updates a few per cent."""


@dataclass(frozen=True)
class Basis:
    """A Jacobian that may be updated.

    Parameters
    ----------
    z
        Point of the search space, shape (n,).
    residuals
        There, shape (m,).
    jacobian
        With respect to the search space, shape (m, n).
    updates
        How many lie between it and the last one by differences.
    evaluated
        Candidates that had been evaluated by then.
    """

    z: F64
    residuals: F64
    jacobian: F64
    updates: int
    evaluated: int


def broyden_update(jacobian: F64, step: F64, change: F64) -> F64:
    """Return the Jacobian nearest to `jacobian` that maps `step` to `change`.

    Parameters
    ----------
    jacobian
        Shape (m, n).
    step
        Between two points, shape (n,), not zero.
    change
        Of the residuals, shape (m,).
    """
    length = float(step @ step)
    updated: F64 = jacobian + np.outer((change - jacobian @ step) / length, step)
    return updated


def updated_basis(
    basis: Basis, z: F64, residuals: F64, evaluated: int, most: int, movable: Flags
) -> Basis | None:
    """Return the basis at the next accepted point, or ``None`` if differences are due.

    They are when `most` updates lie behind, when more than one candidate was evaluated since
    (a step was rejected, which a poor Jacobian may be to blame for), and when the cost fell by
    much less than predicted, and near the minimum.

    Parameters
    ----------
    basis
        At the last point.
    z, residuals
        The next point, shape (n,), and the residuals there, shape (m,).
    evaluated
        Candidates evaluated so far.
    most
        Updates in a row.
    movable
        Parameters that are not held by a bound, shape (n,).
    """
    step = z - basis.z
    if basis.updates >= most or evaluated - basis.evaluated > 1 or not bool(step.any()):
        return None
    before = float(basis.residuals @ basis.residuals)
    expected = basis.residuals + basis.jacobian @ step
    predicted = before - float(expected @ expected)
    gained = before - float(residuals @ residuals)
    if not (predicted > 0.0 and gained >= _GAIN * predicted):
        return None
    if gained < _PROGRESS * _promised(basis.jacobian[:, movable], basis.residuals):
        return None
    jacobian = broyden_update(basis.jacobian, step, residuals - basis.residuals)
    if _promised(jacobian[:, movable], residuals) < _NEAR * (before - gained):
        return None
    return Basis(z, residuals, jacobian, basis.updates + 1, evaluated)


def _promised(jacobian: F64, residuals: F64) -> float:
    """Return by how much a Gauss-Newton step would lower the sum of squares."""
    base, _ = np.linalg.qr(jacobian)
    return float(np.sum((base.T @ residuals) ** 2))
