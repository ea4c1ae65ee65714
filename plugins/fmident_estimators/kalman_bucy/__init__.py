"""The Kalman-Bucy filter of constant parameters: recursive least squares with forgetting.

Source: M. Oueslati, S. Thiery, O. Gibaru, R. Bearee, G. Moraru, On algebraic approach for MSD
parametric estimation, IMAACA 2011, section 3; see also L. Ljung and T. Soderstrom, Theory and
Practice of Recursive Identification, 1983.
"""

from __future__ import annotations

from typing import Any

from fmident.estimation.contract import Estimator
from fmident.plugins.hookspecs import hookimpl
from fmident.plugins.registry import Registry


@hookimpl
def fmident_register_estimators(registry: Registry[type[Estimator[Any]]]) -> None:
    """Register ``kalman-bucy``."""
    registry.add_when_used(
        "kalman-bucy", "fmident_estimators.kalman_bucy.estimator:KalmanBucyEstimator"
    )
