"""Convergence test by the remaining step rather than by the solver's message.

A solver ends when steps or progress have become small, which also happens in a narrow
valley, on a plateau and in noise. The remaining distance is the Gauss-Newton step from
the point: at a minimum the residuals are orthogonal to the columns of the Jacobian (the
cosine of More, The Levenberg-Marquardt algorithm, 1978), and in units of the standard
errors its length is the relative offset of Bates and Watts (A relative offset
orthogonality convergence criterion for nonlinear least squares, Technometrics 23,
1981). It is compared with the parameters, with their standard errors and with the
effect of the simulation noise on such a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear

from fmident.arrays import F64
from fmident.statistics.rank import DirectionErrors

_EPS = float(np.finfo(np.float64).eps)

Flags = npt.NDArray[np.bool_]

NOISE = 3.0
"""A step of at most this many standard deviations of its own noise may be noise alone."""

INSIGNIFICANT = 1e-3
"""Step in standard errors that changes no conclusion (Bates and Watts)."""

_NEGLIGIBLE = 10.0
"""Factor on the tolerance: the step, in standard errors, that inexact derivatives may cause."""

_SYSTEMATIC = 3.0
"""How much more the errors of a column may turn the gradient than if they were independent."""

_COARSE = 1e2
"""Factor on the tolerance of a parameter where no step lowers the cost."""

_HIDDEN = 0.1
"""Step in standard errors up to which noise that hides it does no harm to the intervals."""

_SLOWEST = 0.98
"""Ratio of successive steps beyond which the sum of all that follow is not extrapolated."""


_FINE = 1e-6
"""Tolerance of simulations that is fine enough for a search."""


def if_too_coarse(tolerance: float | None) -> str:
    """Return a hint that the simulation tolerance may keep steps from lowering the cost."""
    if tolerance is None or tolerance <= _FINE:
        return ""
    return (
        f": evaluation.tolerance = {tolerance:g} may be too coarse for the search, try"
        f" {tolerance / 100.0:.0e}"
    )


@dataclass(frozen=True)
class RemainingStep:
    """The remaining Gauss-Newton step from a point, in the search space.

    The step is within the bounds and leaves out directions hidden by errors of the
    derivatives. `errors` are standard errors scaled by the size of the residuals; `noise`
    is the standard deviation of the effect of simulation noise on the step, `inexactness`
    the possible effect of the errors of the derivatives. `at_bound` are the parameters that
    it takes to a bound. `promise` is the decrease of the cost if the model were linear.
    """

    step: F64
    errors: F64
    noise: F64
    inexactness: F64
    hidden: bool
    at_bound: Flags
    promise: float

    @property
    def length(self) -> float:
        """Largest component of the step, in standard errors."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(self.step) / self.errors
        return float(np.max(ratio[np.isfinite(ratio)], initial=0.0))

    def negligible(self, size: F64, tolerance: float, before: RemainingStep | None = None) -> bool:
        """Return whether nothing remains to be done.

        `tolerance` of a step is relative to the `size` of the parameters, shape (n,), and to
        the standard errors. `before` is the result at the previous point: slowly shrinking
        steps add up to more than the next one.
        """
        factor = 1.0
        if before is not None and before.length > 0.0:
            factor = 1.0 / (1.0 - min(self.length / before.length, _SLOWEST))
        near = tolerance * np.maximum(size, self.errors)
        return bool(
            ((factor * np.abs(self.step) <= near) | (np.abs(self.step) <= NOISE * self.noise)).all()
        )

    def exact(self, size: F64, tolerance: float) -> bool:
        """Return whether the derivatives are accurate enough to call the step negligible."""
        allowed = np.maximum.reduce(
            [_NEGLIGIBLE * tolerance * self.errors, tolerance * size, self.noise]
        )
        return not self.hidden and bool((self.inexactness <= allowed).all())

    def insignificant(self, size: F64, tolerance: float) -> bool:
        """Return whether the remaining step is too small to change any conclusion."""
        allowed = np.maximum.reduce(
            [_COARSE * tolerance * size, INSIGNIFICANT * self.errors, NOISE * self.noise]
        )
        return bool((np.abs(self.step) <= allowed).all())

    def hidden_by_noise(self) -> bool:
        """Return whether the step may be noise, and is small compared with the intervals."""
        return bool((np.abs(self.step) <= np.maximum(_HIDDEN * self.errors, self.noise)).all())


