"""Recursive least squares of a linear differential equation: streaming and batch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident_estimators.compiled import when_used
from fmident_estimators.kalman_bucy.differentiation import Differentiator
from fmident_estimators.linear_equation import LinearEquation

kernels = when_used("fmident_estimators.kalman_bucy.kernels")

_TOLERANCE = 1e-8

_SOLVABLE = 0.1
"""Part of the information that must be signal for the bias to be solved for."""


class KalmanBucy:
    """The recursion of eq. 3 on filtered signals and derivatives.

    The regression of a second-order equation is ``u - x'' = theta1 x' + theta2 x`` (eq. 2); in
    general all known terms are on the left.

    Parameters
    ----------
    equation
        Structure and known coefficients.
    filter_
        With derivatives up to the order of the equation.
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

    Notes
    -----
    The noise of y is in the regressor too, which biases least squares; eq. 11 counts the scatter
    only. :meth:`bias` predicts it when `sigma` is known.
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
        if filter_.highest < n:
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
        self._moment = _noise_moment(equation, filter_, rows_y) * (
            np.nan if sigma is None else sigma**2
        )
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

    def bias(self) -> F64:
        """Return the predicted bias of the coefficients, shape (r,); NaN without `sigma`."""
        weight = self._memory[kernels.WEIGHT]
        return noise_bias(self.coefficients, weight * self._inverse, self._moment)

    def batch(self, y: F64, u: F64) -> tuple[F64, F64, F64, npt.NDArray[np.int64]]:
        """Take a whole record.

        Returns
        -------
        tuple
            Coefficients (n, r), covariances (n, r, r), biases (n, r) as of :meth:`bias`,
            flags (n,).
        """
        r = self.coefficients.size
        thetas = np.full((y.size, r), np.nan)
        covariances = np.full((y.size, r, r), np.nan)
        weighted = np.full((y.size, r, r), np.nan)
        flags = np.zeros(y.size, dtype=np.int64)
        kernels.record(
            np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(u, dtype=np.float64),
            self._fixed, self._memory, self.coefficients, self._inverse, self.covariance,
            thetas, covariances, weighted, flags,
        )  # fmt: skip
        biases = np.full((y.size, r), np.nan)
        good = flags == kernels.OK
        biases[good] = noise_bias(thetas[good], weighted[good], self._moment)
        return thetas, covariances, biases, flags

    def restart_filter(self) -> None:
        """Forget the filter's state, as after a gap in the data; what was learnt is kept."""
        self._memory[kernels.SEEN] = 0.0


def noise_bias(coefficients: F64, inverse: F64, moment: F64) -> F64:
    """Return how far noise in the regressor is expected to shift least squares.

    With M the information matrix of the noisy rows and W the sum of their weights, the expected
    estimate is ``theta - W M^-1 (c + N theta)``, where N is the moment of the regressor's noise
    and c that with the noise of the known part. Solved for theta, it is bias-compensated least
    squares (L. Ljung, System Identification, 1999, section 7.6, on errors in variables).
    Where the noise is as large as the signal there is no solution, and the shift counts with
    the estimate in the place of theta.

    Parameters
    ----------
    coefficients
        The estimate, shape (..., r).
    inverse
        ``W M^-1``, shape (..., r, r).
    moment
        ``[c, N]``, shape (r, 1 + r).

    Returns
    -------
    F64
        Shape (..., r).
    """
    r = coefficients.shape[-1]
    first = -np.einsum("...ij,...j->...i", inverse, moment[:, 0] + coefficients @ moment[:, 1:].T)
    left = np.eye(r) - inverse @ moment[:, 1:]
    # All eigenvalues of W M^-1 N lie below 1 while M is larger than its own noise.
    sizes = np.linalg.eigvals(np.where(np.isfinite(left), left, 0.0)).real.min(axis=-1)
    solvable = sizes > _SOLVABLE
    safe = np.where(solvable[..., np.newaxis, np.newaxis], left, np.eye(r))
    solved: F64 = np.linalg.solve(safe, first[..., np.newaxis])[..., 0]
    return solved


def _noise_moment(equation: LinearEquation, filter_: Differentiator, rows: F64) -> F64:
    """Return the moment of unit white noise of y in the rows with itself, shape (r, 1 + r).

    The columns belong to the known part and to each unknown.
    """
    from scipy.linalg import solve_discrete_lyapunov  # slow to import and seldom needed

    first = filter_.transition @ filter_.now + filter_.before
    states = np.outer(filter_.now, filter_.now) + solve_discrete_lyapunov(
        filter_.transition, np.outer(first, first)
    )
    pairs = rows @ states @ rows.T
    r = len(equation.unknown)
    moment = np.zeros((r, 1 + r))
    places = np.array(equation.places_a, dtype=np.int64)
    moment[places, 0] = pairs[1:, 0]
    moment[np.ix_(places, 1 + places)] = pairs[1:, 1:]
    return moment


def _combinations(known: F64, unknown: tuple[int, ...], filter_: Differentiator) -> F64:
    """Return how known part and unknown terms follow from the filter's states."""
    rows = np.zeros((1 + len(unknown), filter_.order))
    rows[0, : known.size] = known * filter_.scales[: known.size]
    for k, i in enumerate(unknown):
        rows[1 + k, i] = filter_.scales[i]
    return rows


def _ringing(filter_: Differentiator, rows: F64) -> F64:
    """Return ``sum_k (Phi^k)^T c_a c_b^T Phi^k`` of each pair of rows, shape (p, p, q, q)."""
    from scipy.linalg import solve_discrete_lyapunov  # slow to import and seldom needed

    pairs = [
        [solve_discrete_lyapunov(filter_.transition.T, np.outer(a, b)) for b in rows] for a in rows
    ]
    return np.ascontiguousarray(np.array(pairs, dtype=np.float64))
