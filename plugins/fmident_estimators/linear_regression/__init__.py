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

from typing import Any

from fmident.estimation.contract import Estimator
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``linear-regression``."""
    registry.add_when_used(
        "linear-regression", "fmident_estimators.linear_regression.estimator:LinearRegression"
    )
