"""Uncertainty at the final parameters, from a Jacobian that is accurate enough for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from fmident._types import F64
from fmident.evaluation import Evaluator
from fmident.statistics import (
    DirectionErrors,
    ParameterStatistics,
    ResidualScores,
    analyse_rank,
    parameter_statistics,
    scaled_jacobian_error,
)

if TYPE_CHECKING:
    from fmident.problem.model import Problem

_ACCURATE = 0.02
"""Error of the Jacobian in relation to the smallest singular value that does no harm: the
standard errors are off by about as much."""

_INVISIBLE = 0.5
"""A column counts as hardly visible from this ratio of its error to its length."""


def uncertainty(
    problem: Problem,
    evaluator: Evaluator,
    p: F64,
    held: npt.NDArray[np.bool_],
    weights: F64 | None = None,
    scores: ResidualScores | None = None,
) -> ParameterStatistics:
    """Return covariance, intervals and rank at `p`.

    The search gets along with forward differences. Where their error could change the standard
    errors or the rank, the derivatives are computed again by central differences, along the
    singular directions of the Jacobian.

    Parameters
    ----------
    problem, evaluator
        Of the run.
    p
        Free parameters, shape (n,).
    held
        Which of them lie on a bound, shape (n,).
    weights
        Of the whitened residuals, shape (m,); those of weight zero do not count.
    scores
        Of the residuals, where a robust loss was minimised; not together with `weights`.

    Raises
    ------
    fmident.evaluation.JacobianError
        The Jacobian cannot be computed.
    """
    jacobian, residuals = evaluator.jacobian(p), evaluator.residuals(p)
    factors = np.ones(residuals.size) if weights is None else weights
    used = factors != 0.0
    factors = factors[used]
    jacobian = jacobian[used] * factors[:, np.newaxis]
    errors = evaluator.column_errors(p)
    if errors is not None and weights is not None:
        errors = errors * float(np.sqrt(np.mean(factors**2)))
    kept = np.flatnonzero(~held)
    refined: DirectionErrors | None = None
    if (
        errors is not None
        and kept.size
        and not evaluator.jacobian_is_given(p)
        and not _accurate(jacobian[:, kept], errors[kept])
    ):
        directions = _singular_directions(jacobian[:, kept], errors[kept])
        full = np.zeros((p.size, kept.size))
        full[kept] = directions
        found = evaluator.directional_derivatives(p, full)
        if bool(np.isfinite(found.values).all()):
            along = found.values[used] * factors[:, np.newaxis]
            jacobian[:, kept] = np.linalg.solve(directions.T, along.T).T
            scale = 1.0 if weights is None else float(np.max(np.abs(factors)))
            refined = DirectionErrors(directions, scale * found.errors)
    return parameter_statistics(
        jacobian,
        residuals[used] * factors,
        p,
        [q.name for q in problem.free],
        sigma_known=problem.sigma_known,
        at_bound=held,
        column_errors=errors,
        direction_errors=refined,
        scores=scores,
    )


def _accurate(jacobian: F64, errors: F64) -> bool:
    """Return whether the error of the columns matters neither for rank nor for covariance."""
    analysis = analyse_rank(jacobian)
    if bool((analysis.column_norms <= errors).any()):
        return False
    smallest = float(analysis.singular_values[-1])
    return scaled_jacobian_error(analysis.column_norms, errors) <= _ACCURATE * smallest


def _singular_directions(jacobian: F64, errors: F64) -> F64:
    """Return the singular directions in physical parameters as columns, shape (n, n).

    In each the scaled parameters move by 1 in total. A column that its error hides has the
    error for its scale.
    """
    norms = np.maximum(np.linalg.norm(jacobian, axis=0), errors)
    norms = np.where(norms > 0.0, norms, 1.0)
    hidden = norms <= errors / _INVISIBLE
    scaled = jacobian / norms
    scaled[:, hidden] = 0.0
    _, _, right = np.linalg.svd(np.linalg.qr(scaled, mode="r"), full_matrices=True)
    directions: F64 = right.T / norms[:, np.newaxis]
    return directions
