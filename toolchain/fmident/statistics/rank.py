"""Rank: which directions of the parameters the Jacobian determines, in spite of its errors.

The columns of the whitened Jacobian ``J`` are scaled to unit length, ``J = J_s D``, so
that the result does not depend on units. With ``J_s = U S V^T``, the rows of
``V_r^T D`` span the linear combinations of the parameters that the data determine, and
``D^-1 V_0`` the directions in which the parameters can be moved without any effect on
the outputs (Golub and Van Loan, Matrix Computations, section 5.5).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64

INVISIBLE = 0.5
"""Ratio of the measured error of a column to its length from which it may be error alone. Scaled to
the length of the others, it would take part in their combinations."""

_SAFETY = 1.5
"""Factor on the disagreement of two estimates that may be the error of either."""

_NEGLIGIBLE = 1e-4
"""Share of a parameter in a unit null vector below which it counts as not involved."""


@dataclass(frozen=True)
class DirectionErrors:
    """Errors of a Jacobian that was computed along directions instead of columns.

    `directions` are in physical parameters, linearly independent, shape (n, n); `lengths`
    are those of the error of the derivative along each, shape (n,).
    """

    directions: F64
    lengths: F64

    def along(self, vectors: F64) -> F64:
        """Return a bound of the error of the derivative along vectors, (n, k) -> (k,)."""
        shares: F64 = np.abs(np.linalg.solve(self.directions, vectors)).T @ self.lengths
        return shares


@dataclass(frozen=True)
class RankAnalysis:
    """Singular value decomposition of the column-scaled Jacobian, with its numerical rank.

    `column_norms` are the lengths of the Jacobian's columns, and `right` are the right
    singular vectors as columns, shape (n, n), in scaled parameters ``column_norms * p``.
    The rank is the number of leading singular values (descending) above their `tolerance`;
    `involved` are the parameters in undetermined directions. The others have the shape
    (n,).
    """

    column_norms: F64
    singular_values: F64
    right: F64
    tolerance: F64
    rank: int
    involved: npt.NDArray[np.bool_]

    @property
    def without_influence(self) -> npt.NDArray[np.bool_]:
        """Whether the column of a parameter is zero, shape (n,)."""
        zero: npt.NDArray[np.bool_] = self.column_norms == 0.0
        return zero

    @property
    def lengths(self) -> F64:
        """Lengths of the columns to divide by: 1 for those that are zero, shape (n,)."""
        return np.where(self.column_norms > 0.0, self.column_norms, 1.0)

    @property
    def back(self) -> F64:
        """The pseudo-inverse over the left singular vectors, in physical units, shape (n, rank).

        Its product with its own transpose is the pseudo-inverse of ``J^T J``.
        """
        leading: F64 = self.right[:, : self.rank] / self.singular_values[: self.rank]
        return leading / self.lengths[:, np.newaxis]

    def scaled(self, jacobian: F64) -> F64:
        """Return a Jacobian with columns of unit length, zero for parameters without influence."""
        return np.where(self.column_norms > 0.0, jacobian, 0.0) / self.lengths

    @property
    def blur(self) -> float:
        """Uncertainty of the null vectors: tolerance over the gap to the next singular value."""
        smallest_kept = float(self.singular_values[self.rank - 1]) if self.rank else 1.0
        return float(self.tolerance[self.rank :].max(initial=0.0)) / smallest_kept


def scaled_jacobian_error(column_norms: F64, column_errors: F64) -> float:
    """Return the Frobenius norm of the error of the column-scaled Jacobian."""
    used = column_norms > 0.0
    ratio = column_errors[used] / column_norms[used]
    return float(np.linalg.norm(ratio))


def analyse_rank(
    jacobian: F64,
    column_errors: F64 | None = None,
    spread: F64 | None = None,
) -> RankAnalysis:
    """Decompose a Jacobian and determine its numerical rank.

    A singular value counts as zero if rounding or the known error of the Jacobian can
    explain it: by Weyl's inequality an error matrix ``E`` changes a singular value by at
    most ``||E||``, and to first order by the error along its singular vector, which is used
    if it is known. A column that is no longer than its own error counts as zero.

    `jacobian` is whitened and finite; `column_errors` are the lengths of the errors of its
    columns, ``None`` if exact. `spread`, the difference of two independent estimates of the
    Jacobian, measures its error along any direction and replaces `column_errors`.
    """
    rows, columns = jacobian.shape
    norms: F64 = np.linalg.norm(jacobian, axis=0)
    if spread is not None:
        column_errors = np.linalg.norm(spread, axis=0) / INVISIBLE
    if column_errors is not None:
        norms = np.where(norms <= column_errors, 0.0, norms)
    safe = np.where(norms > 0.0, norms, 1.0)
    scaled = np.where(norms > 0.0, jacobian, 0.0) / safe
    # The R factor has the singular values of the whole and is small; it is (n, n) for m >= n.
    triangle = np.linalg.qr(scaled, mode="r")
    _, values, right_t = np.linalg.svd(triangle, full_matrices=True)
    right: F64 = right_t.T
    singular = np.zeros(columns)
    singular[: values.size] = values
    rounding = max(rows, columns) * float(np.finfo(np.float64).eps)
    tolerance = np.full(columns, rounding * float(singular.max(initial=0.0)))
    if spread is not None:
        apart = np.linalg.qr(np.where(norms > 0.0, spread, 0.0) / safe, mode="r")
        tolerance = np.maximum(tolerance, _SAFETY * np.linalg.norm(apart @ right, axis=0))
    elif column_errors is not None:
        tolerance = np.maximum(tolerance, scaled_jacobian_error(norms, column_errors))
    rank = int(np.count_nonzero(np.cumprod(singular > tolerance)))
    nobody = np.zeros(columns, dtype=np.bool_)
    analysis = RankAnalysis(norms, singular, right, tolerance, rank, nobody)
    # Smaller shares in a null vector than it is known to mean nothing.
    least = min(0.1, max(_NEGLIGIBLE, 3.0 * analysis.blur))
    return replace(analysis, involved=np.linalg.norm(right[:, rank:], axis=1) > least)


def null_space(jacobian: F64, missing: int) -> F64:
    """Return an orthonormal basis of the directions without effect, shape (n, missing)."""
    analysis = analyse_rank(jacobian)
    directions = analysis.right[:, -missing:] / analysis.lengths[:, np.newaxis]
    return np.linalg.qr(directions)[0]


def standard_error_doubts(jacobian: F64, spread: F64, analysis: RankAnalysis) -> F64:
    """Return the relative change of the standard errors with the Jacobian, shape (n,).

    They are computed again with each of two Jacobians at the same distance from this one as
    the two estimates for its verification, whose difference is `spread`, from each other.
    Undetermined directions are the same in both. Infinite if another estimate leaves a
    direction undetermined; 0 for parameters without standard error.
    """
    rank = analysis.rank
    right = analysis.right[:, :rank]
    if rank == 0:
        return np.zeros(right.shape[0])
    both = np.column_stack([analysis.scaled(part) @ right for part in (jacobian, spread)])
    triangle = np.asarray(np.linalg.qr(both, mode="r"), dtype=np.float64)
    plain, apart = triangle[:, :rank], triangle[:, rank:]
    reference = _scaled_errors(plain, right)
    doubts = np.zeros(right.shape[0])
    for sign in (1.0, -1.0):
        other = _scaled_errors(plain + sign * apart, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(other / reference - 1.0)
        doubts = np.maximum(doubts, np.where(reference > 0.0, change, 0.0))
    doubts[analysis.involved] = 0.0
    return doubts


def _scaled_errors(matrix: F64, right: F64) -> F64:
    """Return the standard errors in scaled parameters for noise of 1, shape (n,)."""
    _, values, rotation = np.linalg.svd(matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (right @ rotation.T) / values
    errors: F64 = np.linalg.norm(np.where(np.isnan(shares), 0.0, shares), axis=1)
    return errors
