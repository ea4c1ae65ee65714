"""Extended Kalman filter: states and parameters of any FMU, online.

Source: L. Ljung, Asymptotic behavior of the extended Kalman filter as a parameter estimator for
linear systems, IEEE Trans. Automatic Control 24, 1979; A. Gelb (ed.), Applied Optimal
Estimation, 1974, chapter 6. The derivatives are finite differences of simulations over one
sampling interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.extended_kalman.estimator import ExtendedKalman
    from fmident_estimators.extended_kalman.options import ExtendedKalmanOptions

__all__ = ["ExtendedKalman", "ExtendedKalmanOptions", "fmident_register_estimators"]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "ExtendedKalman": "estimator",
        "ExtendedKalmanOptions": "options",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``extended-kalman``."""
    registry.add_when_used(
        "extended-kalman", "fmident_estimators.extended_kalman.estimator:ExtendedKalman"
    )
