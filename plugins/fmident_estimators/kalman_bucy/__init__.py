"""The Kalman-Bucy filter of constant parameters: recursive least squares with forgetting.

Source: M. Oueslati, S. Thiery, O. Gibaru, R. Bearee, G. Moraru, On algebraic approach for MSD
parametric estimation, IMAACA 2011, section 3; see also L. Ljung and T. Soderstrom, Theory and
Practice of Recursive Identification, 1983.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fmident.plugins.hookspecs import hookimpl
from fmident_estimators.kalman_bucy.differentiator import Differentiator, differentiator
from fmident_estimators.kalman_bucy.estimator import KalmanBucyEstimator, KalmanBucyOptions
from fmident_estimators.kalman_bucy.excitation import best_ratio, unit_response, variance_factor
from fmident_estimators.kalman_bucy.recursion import KalmanBucy

if TYPE_CHECKING:
    from fmident.estimation.contract import Estimator
    from fmident.plugins.registry import Registry

__all__ = [
    "Differentiator",
    "KalmanBucy",
    "KalmanBucyEstimator",
    "KalmanBucyOptions",
    "best_ratio",
    "differentiator",
    "fmident_register_estimators",
    "unit_response",
    "variance_factor",
]


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``kalman-bucy``."""
    registry.add(KalmanBucyEstimator.name, KalmanBucyEstimator)
