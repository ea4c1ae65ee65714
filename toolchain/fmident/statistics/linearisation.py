"""How a least-squares estimate answers to the noise and to what was taken for known.

The whitened residuals are ``r = e + J dp + J_h dh`` near the solution, with the noise ``e``, the
errors ``dp`` of the estimate and those ``dh`` of values that it held. Least squares answers with
``dp = -J^+ (e + J_h dh)`` (Seber and Wild, Nonlinear Regression, section 2.1.2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident.statistics.identifiability import RankAnalysis
from fmident.statistics.noise import NoiseFinding


@dataclass(frozen=True, eq=False)
class Linearisation:
    """Least squares near its solution.

    Parameters
    ----------
    jacobian
        Of the whitened residuals with respect to all free parameters, shape (m, n).
    analysis
        Of its columns `kept`.
    kept
        Parameters that do not lie on a bound, indices, shape (k,).
    undecided
        Parameters of which the derivatives are too inexact to tell whether they are
        identifiable, boolean, shape (n,).
    noise
        Standard deviation of the noise of the residuals: 1 when known, else estimated.
    freedom
        Degrees of freedom of that; infinite when known.
    residuals
        Whitened, at the solution, shape (m,); of a robust loss those of a least-squares problem
        with the same next step.
    tangent
        Where constraints let the parameters move, shape (n, n): column j is the movement for 1 of
        parameter j, and the Jacobian is that along it. ``None`` without constraints.
    priors
        Number of rows at the end that are of priors, in units of the noise.
    coloured
        The noise of the residuals where it is not white noise of one size: it takes the place of
        `noise` and `freedom` in all that follows from the noise.
    within
        Directions along which the estimate is that of least squares, as columns in physical
        parameters, shape (n, r), where it moves along no others; ``None``: along all.
    """

    jacobian: F64
    analysis: RankAnalysis
    kept: npt.NDArray[np.intp]
    undecided: npt.NDArray[np.bool_]
    noise: float
    freedom: float
    residuals: F64
    tangent: F64 | None = None
    priors: int = 0
    coloured: NoiseFinding | None = None
    within: F64 | None = None

    @property
    def samples(self) -> int:
        """Number of rows that are of the data."""
        return self.residuals.size - self.priors

    @property
    def data_jacobian(self) -> F64:
        """The rows of the Jacobian that are of the data, shape (samples, n)."""
        return self.jacobian[: self.samples]

    @property
    def on_bound(self) -> npt.NDArray[np.bool_]:
        """Parameters that lie on a bound or are held by constraints, shape (n,)."""
        found = np.ones(self.jacobian.shape[1], dtype=np.bool_)
        found[self.kept] = False
        if self.tangent is not None:
            found = np.asarray(~(self.tangent != 0.0).any(axis=1), dtype=np.bool_)
        return found

    @property
    def column_norms(self) -> F64:
        """Lengths of the Jacobian's columns, shape (n,); 0 for those that are invisible."""
        norms = np.zeros(self.jacobian.shape[1])
        norms[self.kept] = self.analysis.column_norms
        return norms

    @property
    def open_directions(self) -> F64:
        """Directions of the parameters that the data leave open, as columns, shape (n, d)."""
        found = self.analysis
        safe = np.where(found.column_norms > 0.0, found.column_norms, 1.0)
        shares = np.where(found.involved[:, np.newaxis], found.right[:, found.rank :], 0.0)
        directions = np.zeros((self.jacobian.shape[1], shares.shape[1]))
        directions[self.kept] = shares / safe[:, np.newaxis]
        return self._along(directions)

    def answer(self, change: F64) -> F64:
        """Return by how much the estimate moves when the residuals change: (m, h) -> (n, h).

        Along open directions it does not move; parameters on a bound stay there.
        """
        return -self._along(self._pseudo_inverse() @ change)

    def answer_to_noise(self) -> F64:
        """Return by how much the estimate moves for noise of one standard deviation, (n, m).

        Its product with its own transpose is the covariance.
        """
        if self.coloured is not None:
            answers = self._pseudo_inverse()
            data = self.coloured.answers(answers[:, : self.samples])
            return -self._along(np.hstack([data, self.noise * answers[:, self.samples :]]))
        return -self.noise * self._along(self._pseudo_inverse())

    def white_errors(self) -> F64:
        """Return the standard errors if the noise were white and of one size, shape (n,)."""
        errors: F64 = self.noise * np.linalg.norm(self._along(self._pseudo_inverse()), axis=1)
        return errors

    def freedoms(self, rows: F64, known: F64 | None = None) -> F64:
        """Return the degrees of freedom of the variances of quantities, shape (h,).

        Parameters
        ----------
        rows
            Derivatives of the quantities with respect to the parameters, shape (h, n).
        known
            Variance of each that does not come from the noise, shape (h,); by default what priors
            contribute to that of the estimate.
        """
        if self.coloured is None:
            return np.full(len(rows), self.freedom)
        answers = rows @ self._along(self._pseudo_inverse())
        data, rest = answers[:, : self.samples], self.noise * answers[:, self.samples :]
        found = self.coloured.freedoms(data)
        if not self.priors:
            return found
        # The variance that priors contribute is known.
        from_data = np.sum(self.coloured.answers(data) ** 2, axis=1)
        certain = np.sum(rest**2, axis=1) if known is None else known
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: F64 = 1.0 + certain / from_data
        return found * shares**2

    def _along(self, movements: F64) -> F64:
        """Return movements of all parameters from those of `kept`."""
        return movements if self.tangent is None else self.tangent @ movements

    def _pseudo_inverse(self) -> F64:
        """Return the pseudo-inverse of the column-scaled Jacobian in physical units, (n, m)."""
        if self.within is not None:
            moved = self.jacobian @ self.within
            inverse = np.asarray(np.linalg.pinv(moved), dtype=np.float64)
            return np.asarray(self.within @ inverse, dtype=np.float64)
        found, rank = self.analysis, self.analysis.rank
        safe = np.where(found.column_norms > 0.0, found.column_norms, 1.0)
        scaled = np.where(found.column_norms > 0.0, self.jacobian[:, self.kept], 0.0) / safe
        right, singular = found.right[:, :rank], found.singular_values[:rank]
        left = (scaled @ right) / singular
        inverse = np.zeros(self.jacobian.T.shape)
        inverse[self.kept] = ((right / singular) @ left.T) / safe[:, np.newaxis]
        return inverse
