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

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.linear_regression.base_parameters import BaseParameters, find_base
    from fmident_estimators.linear_regression.estimator import (
        LinearRegression,
        LinearRegressionOptions,
    )

__all__ = [
    "BaseParameters",
    "LinearRegression",
    "LinearRegressionOptions",
    "find_base",
    "fmident_register_estimators",
]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "BaseParameters": "base_parameters",
        "LinearRegression": "estimator",
        "LinearRegressionOptions": "estimator",
        "find_base": "base_parameters",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``linear-regression``."""
    registry.add_when_used(
        "linear-regression", "fmident_estimators.linear_regression.estimator:LinearRegression"
    )
