"""Finite-difference Jacobian inside bounds, columns as one batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fmident._types import F64
from fmident.errors import EstimationError
from fmident.evaluation.steps import Difference

_RETRIES = ((-1.0, 1.0), (1.0, 0.1), (-1.0, 0.1), (1.0, 0.01), (-1.0, 0.01))
"""Side and factor on the step, tried in turn for a column whose simulation failed."""


class JacobianError(EstimationError):
    """A column of the Jacobian cannot be computed, since every simulation nearby fails."""


@dataclass(frozen=True)
class _Probe:
    """A point at which a column is evaluated."""

    column: int
    step: float


def difference_jacobian(
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    steps: F64,
    lower: F64,
    upper: F64,
    names: Sequence[str],
    difference: Difference,
    reason: Callable[[], str] = str,
) -> F64:
    """Return the derivative of the residuals with respect to the search space.

    A forward step that would leave the bounds goes backwards; a central difference at a
    bound becomes one-sided. A column whose simulation fails is tried on the other side and
    with smaller steps.

    Parameters
    ----------
    evaluate
        Residuals at points of the search space, (k, n) -> (k, m); NaN rows where it failed.
    base
        Residuals at `z`, shape (m,), finite.
    z
        Point, shape (n,).
    steps
        Positive, shape (n,).
    lower, upper
        Bounds, shape (n,).
    names
        Of the parameters, for the message.
    difference
        ``"forward"`` or ``"central"``.
    reason
        Tells why the last simulation failed.

    Returns
    -------
    numpy.ndarray
        Shape (m, n).

    Raises
    ------
    JacobianError
        A column cannot be computed; the message names the parameter.
    """
    jacobian = np.full((base.size, z.size), np.nan)
    probes: list[_Probe] = []
    for j in range(z.size):
        up, down = z[j] + steps[j] <= upper[j], z[j] - steps[j] >= lower[j]
        if difference == "central" and up and down:
            probes += [_Probe(j, steps[j]), _Probe(j, -steps[j])]
        else:
            probes.append(_Probe(j, _inside(z[j], steps[j], lower[j], upper[j])))
    _fill(jacobian, evaluate, base, z, probes)
    for side, factor in _RETRIES:
        missing = np.flatnonzero(~np.isfinite(jacobian).all(axis=0))
        if missing.size == 0:
            return jacobian
        again = []
        for j in map(int, missing):
            step = side * factor * _inside(z[j], steps[j], lower[j], upper[j])
            if lower[j] <= z[j] + step <= upper[j]:
                again.append(_Probe(j, step))
        _fill(jacobian, evaluate, base, z, again)
    missing = np.flatnonzero(~np.isfinite(jacobian).all(axis=0))
    if missing.size:
        name = names[int(missing[0])]
        raise JacobianError(
            f"the derivative with respect to '{name}' cannot be computed: every simulation "
            f"nearby fails: {reason()}",
            hint=f"narrow the bounds of '{name}', or start elsewhere",
        )
    return jacobian


def _inside(z: float, step: float, lower: float, upper: float) -> float:
    """Return the step with the sign, and if need be the size, that keeps it in the bounds."""
    if z + step <= upper:
        return step
    if z - step >= lower:
        return -step
    return upper - z if upper - z >= z - lower else lower - z


def _fill(
    jacobian: F64,
    evaluate: Callable[[F64], F64],
    base: F64,
    z: F64,
    probes: Sequence[_Probe],
) -> None:
    """Evaluate all probes as one batch and put the columns into `jacobian`."""
    if not probes:
        return
    points = np.tile(z, (len(probes), 1))
    for row, probe in enumerate(probes):
        points[row, probe.column] += probe.step
    values = evaluate(points)
    by_column: dict[int, list[int]] = {}
    for row, probe in enumerate(probes):
        by_column.setdefault(probe.column, []).append(row)
    for column, rows in by_column.items():
        good = [row for row in rows if bool(np.isfinite(values[row]).all())]
        if len(good) == 2:
            first, second = good
            width = points[first, column] - points[second, column]
            jacobian[:, column] = (values[first] - values[second]) / width
        elif good:
            width = points[good[0], column] - z[column]
            if width != 0.0:
                jacobian[:, column] = (values[good[0]] - base) / width
