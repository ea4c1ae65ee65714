"""Robust losses: the cost is ``1/2 sum c^2 rho(s_i)`` with ``s_i = (r_i/c)^2`` and a scale ``c``.

========  ======================================
name      rho(s)
========  ======================================
linear    s
huber     s for s <= 1, else 2 sqrt(s) - 1
soft_l1   2 (sqrt(1 + s) - 1)
cauchy    log(1 + s)
========  ======================================

SciPy's ``loss`` with ``f_scale = c`` is the same. ``1/2 sum q_i^2`` with
``q_i = sign(r_i) c sqrt(rho(s_i))`` is the same cost, too (section 4.3 of Triggs and others,
Bundle Adjustment - A Modern Synthesis, discusses such reweighting).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from fmident.arrays import F64
from fmident.statistics.residuals import ResidualScores

LossName = Literal["linear", "huber", "soft_l1", "cauchy"]


def rho(loss: LossName, s: F64) -> tuple[F64, F64]:
    """Return the loss and its derivative with respect to `s`, each of the shape of `s`."""
    if loss == "linear":
        return s, np.ones_like(s)
    if loss == "huber":
        root = np.sqrt(np.maximum(s, 1.0))
        return np.where(s <= 1.0, s, 2.0 * root - 1.0), 1.0 / root
    if loss == "soft_l1":
        root = np.sqrt(1.0 + s)
        # 2 (root - 1) without cancellation for small s.
        return 2.0 * s / (1.0 + root), 1.0 / root
    return np.log1p(s), 1.0 / (1.0 + s)


def robust_cost(loss: LossName, scale: float, residuals: F64) -> float:
    """Return ``1/2 sum c^2 rho((r/c)^2)``; infinite where a residual is not finite."""
    if not bool(np.isfinite(residuals).all()):
        return float("inf")
    with np.errstate(over="ignore"):
        value, _ = rho(loss, (residuals / scale) ** 2)
    return 0.5 * scale**2 * float(np.sum(value))


def robust_residuals(loss: LossName, scale: float, residuals: F64) -> tuple[F64, F64]:
    """Return residuals ``q`` whose squares sum to the robust cost, and ``dq/dr``."""
    if loss == "linear":
        return residuals, np.ones_like(residuals)
    s = (residuals / scale) ** 2
    value, slope = rho(loss, s)
    ratio = np.sqrt(np.divide(s, value, out=np.ones_like(s), where=value > 0.0))
    return np.sign(residuals) * scale * np.sqrt(value), slope * ratio


def scores(loss: LossName, scale: float, residuals: F64) -> ResidualScores:
    """Return the first and second derivatives of the cost with respect to the residuals."""
    s = (residuals / scale) ** 2
    _, slope = rho(loss, s)
    if loss == "huber":
        bend = np.where(s <= 1.0, 1.0, 0.0)
    elif loss == "soft_l1":
        bend = (1.0 + s) ** -1.5
    elif loss == "cauchy":
        bend = (1.0 - s) / (1.0 + s) ** 2
    else:
        bend = np.ones_like(s)
    return ResidualScores(residuals * slope, bend)