@dataclass(frozen=True)
class JacobianErrors:
    """Error bounds of a Jacobian.

    `columns` are the expected lengths of the errors of its columns, shape (n,);
    `directions` are those along directions, if it was computed along them.
    """

    columns: F64
    directions: DirectionErrors | None = None

    def along(self, vectors: F64) -> F64:
        """Return the lengths of the errors of the derivatives along vectors, (n, k) -> (k,)."""
        if self.directions is not None:
            return self.directions.along(vectors)
        lengths: F64 = np.sqrt((vectors**2).T @ self.columns**2)
        return lengths

    def hiding(self, vectors: F64) -> F64:
        """Return the smallest detectable lengths of derivatives along vectors, shape (k,)."""
        if self.directions is not None:
            return self.directions.along(vectors)
        # Any error of this size may have turned the vectors themselves.
        scale = np.linalg.norm(vectors, axis=1)
        return np.full(vectors.shape[1], float(np.linalg.norm(scale * self.columns)))


def remaining_step(
    residuals: F64,
    jacobian: F64,
    errors: JacobianErrors,
    noise: float,
    room: tuple[F64, F64],
) -> RemainingStep:
    """Return the remaining step from a point.

    `residuals` and `jacobian` are in the search space; `noise` is the root mean square of
    the noise of the simulation per residual, `room` the largest step down (not positive)
    and up.
    """
    rows, count = jacobian.shape
    low, high = room
    norms: F64 = np.linalg.norm(jacobian, axis=0)
    seen = norms > errors.columns
    safe = np.where(norms > 0.0, norms, 1.0)
    step = np.zeros(count)
    gradient = jacobian.T @ residuals
    held = ((low >= 0.0) & (gradient > 0.0)) | ((high <= 0.0) & (gradient < 0.0))
    met = False
    while True:
        free = np.flatnonzero(seen & ~held)
        step[free] = 0.0
        variances, spread = np.zeros(count), np.zeros(count)
        hidden = False
        if free.size:
            target = residuals + jacobian[:, held] @ step[held]
            basis, triangle = np.linalg.qr(jacobian[:, free] / safe[free])
            left, values, right = np.linalg.svd(triangle)
            ways = np.zeros((count, values.size))
            ways[free] = right[: values.size].T / safe[free, np.newaxis]
            rounding = max(rows, count) * _EPS * float(values[0])
            determined = values > np.maximum(rounding, errors.hiding(ways))
            hidden = errors.directions is None and bool((~determined & (values > rounding)).any())
            ways, values = ways[:, determined], values[determined]
            step += -ways @ ((left.T @ (basis.T @ target))[determined] / values)
            variances = np.sum((ways / values) ** 2, axis=1)
            # Errors of the derivatives turn the gradient.
            gradient_error = errors.along(ways) * float(np.linalg.norm(residuals)) / np.sqrt(rows)
            spread = np.abs(ways) @ (_SYSTEMATIC * gradient_error / values**2)
        outside = ((step < low) | (step > high)) & ~held
        if not bool(outside.any()):
            break
        if met or not values.size:
            step = np.clip(step, low, high)
            held |= outside
            continue
        # Cutting a long step off at each bound can lead uphill: find the least cost in the box.
        met = True
        scale = safe[free]
        inside, sides = _least_inside(
            values[:, np.newaxis] * right[: determined.size][determined],
            -(left.T @ (basis.T @ target))[determined],
            (low[free] * scale, high[free] * scale),
        )
        step[free] = np.where(sides < 0, low[free], np.where(sides > 0, high[free], inside / scale))
        held[free[sides != 0]] = True
    left_over = residuals + jacobian @ step
    variance = float(left_over @ left_over) / max(rows - count, 1)
    return RemainingStep(
        step,
        np.sqrt(variances * variance),
        noise * np.sqrt(variances),
        spread,
        hidden,
        held,
        0.5 * max(float(residuals @ residuals - left_over @ left_over), 0.0),
    )


def _least_inside(matrix: F64, target: F64, room: tuple[F64, F64]) -> tuple[F64, F64]:
    """Return the step within the room that minimises ``|matrix @ step - target|^2``.

    `room` is the largest step down and up. The second result is -1 and 1 for components on
    the lower and the upper bound, else 0 (Stark and Parker, Bounded-variable least squares,
    Computational Statistics 10, 1995).
    """
    solution = lsq_linear(matrix, target, bounds=room, method="bvls")
    return np.asarray(solution.x, dtype=np.float64), np.asarray(
        solution.active_mask, dtype=np.float64
    )
