"""Recursive least squares (Kalman-Bucy) of a linear differential equation: streaming and batch.

**Filtered differentiators** are causal linear filters whose states are a signal's derivatives.
:func:`differentiator` filters the signal, too. ``F(s) = w^q/(s + w)^q`` in controllable form has
the states ``F x, s F x, ..., s^(q-1) F x``: the filtered signal and its first q - 1 derivatives,
each exact for the filtered signal. With ``q = n + 1`` they reach the n-th derivative. The signal
between two samples is taken as a straight line, for which the discrete filter is exact (ramp
invariance). Input and output are filtered alike, so that the differential equation holds between
the filtered signals as it does between the signals themselves: the filter's delay does no harm.

:func:`finite_differences` is the method of the paper (sections 3.A and 6): finite differences
through a low-pass filter, beside position and input as measured. In its eq. 2 the row of a sample
is ``((x')_e, x)`` and its left side ``u - (x'')_e``, where only what has the index e is filtered.
The derivatives lag behind the rest, so that the equation holds no longer. The paper gives neither
order nor corner of its filter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import expm, solve_discrete_lyapunov

from fmident.arrays import F64
from fmident_estimators.compiled import OK
from fmident_estimators.kalman_bucy import kernels
from fmident_estimators.linear_equation import LinearEquation, Terms

_TOLERANCE = 1e-8

_SOLVABLE = 0.1
"""Part of the information that must be signal for the bias to be solved for."""


class KalmanBucy:
    """The recursion of eq. 3 on filtered signals and derivatives.

    The regression of a second-order equation is ``u - x'' = theta1 x' + theta2 x`` (eq. 2);
    in general all known terms are on the left. Least squares on `start` rows begins the
    recursion (eq. 4) after `settle` samples that fill the filter; `forgetting` is lambda in
    ]0, 1]. `coefficients` and `covariance` are those after the last good sample;
    :meth:`update` overwrites them.

    The noise of y, `sigma`, also enters the regressor, which biases least squares:
    :meth:`bias` predicts it, eq. 11 includes only the scatter. Without sigma, errors of the
    standard deviation `noise` (or that of the residuals) count as independent, which makes
    the covariance several times too large for a filter that is slow compared with the
    sampling.
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
        self._memory = np.zeros(kernels.MEMORY)
        rows_y = _combinations(equation.y, filter_)
        rows_u = _combinations(equation.u, filter_)
        self._moment = _noise_moment(equation, filter_, rows_y) * (
            np.nan if sigma is None else sigma**2
        )
        self._state = kernels.RecursionState(
            transition=filter_.transition,
            before=filter_.before,
            now=filter_.now,
            rows_y=rows_y,
            rows_u=rows_u,
            places_a=equation.y.places,
            places_b=equation.u.places,
            ringing=_ringing(filter_, rows_y),
            settle=settle,
            forgetting=forgetting,
            noise=np.nan if noise is None else float(noise),
            sigma=np.nan if sigma is None else float(sigma),
            tolerance=_TOLERANCE,
            memory=self._memory,
            state_y=np.zeros(q),
            state_u=np.zeros(q),
            rows=np.zeros((start, r)),
            targets=np.zeros(start),
            phi=np.zeros(r),
            coloured=np.zeros(r),
            before_phi=np.zeros(r),
            states_phi=np.zeros((r, q)),
            tail=np.zeros((r, r)),
            theta=self.coefficients,
            inverse=self._inverse,
            squared=np.zeros((r, r)),
            covariance=self.covariance,
            filtered=np.zeros(q),
            rest=np.zeros((r, q)),
            form=np.zeros((q, q)),
            gain=np.zeros(r),
        )

    def update(self, y: float, u: float = 0.0) -> int:
        """Process one sample; return a flag of :mod:`fmident_estimators.kalman_bucy.kernels`."""
        return kernels.update(y, u, self._state)

    def bias(self) -> F64:
        """Return the predicted bias of the coefficients, shape (r,); NaN without `sigma`."""
        weight = self._memory[kernels.WEIGHT]
        return noise_bias(self.coefficients, weight * self._inverse, self._moment)

    def batch(self, y: F64, u: F64) -> tuple[F64, F64, F64, npt.NDArray[np.int64]]:
        """Return coefficients (n, r), covariances (n, r, r), biases (n, r) and flags (n,)."""
        r = self.coefficients.size
        thetas = np.full((y.size, r), np.nan)
        covariances = np.full((y.size, r, r), np.nan)
        weighted = np.full((y.size, r, r), np.nan)
        flags = np.zeros(y.size, dtype=np.int64)
        kernels.record(
            np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(u, dtype=np.float64),
            self._state, thetas, covariances, weighted, flags,
        )  # fmt: skip
        biases = np.full((y.size, r), np.nan)
        good = flags == OK
        biases[good] = noise_bias(thetas[good], weighted[good], self._moment)
        return thetas, covariances, biases, flags

    def restart(self) -> None:
        """Forget the filter's state, as after a gap in the data, but keep the estimate."""
        self._memory[kernels.SEEN] = 0.0


