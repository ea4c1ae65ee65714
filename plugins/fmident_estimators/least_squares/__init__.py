"""Nonlinear least squares with bounds by trust regions.

Minimises ``1/2 sum c^2 rho((r_i/c)^2)`` over the whitened residuals ``r``, where
``rho`` is the identity by default or a robust loss of scale ``c``. SciPy searches
(Branch, Coleman and Li, SIAM J. Sci. Comput. 21, 1999). With several starts, a Latin
hypercube over the bounds, the best local minimum is returned.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("least-squares", "least_squares.estimator:LeastSquares")
