"""Nonlinear least squares with bounds: Levenberg-Marquardt and trust regions.

Minimises ``1/2 sum c^2 rho((r_i/c)^2)`` over the whitened residuals ``r``, where
``rho`` is the identity by default or a robust loss of scale ``c``. Two solvers share
options, losses and stopping rules: Ceres (Levenberg-Marquardt; Agarwal, Mierle and
others, Ceres Solver) and SciPy (trust regions; Branch, Coleman and Li, SIAM J. Sci.
Comput. 21, 1999). With several starts, a Latin hypercube over the bounds, the best
local minimum is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.least_squares.estimator import LeastSquares
    from fmident_estimators.least_squares.options import LeastSquaresOptions

__all__ = ["LeastSquares", "LeastSquaresOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "LeastSquares": "estimator",
        "LeastSquaresOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``least-squares``."""
    registry.add_when_used(
        "least-squares", "fmident_estimators.least_squares.estimator:LeastSquares"
    )