def noise_bias(coefficients: F64, inverse: F64, moment: F64) -> F64:
    """Return the expected bias of least squares by noise in the regressor, shape (..., r).

    With M the information matrix of the noisy rows and W the sum of their weights, the
    expected estimate is ``theta - W M^-1 (c + N theta)``, where N is the moment of the
    regressor's noise and c that with the noise of the known part. Solved for theta, it is
    bias-compensated least squares (L. Ljung, System Identification, 1999, section 7.6, on
    errors in variables). If the noise is as large as the signal there is no solution, and
    the estimate replaces theta.

    `inverse` is ``W M^-1``, shape (..., r, r), and `moment` is ``[c, N]``, shape
    (r, 1 + r).
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
    first = filter_.transition @ filter_.now + filter_.before
    states = np.outer(filter_.now, filter_.now) + solve_discrete_lyapunov(
        filter_.transition, np.outer(first, first)
    )
    pairs = rows @ states @ rows.T
    r = len(equation.unknown)
    moment = np.zeros((r, 1 + r))
    places = equation.y.places
    moment[places, 0] = pairs[1:, 0]
    moment[np.ix_(places, 1 + places)] = pairs[1:, 1:]
    return moment


def _combinations(terms: Terms, filter_: Differentiator) -> F64:
    """Return the matrices from the filter's states to the known part and unknown terms."""
    rows = np.zeros((1 + len(terms.unknown), filter_.order))
    rows[0, : terms.known.size] = terms.known * filter_.scales[: terms.known.size]
    for k, i in enumerate(terms.unknown):
        rows[1 + k, i] = filter_.scales[i]
    return rows


def _ringing(filter_: Differentiator, rows: F64) -> F64:
    """Return ``sum_k (Phi^k)^T c_a c_b^T Phi^k`` of each pair of rows, shape (p, p, q, q)."""
    pairs = [
        [solve_discrete_lyapunov(filter_.transition.T, np.outer(a, b)) for b in rows] for a in rows
    ]
    return np.ascontiguousarray(np.array(pairs, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Differentiator:
    """The discrete filter; at rest all states are zero except the first, which is the signal.

    `transition` is Phi, shape (q, q); `before` and `now` are the gains on the previous and
    the present sample, shape (q,). The i-th derivative, up to `highest`, is
    ``scales[i] * state[i]``.
    """

    transition: F64
    before: F64
    now: F64
    scales: F64
    highest: int

    @property
    def order(self) -> int:
        """Number of states."""
        return self.scales.size


def differentiator(order: int, cutoff: float, step: float) -> Differentiator:
    """Return the filter with `order` equal poles and as many states.

    `cutoff` is the corner frequency w/(2*pi) of each pole, Hz, and `step` the sampling
    interval, s. The highest derivative has the order ``order - 1``.
    """
    corner = 2.0 * np.pi * cutoff
    # In the time w*t: z' = A z + B x with (p + 1)^q z_0 = x.
    a = np.diag(np.ones(order - 1), 1)
    a[-1] = [-float(c) for c in np.poly(-np.ones(order))[:0:-1]]
    b = np.zeros((order, 1))
    b[-1] = 1.0
    h = corner * step
    # The signal and its slope are carried along as two more states.
    block = np.zeros((order + 2, order + 2))
    block[:order, :order] = a * h
    block[:order, order : order + 1] = b * h
    block[order, order + 1] = 1.0
    whole = expm(block)
    ramp = whole[:order, order + 1]
    return Differentiator(
        np.ascontiguousarray(whole[:order, :order]),
        np.ascontiguousarray(whole[:order, order] - ramp),
        np.ascontiguousarray(ramp),
        corner ** np.arange(order, dtype=np.float64),
        order - 1,
    )


def finite_differences(highest: int, poles: int, cutoff: float, step: float) -> Differentiator:
    """Return backward differences through a low-pass filter; the signal is not filtered.

    The first difference is held over its interval and passes ``w^q/(s + w)^q``, for which
    the discrete filter is exact; the others are differences of the result. `highest` is the
    order of the highest derivative, `poles` is q, `cutoff` the corner frequency of each
    pole, Hz, and `step` the sampling interval, s.
    """
    low = differentiator(poles, cutoff, step)
    count = highest + poles
    places = [1, *range(highest + 1, count)]
    transition, now, scales = np.zeros((count, count)), np.zeros(count), np.ones(count)
    transition[np.ix_(places, places)] = low.transition
    now[0], now[places] = 1.0, low.before + low.now
    for i in range(2, highest + 1):
        transition[i], now[i] = transition[i - 1], now[i - 1]
        transition[i, i - 1] -= 1.0
    scales[: highest + 1] = step ** -np.arange(highest + 1.0)
    return Differentiator(
        transition, np.where(np.arange(count) > 0, -now, 0.0), now, scales, highest
    )
