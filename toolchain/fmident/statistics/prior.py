"""Priors as further rows of a least-squares problem, with known noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident.problem.priors import Priors
from fmident.statistics.rank import INVISIBLE

if TYPE_CHECKING:
    from fmident.problem.model import Problem


@dataclass(frozen=True, eq=False)
class PriorRows:
    """The q priors at the solution.

    `deviations` are the distances above the prior's centre in standard deviations, shape
    (q,), and `slopes` their derivatives with respect to the physical parameters, shape
    (q, n).
    """

    deviations: F64
    slopes: F64

    @classmethod
    def at(cls, problem: Problem, p: F64) -> PriorRows | None:
        """Return the priors of a problem at a point, shape (n,); ``None`` if no prior counts."""
        priors = Priors.of(problem)
        return cls(priors.deviations(p), priors.slopes(p)) if priors.count else None

    def along(self, basis: F64) -> PriorRows:
        """Return the priors for parameters that move along the columns of a basis, (n, n)."""
        return replace(self, slopes=self.slopes @ basis)

    def below(
        self, jacobian: F64, residuals: F64, spread: F64 | None, noise: float
    ) -> tuple[F64, F64, F64 | None]:
        """Return a least-squares problem with the priors as further rows, scaled by the noise."""
        rows = np.vstack([jacobian, noise * self.slopes])
        right = np.concatenate([residuals, noise * self.deviations])
        return rows, right, None if spread is None else np.vstack([spread, 0.0 * self.slopes])

    def without_invisible(
        self, jacobian: F64, spread: F64 | None, column_errors: F64 | None
    ) -> tuple[F64, F64 | None, F64 | None]:
        """Return derivatives of the data without columns that are smaller than their own errors.

        Only columns of parameters with a prior are dropped: the prior is exact and should not be
        obscured by these errors. The others are those of
        :func:`~fmident.statistics.rank.analyse_rank`.
        """
        errors = column_errors if spread is None else np.linalg.norm(spread, axis=0) / INVISIBLE
        if errors is None:
            return jacobian, None, None
        hidden = np.linalg.norm(jacobian, axis=0) <= errors
        hidden &= (self.slopes != 0.0).any(axis=0)
        seen = np.where(hidden, 0.0, 1.0)
        return (
            jacobian * seen,
            None if spread is None else spread * seen,
            None if column_errors is None else column_errors * seen,
        )
