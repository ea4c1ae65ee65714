"""The Kalman-Bucy filter of constant parameters: recursive least squares with forgetting.

Source: M. Oueslati, S. Thiery, O. Gibaru, R. Bearee, G. Moraru, On algebraic approach for MSD
parametric estimation, IMAACA 2011, section 3; see also L. Ljung and T. Soderstrom, Theory and
Practice of Recursive Identification, 1983.
"""

from __future__ import annotations

from fmident_estimators import registers

fmident_register_estimators = registers("kalman-bucy", "kalman_bucy.estimator:KalmanBucyEstimator")
