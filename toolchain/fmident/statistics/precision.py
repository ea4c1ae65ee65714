"""What inexact derivatives do to standard errors."""

from __future__ import annotations

import numpy as np

from fmident.arrays import F64
from fmident.statistics.identifiability import RankAnalysis

ALLOWED = 0.03
"""Relative change of a standard error that the derivatives may leave open."""


def standard_error_doubts(jacobian: F64, spread: F64, analysis: RankAnalysis) -> F64:
    """Return by how much the standard errors change with the estimate of the Jacobian, shape (n,).

    They are computed again with each of two Jacobians that are as far from this one as the two
    estimates that it was verified with are from each other. Both have the same undetermined
    directions, of which nothing is said.

    Parameters
    ----------
    jacobian
        Whitened, shape (m, n).
    spread
        Difference of two independent estimates of it, shape (m, n).
    analysis
        Of the Jacobian.

    Returns
    -------
    numpy.ndarray
        Relative; infinite where another estimate leaves a direction undetermined; 0 for parameters
        that have no standard error.
    """
    rank = analysis.rank
    right = analysis.right[:, :rank]
    if rank == 0:
        return np.zeros(right.shape[0])
    safe = np.where(analysis.column_norms > 0.0, analysis.column_norms, 1.0)
    seen = analysis.column_norms > 0.0
    both = np.column_stack(
        [(np.where(seen, part, 0.0) / safe) @ right for part in (jacobian, spread)]
    )
    triangle = np.asarray(np.linalg.qr(both, mode="r"), dtype=np.float64)
    plain, apart = triangle[:, :rank], triangle[:, rank:]
    reference = _sizes(plain, right)
    doubts = np.zeros(right.shape[0])
    for sign in (1.0, -1.0):
        other = _sizes(plain + sign * apart, right)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = np.abs(other / reference - 1.0)
        doubts = np.maximum(doubts, np.where(reference > 0.0, change, 0.0))
    doubts[analysis.involved] = 0.0
    return doubts


def _sizes(matrix: F64, right: F64) -> F64:
    """Return the standard errors in scaled parameters for noise of 1, shape (n,)."""
    _, values, rotation = np.linalg.svd(matrix)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (right @ rotation.T) / values
    found: F64 = np.linalg.norm(np.where(np.isnan(shares), 0.0, shares), axis=1)
    return found
