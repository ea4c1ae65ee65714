"""Nonlinear least squares with bounds by trust regions.

Minimises ``1/2 sum c^2 rho((r_i/c)^2)`` over the whitened residuals ``r``, where
``rho`` is the identity by default or a robust loss of scale ``c``. SciPy searches
(Branch, Coleman and Li, SIAM J. Sci. Comput. 21, 1999). With several starts, a Latin
hypercube over the bounds, the best local minimum is returned.
"""

from __future__ import annotations

from typing import Any

from fmident.estimation.contract import Estimator
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``least-squares``."""
    registry.add_when_used(
        "least-squares", "fmident_estimators.least_squares.estimator:LeastSquares"
    )
