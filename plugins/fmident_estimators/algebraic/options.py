"""Options of the estimator ``algebraic``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from fmident.options import INSIDE_UNIT, POSITIVE
from fmident_estimators.algebraic.weights import Quadrature
from fmident_estimators.linear_equation import EquationOptions


@dataclass(frozen=True)
class AlgebraicOptions(EquationOptions):
    """The equation, the window, and how the estimates of all windows become one.

    Parameters
    ----------
    window
        Length of the sliding window, s; by default a tenth of the experiment.
    mu
        Power of 1/s in the first row; 0 for order + 1. Larger values smooth more.
    rows
        Rows mu, mu + 1, ...; 0 for as many as there are unknowns. With more, each window is
        solved by least squares.
    quadrature
        See :func:`~fmident_estimators.algebraic.weights.row_weights`.
    singular
        A window counts as singular when the scaled matrix's triangular factor has a diagonal
        element smaller than this times the largest.
    precision
        Free parameter to the largest predicted standard error, relative to the estimate, with
        which a window still counts; others are flagged as singular, and the estimate before
        holds. Needs the output's sigma. By default only exactly singular windows are left out.
    final
        The estimate that is returned: ``"weighted"``, the mean of all windows, each weighted by
        its inverse predicted variance; or ``"last"``, for parameters that change.
    """

    window: Annotated[float | None, POSITIVE] = None
    mu: int = 0
    rows: int = 0
    quadrature: Quadrature = "product-4"
    singular: Annotated[float, INSIDE_UNIT] = 1e-10
    precision: dict[str, Annotated[float, POSITIVE]] = field(default_factory=dict)
    final: Literal["weighted", "last"] = "weighted"
