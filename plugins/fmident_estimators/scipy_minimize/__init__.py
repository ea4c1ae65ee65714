"""Search with constraints between parameters.

Conn, Gould and Toint, Trust-Region Methods, 2000 (``trust-constr``); Kraft, A Software
Package for Sequential Quadratic Programming, DFVLR-FB 88-28, 1988 (``SLSQP``). The
implementations are SciPy's.

These methods do not use that the cost is a sum of squares: near its minimum they
converge slowly and end early. Constrained Gauss-Newton steps continue from there. Each
minimises the linearised residuals subject to the linearised constraints (Schittkowski,
Solving nonlinear least squares problems by a general purpose SQP method, 1988), and is
shortened if it does not lower a merit function of cost and violation. Along a bent
valley it is first corrected with the derivatives at its start (the second-order
correction of Fletcher, Practical Methods of Optimization, 2nd ed., 1987, section 14.4).
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("scipy-minimize", "scipy_minimize.estimator:ScipyMinimize")
