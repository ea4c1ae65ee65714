"""Modes of a linear difference equation that fits simulated outputs.

The order rises until the fit improves no more; no statement is made where it stays bad (Ljung,
System Identification, sections 4.2 and 13.7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64

LINEAR = 1e-3
"""What superposition may miss, over the response, in a model that counts as linear."""

_ORDERS = (1, 2, 3, 4)
_GOOD = 1e-3
"""Part of an output's spread up to which it counts as a function of the inputs."""

_IMPROVES = 0.3
_EXACT = 1e-6
"""An error this small, over that of the change, leaves nothing to improve."""

_FREE_RUN = 0.03
_GONE, _UNSTABLE = 1e-2, 1.05
_INTEGRATOR = 1e-2
"""Poles that change this little over the whole record are integrators."""


def time_constants(times: F64, outputs: F64, inputs: Mapping[str, F64], missed: float = 0.0) -> F64:
    """Return the time constants ``1/|s|`` of the modes in the outputs, s, ascending.

    Parameters
    ----------
    times
        Equidistant, shape (n,).
    outputs
        Shape (n, outputs).
    inputs
        By name, shape (n,).
    missed
        Part of the outputs that is not linear in the inputs: an equation that misses no more
        than that is good enough.

    Returns
    -------
    numpy.ndarray
        Empty where no linear difference equation of low order fits.
    """
    columns = list(inputs.values())
    driving = np.column_stack(columns) if columns else np.empty((times.size, 0))
    found: list[float] = []
    step = float(times[1] - times[0])
    for y in outputs.T:
        scale = float(np.std(y))
        if scale > 1e-12 * float(np.max(np.abs(y), initial=0.0)):
            found += _modes(y / scale, driving, step, missed)
    return np.array(sorted(found))


def _modes(y: F64, driving: F64, step: float, missed: float) -> list[float]:
    """Return the time constants of the difference equation of one output, if one fits."""
    change = float(np.sqrt(np.mean(np.diff(y) ** 2)))
    if change == 0.0 or _fit(y, driving, 0).error <= _GOOD:
        return []  # the inputs alone explain it: no dynamics
    best: _Equation | None = None
    for order in _ORDERS:
        if y.size < 10 * order * (1 + driving.shape[1]):
            break
        equation = _fit(y, driving, order)
        if best is not None and equation.error > _IMPROVES * best.error:
            break
        best = equation
        if equation.error <= _EXACT * change:
            break
        if missed > LINEAR and equation.free_run_error(y, driving) <= min(missed, _FREE_RUN):
            break
    # Any smooth curve is predicted well one step ahead; only the right equation runs freely.
    if best is None or best.free_run_error(y, driving) > _FREE_RUN:
        return []
    return best.time_constants(step, y.size)


@dataclass(frozen=True)
class _Equation:
    """``y_k = sum a_i y_(k-i) + sum b_ij u_j,(k-i) + c``.

    Parameters
    ----------
    past
        Coefficients a, shape (order,).
    driving
        Coefficients b by lag, shape (order + 1, inputs).
    constant
        Coefficient c.
    error
        Root mean square of what it misses one step ahead.
    """

    past: F64
    driving: F64
    constant: float
    error: float

    def free_run_error(self, y: F64, inputs: F64) -> float:
        """Return the error of the whole curve, run from its first values, over its spread."""
        order = self.past.size
        force = np.full(y.size, self.constant)
        for lag in range(order + 1):
            force[order:] += inputs[order - lag : y.size - lag] @ self.driving[lag]
        free = _run(self.past, y[:order], force[order:])
        with np.errstate(all="ignore"):
            error = float(np.sqrt(np.mean((free - y[order:]) ** 2)))
        return error / float(np.std(y)) if math.isfinite(error) else math.inf

    def time_constants(self, step: float, count: int) -> list[float]:
        """Return ``1/|s|`` of the poles that mean something."""
        constants = []
        for pole in np.roots(np.concatenate([[1.0], -self.past])):
            size = abs(pole)
            if size < _GONE or size > _UNSTABLE or (pole.real < 0.0 and abs(pole.imag) < 1e-9):
                continue
            rate = abs(np.log(pole + 0j))  # per step
            if rate * count > _INTEGRATOR:
                constants.append(step / rate)
        return constants


def _run(past: F64, first: F64, force: F64) -> F64:
    """Return what follows `first` under y_i = sum_k past_k y_{i-k} + force_i.

    For the orders there are, and in plain Python: a library with a filter takes longer to import.
    """
    coefficients, before = np.zeros(4), np.zeros(4)
    coefficients[: past.size], before[: past.size] = past, first[::-1]
    a, b, c, d = map(float, coefficients)
    w, x, y, z = map(float, before)
    found: list[float] = []
    for value in force.tolist():
        w, x, y, z = value + a * w + b * x + c * y + d * z, w, x, y
        found.append(w)
    return np.array(found)


def _fit(y: F64, inputs: F64, order: int) -> _Equation:
    count = y.size
    target = y[order:]
    past = [y[order - k : count - k] for k in range(1, order + 1)]
    moved = [inputs[order - k : count - k] for k in range(order + 1)]
    regressors = np.column_stack([*past, *moved, np.ones(target.size)])
    solution, *_ = np.linalg.lstsq(regressors, target, rcond=1e-12)
    error = float(np.sqrt(np.mean((target - regressors @ solution) ** 2)))
    driving = np.asarray(solution[order:-1], dtype=np.float64).reshape(order + 1, inputs.shape[1])
    return _Equation(
        np.asarray(solution[:order], dtype=np.float64), driving, float(solution[-1]), error
    )
