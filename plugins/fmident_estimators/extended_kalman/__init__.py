"""Extended Kalman filter: online estimation of the states and parameters of any FMU.

Source: L. Ljung, Asymptotic behavior of the extended Kalman filter as a parameter
estimator for linear systems, IEEE Trans. Automatic Control 24, 1979; A. Gelb (ed.),
Applied Optimal Estimation, 1974, chapter 6. The derivatives are finite differences of
simulations over one sampling interval.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers(
    "extended-kalman", "extended_kalman.estimator:ExtendedKalman"
)
