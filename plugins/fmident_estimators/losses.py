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

Rows of priors follow those of the data. They have no outliers, and count with their squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fmident.arrays import F64
from fmident.errors import Code, ProblemError
from fmident.problem.model import Problem
from fmident.problem.priors import Priors
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


@dataclass(frozen=True)
class Loss:
    """A loss of some scale on residuals but for the last ones, a number of `priors`."""

    name: LossName = "linear"
    scale: float = 1.0
    priors: int = 0

    @classmethod
    def of(cls, problem: Problem, name: LossName, scale: float) -> Loss:
        """Return the loss on the rows of a problem.

        Raises `ProblemError` for a robust loss beside priors where the noise is not known: how
        much priors count follows from squares of residuals, which outliers make.
        """
        priors = Priors.of(problem).count if name != "linear" else 0
        if priors and not problem.sigma_known:
            raise ProblemError(
                f"how much priors count beside the loss '{name}' is not known without sigma",
                hint='give each output its sigma, use loss = "linear", or remove the priors',
                code=Code.NOT_SUPPORTED,
            )
        return cls(name, scale, priors)

    @property
    def robust(self) -> bool:
        """Whether it differs from the sum of squares."""
        return self.name != "linear"

    @property
    def note(self) -> str:
        """What a result of a robust loss says of it."""
        return (
            f"The loss '{self.name}' was minimised; the cost shown is half the plain sum of"
            " squares. The intervals are those of this loss, with the noise that the residuals"
            " show: outliers widen them little."
        )

    @property
    def scipy(self) -> Any:
        """The argument ``loss`` of ``scipy.optimize.least_squares``."""
        return self._of_all_rows if self.priors else self.name

    def _of_all_rows(self, s: F64) -> F64:
        """Return ``rho(s)`` and its first and second derivative, (m,) -> (3, m)."""
        count = s.size - self.priors
        rows = np.vstack([s, np.ones_like(s), np.zeros_like(s)])
        rows[0, :count], rows[1, :count] = rho(self.name, s[:count])
        # The second derivative of the loss by the residual is rho' + 2 s rho''.
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = (_bend(self.name, s[:count]) - rows[1, :count]) / (2.0 * s[:count])
        rows[2, :count] = np.where(s[:count] > 0.0, bend, 0.0)
        return rows

    def cost(self, residuals: F64) -> float:
        """Return ``1/2 sum c^2 rho((r/c)^2)``; infinite where a residual is not finite."""
        if not bool(np.isfinite(residuals).all()):
            return float("inf")
        count = residuals.size - self.priors
        with np.errstate(over="ignore"):
            value, _ = rho(self.name, (residuals[:count] / self.scale) ** 2)
        squares = float(residuals[count:] @ residuals[count:])
        return 0.5 * (self.scale**2 * float(np.sum(value)) + squares)

    def residuals(self, residuals: F64) -> tuple[F64, F64]:
        """Return residuals ``q`` whose squares sum to the cost, and ``dq/dr``."""
        slopes = np.ones_like(residuals)
        if not self.robust:
            return residuals, slopes
        weighted, data = residuals.copy(), residuals[: residuals.size - self.priors]
        s = (data / self.scale) ** 2
        value, slope = rho(self.name, s)
        ratio = np.sqrt(np.divide(s, value, out=np.ones_like(s), where=value > 0.0))
        weighted[: data.size] = np.sign(data) * self.scale * np.sqrt(value)
        slopes[: data.size] = slope * ratio
        return weighted, slopes

    def scores(self, residuals: F64) -> ResidualScores | None:
        """Return the derivatives of the cost by the residuals of the data, if it is robust.

        ``None`` also if a residual is not finite.
        """
        if not self.robust or not bool(np.isfinite(residuals).all()):
            return None
        data = residuals[: residuals.size - self.priors]
        s = (data / self.scale) ** 2
        _, slope = rho(self.name, s)
        return ResidualScores(data * slope, _bend(self.name, s))


def _bend(loss: LossName, s: F64) -> F64:
    """Return the second derivative of the cost by the residual."""
    if loss == "huber":
        return np.where(s <= 1.0, 1.0, 0.0)
    if loss == "soft_l1":
        return np.asarray((1.0 + s) ** -1.5)
    if loss == "cauchy":
        return (1.0 - s) / (1.0 + s) ** 2
    return np.ones_like(s)
