"""Response of a least-squares estimate to noise and to errors of held values.

The whitened residuals are ``r = e + J dp + J_h dh`` near the solution, with the noise
``e``, the errors ``dp`` of the estimate and the errors ``dh`` of held values. The
response of least squares is ``dp = -J^+ (e + J_h dh)`` (Seber and Wild, Nonlinear
Regression, section 2.1.2).
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
    """Least squares near its solution, for all n free parameters.

    `jacobian` and `residuals` are whitened; for a robust loss the residuals are those of a
    least-squares problem with the same step. `analysis` is that of the columns `kept`, of
    parameters that are not on a bound; the derivatives of `undecided` ones are too inexact
    to decide whether they are identifiable. `noise` and its degrees of freedom are 1 and
    infinite if known; `coloured` replaces both unless it is white noise of one size. The
    last `priors` rows are those of priors, in units of the noise.

    Parameters
    ----------
    tangent
        Directions allowed by constraints, shape (n, n): column j is the movement for 1 of
        parameter j, and the Jacobian is that along it. ``None`` without constraints.
    within
        The only directions along which the estimate is that of least squares, as physical
        columns, shape (n, r); ``None``: all.
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
        """Number of data rows."""
        return self.residuals.size - self.priors

    @property
    def data_jacobian(self) -> F64:
        """Data rows of the Jacobian, shape (samples, n)."""
        return self.jacobian[: self.samples]

    @property
    def on_bound(self) -> npt.NDArray[np.bool_]:
        """Whether a parameter is on a bound or held by constraints, shape (n,)."""
        bound = np.ones(self.jacobian.shape[1], dtype=np.bool_)
        bound[self.kept] = False
        if self.tangent is not None:
            bound = np.asarray(~(self.tangent != 0.0).any(axis=1), dtype=np.bool_)
        return bound

    @property
    def column_norms(self) -> F64:
        """Lengths of the Jacobian's columns, shape (n,); 0 for invisible ones."""
        norms = np.zeros(self.jacobian.shape[1])
        norms[self.kept] = self.analysis.column_norms
        return norms

    @property
    def open_directions(self) -> F64:
        """Directions of the parameters that the data leave open, as columns, shape (n, d)."""
        analysis = self.analysis
        safe = np.where(analysis.column_norms > 0.0, analysis.column_norms, 1.0)
        shares = np.where(analysis.involved[:, np.newaxis], analysis.right[:, analysis.rank :], 0.0)
        directions = np.zeros((self.jacobian.shape[1], shares.shape[1]))
        directions[self.kept] = shares / safe[:, np.newaxis]
        return self._along(directions)

    def answer(self, change: F64) -> F64:
        """Return the change of the estimate by changes of the residuals, (m, h) -> (n, h).

        It does not move along open directions, and parameters on a bound stay there.
        """
        return -self._along(self._pseudo_inverse() @ change)

    def answer_to_noise(self) -> F64:
        """Return the change of the estimate by noise of one standard deviation, (n, m).

        Its product with its own transpose is the covariance.
        """
        if self.coloured is not None:
            answers = self._pseudo_inverse()
            data = self.coloured.answers(answers[:, : self.samples])
            return -self._along(np.hstack([data, self.noise * answers[:, self.samples :]]))
        return -self.noise * self._along(self._pseudo_inverse())

    def white_errors(self) -> F64:
        """Return the standard errors for white noise of one size, shape (n,)."""
        errors: F64 = self.noise * np.linalg.norm(self._along(self._pseudo_inverse()), axis=1)
        return errors

    def freedoms(self, rows: F64, known: F64 | None = None) -> F64:
        """Return the degrees of freedom of the variances of quantities, shape (h,).

        `rows` are their derivatives with respect to the parameters, shape (h, n); `known` is
        the part of each variance that is not noise, by default the contribution of priors to
        the estimate.
        """
        if self.coloured is None:
            return np.full(len(rows), self.freedom)
        answers = rows @ self._along(self._pseudo_inverse())
        data, rest = answers[:, : self.samples], self.noise * answers[:, self.samples :]
        degrees = self.coloured.freedoms(data)
        if not self.priors:
            return degrees
        # The variance that priors contribute is known.
        from_data = np.sum(self.coloured.answers(data) ** 2, axis=1)
        certain = np.sum(rest**2, axis=1) if known is None else known
        with np.errstate(invalid="ignore", divide="ignore"):
            shares: F64 = 1.0 + certain / from_data
        return degrees * shares**2

    def _along(self, movements: F64) -> F64:
        """Return movements of all parameters from those of `kept`."""
        return movements if self.tangent is None else self.tangent @ movements

    def _pseudo_inverse(self) -> F64:
        """Return the pseudo-inverse of the column-scaled Jacobian in physical units, (n, m)."""
        if self.within is not None:
            columns = self.jacobian @ self.within
            inverse = np.asarray(np.linalg.pinv(columns), dtype=np.float64)
            return np.asarray(self.within @ inverse, dtype=np.float64)
        analysis, rank = self.analysis, self.analysis.rank
        safe = np.where(analysis.column_norms > 0.0, analysis.column_norms, 1.0)
        scaled = np.where(analysis.column_norms > 0.0, self.jacobian[:, self.kept], 0.0) / safe
        right, singular = analysis.right[:, :rank], analysis.singular_values[:rank]
        left = (scaled @ right) / singular
        inverse = np.zeros(self.jacobian.T.shape)
        inverse[self.kept] = ((right / singular) @ left.T) / safe[:, np.newaxis]
        return inverse
