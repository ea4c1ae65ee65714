"""Least squares for the base parameters, weights per output, bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fmident.arrays import F64
from fmident_estimators.linear_regression.base_parameters import BaseParameters

_ITERATIONS = 50
_SETTLED = 1e-8

_PULL = 1e-6
"""Weight of the wish to stay at the chosen dependent parameters, relative to the data."""


@dataclass(frozen=True)
class Regression:
    """Weighted least squares ``min ||w (y - columns b)||``.

    Parameters
    ----------
    values
        Shape (b,).
    triangle, right
        ``||w (y - columns b)||^2 = ||right - triangle b||^2`` + constant; shapes (b, b), (b,).
    condition
        Condition number of the weighted columns scaled to unit length: 1 is best.
    residuals
        Weighted, shape (m,).
    freedom
        Number of residuals of non-zero weight minus parameters.
    """

    values: F64
    triangle: F64
    right: F64
    condition: float
    residuals: F64
    freedom: int

    def covariance(self, *, sigma_known: bool) -> F64:
        """Return the covariance of the values, shape (b, b)."""
        inverse = np.linalg.inv(self.triangle)
        variance = 1.0
        if not sigma_known:
            squares = float(self.residuals @ self.residuals)
            variance = squares / self.freedom if self.freedom > 0 else float("nan")
        found: F64 = variance * inverse @ inverse.T
        return found


def least_squares(columns: F64, y: F64, weights: F64) -> Regression:
    """Solve the weighted problem by QR of the columns scaled to unit length.

    Parameters
    ----------
    columns
        Shape (m, b), of full rank.
    y
        Shape (m,).
    weights
        Shape (m,).
    """
    weighted = columns * weights[:, np.newaxis]
    lengths = np.linalg.norm(weighted, axis=0)
    q, r = np.linalg.qr(weighted / lengths)
    right = q.T @ (weights * y)
    scaled = np.linalg.solve(r, right)
    triangle = r * lengths
    values = scaled / lengths
    residuals = weights * (y - columns @ values)
    freedom = int(np.count_nonzero(weights)) - values.size
    return Regression(values, triangle, right, float(np.linalg.cond(r)), residuals, freedom)


def reweighted(
    columns: F64, y: F64, used: npt.NDArray[np.bool_], groups: Sequence[npt.NDArray[np.intp]]
) -> tuple[Regression, F64, int]:
    """Weight each output by the inverse of the standard deviation of its residuals.

    The deviations follow from the residuals of the solution before, until they settle
    (feasible generalised least squares).

    Parameters
    ----------
    columns, y
        As in :func:`least_squares`.
    used
        Which rows count, shape (m,).
    groups
        Rows of each output.

    Returns
    -------
    regression, weights, iterations
    """
    weights = used.astype(np.float64)
    found = least_squares(columns, y, weights)
    groups = [rows[used[rows]] for rows in groups]
    groups = [rows for rows in groups if rows.size]
    share = found.values.size / len(groups)  # of the parameters, as if spread evenly
    rounding = float(np.finfo(np.float64).eps * np.abs(y[used]).max()) or 1.0
    before = np.ones(len(groups))
    iteration = 0
    settled = False
    while not settled and iteration < _ITERATIONS:
        iteration += 1
        plain = y - columns @ found.values
        deviations = np.array(
            [np.linalg.norm(plain[rows]) / np.sqrt(max(rows.size - share, 1.0)) for rows in groups]
        )
        # An output that is met exactly would get all the weight; where all are, rounding counts.
        deviations = np.maximum(deviations, max(1e-9 * float(deviations.max()), rounding))
        for rows, deviation in zip(groups, deviations, strict=True):
            weights[rows] = 1.0 / deviation
        found = least_squares(columns, y, weights)
        settled = bool(np.all(np.abs(deviations - before) <= _SETTLED * deviations))
        before = deviations
    return found, weights, iteration


def within_bounds(
    regression: Regression, base: BaseParameters, chosen: F64, lower: F64, upper: F64
) -> F64:
    """Return the parameters of least squares inside the bounds, shape (n,).

    All parameters move, dependent ones too, so that a bound costs as little as possible;
    where the data do not mind they stay at `chosen`.

    Parameters
    ----------
    regression
        Without bounds.
    base
        Mapping to all parameters.
    chosen
        Solution without bounds, shape (n,).
    lower, upper
        Shape (n,).
    """
    from scipy import optimize  # here, since it is slow to import and seldom needed

    active = [*base.independent, *base.dependent]
    fixed = lower == upper
    active = [j for j in active if not fixed[j]]
    start = np.clip(chosen, lower, upper)
    matrix = regression.triangle @ base.mapping[:, active]
    lengths = np.linalg.norm(matrix, axis=0)
    rest = [j for j in range(chosen.size) if j not in active]
    target = regression.right - regression.triangle @ (base.mapping[:, rest] @ start[rest])
    pull = _PULL * np.eye(len(active))
    solution = optimize.lsq_linear(
        np.vstack([matrix / lengths, pull]),
        np.concatenate([target, pull @ (start[active] * lengths)]),
        bounds=(lower[active] * lengths, upper[active] * lengths),
        method="bvls",
    )
    found = start.copy()
    found[active] = np.clip(solution.x / lengths, lower[active], upper[active])
    return found
