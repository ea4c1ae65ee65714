"""Recursive least squares of a linear differential equation: streaming and batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_discrete_lyapunov

from fmident._types import F64
from fmident_estimators.kalman_bucy import kernels
from fmident_estimators.kalman_bucy.differentiator import Differentiator
from fmident_estimators.linear_equation import LinearEquation

_TOLERANCE = 1e-8


class KalmanBucy:
    """The recursion of eq. 3 on filtered signals and derivatives.

    The regression of a second-order equation is ``u - x'' = theta1 x' + theta2 x`` (eq. 2); in
    general all known terms stand on the left.

    Parameters
    ----------
    equation
        Structure and known coefficients.
    filter_
        With at least order + 1 states.
    forgetting
        lambda in ]0, 1].
    start
        m, the rows of the least squares that starts the recursion (eq. 4); more than the
        unknowns.
    settle
        Samples that only fill the filter.
    noise
        Standard deviation of the regression's error, taken for independent; ``None`` estimates
        it from the residuals.
    sigma
        Standard deviation of white noise on y. The covariance then counts with the colour that
        the filter gives to it, and `noise` is not used.

    Attributes
    ----------
    coefficients, covariance
        After the last good sample, shapes (r,) and (r, r); overwritten by :meth:`update`. The
        covariance is that of eq. 11. Without `sigma` it counts the regression's errors as
        independent, which makes it several times too large where the filter is slow
        against the sampling.
    """

    def __init__(
        self,
        equation: LinearEquation,
        filter_: Differentiator,
        *,
        forgetting: float = 1.0,
        start: int = 20,
        settle: int = 0,
        noise: float | None = None,
        sigma: float | None = None,
    ) -> None:
        r, n, q = len(equation.unknown), equation.order, filter_.order
        if q <= n:
            raise ValueError(f"a filter of order {q} has no derivative of order {n}")
        if start <= r:
            raise ValueError(f"start = {start} rows are too few for {r} coefficients and the noise")
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(f"forgetting must lie in ]0, 1], not {forgetting}")
        self.equation = equation
        self.coefficients = np.full(r, np.nan)
        self.covariance = np.full((r, r), np.nan)
        self._inverse = np.zeros((r, r))
        self._squared = np.zeros((r, r))
        self._memory = np.zeros(kernels.MEMORY)
        rows_y = _combinations(equation.known_a, equation.unknown_a, filter_)
        rows_u = _combinations(equation.known_b, equation.unknown_b, filter_)
        self._fixed = (
            self._memory, np.zeros(q), np.zeros(q), np.zeros(q),
            filter_.transition, filter_.before, filter_.now, rows_y, rows_u,
            np.array(equation.places_a, dtype=np.int64),
            np.array(equation.places_b, dtype=np.int64),
            settle, np.zeros((start, r)), np.zeros(start), forgetting,
            np.nan if noise is None else float(noise),
            np.nan if sigma is None else float(sigma), _TOLERANCE,
            np.zeros(r), np.zeros(r), np.zeros(r), np.zeros((r, q)),
            _ringing(filter_, rows_y), np.zeros((r, q)), np.zeros((q, q)), np.zeros((r, r)),
            np.zeros(r), self.coefficients, self._inverse, self._squared, self.covariance,
        )  # fmt: skip

    def update(self, y: float, u: float = 0.0) -> int:
        """Take one sample; return a flag of :mod:`fmident_estimators.kalman_bucy.kernels`."""
        flag: int = kernels.update(y, u, *self._fixed)
        return flag

    def batch(self, y: F64, u: F64) -> tuple[F64, F64, npt.NDArray[np.int64]]:
        """Take a whole record; coefficients (n, r), covariances (n, r, r), flags (n,)."""
        r = self.coefficients.size
        thetas = np.full((y.size, r), np.nan)
        covariances = np.full((y.size, r, r), np.nan)
        flags = np.zeros(y.size, dtype=np.int64)
        for k, (new_y, new_u) in enumerate(zip(y.tolist(), u.tolist(), strict=True)):
            flags[k] = self.update(new_y, new_u)
            if flags[k] == kernels.OK:
                thetas[k] = self.coefficients
                covariances[k] = self.covariance
        return thetas, covariances, flags

    def restart_filter(self) -> None:
        """Forget the filter's state, as after a gap in the data; what was learnt is kept."""
        self._memory[kernels.SEEN] = 0.0


def _combinations(known: F64, unknown: tuple[int, ...], filter_: Differentiator) -> F64:
    """Return how known part and unknown terms follow from the filter's states."""
    rows = np.zeros((1 + len(unknown), filter_.order))
    rows[0, : known.size] = known * filter_.scales[: known.size]
    for k, i in enumerate(unknown):
        rows[1 + k, i] = filter_.scales[i]
    return rows


def _ringing(filter_: Differentiator, rows: F64) -> F64:
    """Return ``sum_k (Phi^k)^T c_a c_b^T Phi^k`` of each pair of rows, shape (p, p, q, q)."""
    pairs = [
        [solve_discrete_lyapunov(filter_.transition.T, np.outer(a, b)) for b in rows] for a in rows
    ]
    return np.ascontiguousarray(np.array(pairs, dtype=np.float64))
