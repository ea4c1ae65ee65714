"""Sliding windows: everything that is computed once, the streaming and the batch form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident_estimators.algebraic.weights import Quadrature, row_weights
from fmident_estimators.compiled import when_used
from fmident_estimators.linear_equation import LinearEquation

kernels = when_used("fmident_estimators.algebraic.kernels")

_TOLERANCE = 1e-10


@dataclass(frozen=True)
class WindowDesign:
    """A window and the rows taken from it.

    Parameters
    ----------
    intervals
        Sampling intervals, a multiple of the quadrature's degree.
    step
        Sampling interval, s.
    mu
        Power of 1/s in the first row; ``order + 1`` at least, 0 for just that.
    rows
        Number of rows, mu, mu + 1, ...; 0 for as many as there are unknowns.
    quadrature
        See :func:`~fmident_estimators.algebraic.weights.row_weights`.
    """

    intervals: int
    step: float
    mu: int = 0
    rows: int = 0
    quadrature: Quadrature = "product-4"

    @property
    def length(self) -> float:
        """T, s."""
        return self.intervals * self.step


class AlgebraicWindow:
    """The weights of one equation and window, and the estimates from whole records.

    Parameters
    ----------
    equation
        Structure and known coefficients.
    design
        Window and rows.
    sigma
        Standard deviation of the noise on y; ``None`` if unknown.
    tolerance
        Below which a window counts as singular, see
        :func:`~fmident_estimators.algebraic.kernels.solve_window`.

    Raises
    ------
    ValueError
        Fewer rows than unknowns, or mu too small.
    """

    def __init__(
        self,
        equation: LinearEquation,
        design: WindowDesign,
        sigma: float | None = None,
        tolerance: float = _TOLERANCE,
    ) -> None:
        n, count = equation.order, len(equation.unknown)
        mu, rows = design.mu or n + 1, design.rows or count
        if mu <= n:
            raise ValueError(f"mu is {mu}, but must be larger than the order {n}")
        if rows < count:
            raise ValueError(f"there are {rows} rows for {count} unknown coefficients")
        self.equation = equation
        self.design = design
        self.samples = design.intervals + 1
        terms = [
            row_weights(n, mu + i, design.intervals, design.step, design.quadrature)
            for i in range(rows)
        ]
        # Rows of equal answer to noise on y^(n), the term whose coefficient is 1.
        terms = [t / np.linalg.norm(t[n]) for t in terms]
        self.weights_y = np.array(
            [[equation.known_a @ t, *t[list(equation.unknown_a)]] for t in terms]
        )
        self.weights_u = np.array(
            [[equation.known_b @ t, *t[list(equation.unknown_b)]] for t in terms]
        )
        self.gram = np.ascontiguousarray(np.einsum("ipl,kql->ipkq", self.weights_y, self.weights_y))
        self.places_a = np.array(equation.places_a, dtype=np.int64)
        self.places_b = np.array(equation.places_b, dtype=np.int64)
        self.variance = np.nan if sigma is None else float(sigma) ** 2
        self.tolerance = tolerance

    def workspace(self) -> F64:
        """Return scratch memory for one solution."""
        rows, unknowns = self.weights_y.shape[0], len(self.equation.unknown)
        return np.zeros((rows + 1, unknowns + 1 + rows))

    def batch(self, y: F64, u: F64) -> tuple[F64, F64, npt.NDArray[np.int64]]:
        """Estimate from every window of a record.

        Parameters
        ----------
        y, u
            Shape (n,); NaN marks missing samples.

        Returns
        -------
        coefficients : ndarray, shape (n, r)
            At the last sample of each window; NaN where there is no estimate.
        covariances : ndarray, shape (n, r, r)
            NaN where the noise is unknown.
        flags : ndarray of int, shape (n,)
            ``OK``, ``FILLING``, ``SINGULAR`` or ``MISSING`` of
            :mod:`fmident_estimators.algebraic.kernels`.
        """
        r = len(self.equation.unknown)
        thetas = np.full((y.size, r), np.nan)
        covariances = np.full((y.size, r, r), np.nan)
        flags = np.full(y.size, kernels.FILLING, dtype=np.int64)
        kernels.solve_all(
            np.ascontiguousarray(y, dtype=np.float64), np.ascontiguousarray(u, dtype=np.float64),
            self.weights_y, self.weights_u, self.places_a, self.places_b, self.gram,
            self.variance, self.tolerance, self.workspace(), thetas, covariances, flags,
        )  # fmt: skip
        return thetas, covariances, flags


class AlgebraicStream:
    """One sample in, estimate out, at constant cost and without allocating arrays.

    Parameters
    ----------
    window
        Shared with other streams.

    Attributes
    ----------
    coefficients, covariance
        Of the last good window, shapes (r,) and (r, r); overwritten by :meth:`update`.
    """

    def __init__(self, window: AlgebraicWindow) -> None:
        self.window = window
        r = len(window.equation.unknown)
        self.coefficients = np.full(r, np.nan)
        self.covariance = np.full((r, r), np.nan)
        self._counter = np.zeros(2, dtype=np.int64)
        self._ring_y = np.zeros(2 * window.samples)
        self._ring_u = np.zeros(2 * window.samples)
        self._fixed = (
            self._ring_y, self._ring_u, window.weights_y, window.weights_u, window.places_a,
            window.places_b, window.gram, window.variance, window.tolerance, window.workspace(),
            self.coefficients, self.covariance,
        )  # fmt: skip

    def update(self, y: float, u: float = 0.0) -> int:
        """Take one sample; return ``OK`` when the results are those of the window it ends."""
        flag: int = kernels.push_and_solve(self._counter, y, u, *self._fixed)
        return flag

    def restart(self) -> None:
        """Forget all samples, as after a gap in the data."""
        self._counter[:] = 0
