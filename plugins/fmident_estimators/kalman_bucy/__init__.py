"""The Kalman-Bucy filter of constant parameters: recursive least squares with forgetting.

Source: M. Oueslati, S. Thiery, O. Gibaru, R. Bearee, G. Moraru, On algebraic approach for MSD
parametric estimation, IMAACA 2011, section 3; see also L. Ljung and T. Soderstrom, Theory and
Practice of Recursive Identification, 1983.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident._lazy import lazy_face
from fmident.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry
    from fmident_estimators.kalman_bucy.estimator import (
        KalmanBucyEstimator,
        KalmanBucyOptions,
        best_ratio,
        unit_response,
        variance_factor,
    )
    from fmident_estimators.kalman_bucy.recursion import (
        Differentiator,
        KalmanBucy,
        differentiator,
        finite_differences,
    )

__all__ = [
    "Differentiator",
    "KalmanBucy",
    "KalmanBucyEstimator",
    "KalmanBucyOptions",
    "best_ratio",
    "differentiator",
    "finite_differences",
    "fmident_register_estimators",
    "unit_response",
    "variance_factor",
]

__getattr__, _ = lazy_face(  # nothing is imported before it is used
    __name__,
    {
        "Differentiator": "recursion",
        "KalmanBucy": "recursion",
        "KalmanBucyEstimator": "estimator",
        "KalmanBucyOptions": "estimator",
        "best_ratio": "estimator",
        "differentiator": "recursion",
        "finite_differences": "recursion",
        "unit_response": "estimator",
        "variance_factor": "estimator",
    },
)


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``kalman-bucy``."""
    registry.add_when_used(
        "kalman-bucy", "fmident_estimators.kalman_bucy.estimator:KalmanBucyEstimator"
    )
