"""Linear regression: models whose outputs are linear in the parameters, in one step.

The inverse dynamics of a rigid multibody system are linear in its standard inertial
parameters, and so are Coulomb and viscous friction; the regressor takes as many
simulations as there are parameters. Only some combinations can be identified: these
base parameters are determined from the energies of the FMU at random states (Gautier,
"Numerical calculation of the base inertial parameters of robots", ICRA 1990; for closed
loops: the paper on linear-regression-based identification of closed-loop multibody
systems, equations 1 to 10).
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers(
    "linear-regression", "linear_regression.estimator:LinearRegression"
)
