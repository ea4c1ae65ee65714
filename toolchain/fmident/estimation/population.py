"""The vectors that a population method evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True)
class Generation:
    """Simulated vectors of one generation, in their order.

    `points` are free parameters in physical units, shape (k, n); `costs` are infinite where
    the simulation failed; the stage's name is empty in a problem without stages.
    """

    points: F64
    costs: F64
    stage: str = ""

    @classmethod
    def of(cls, points: F64, costs: F64, stage: str = "") -> Generation:
        """Return a generation with read-only copies; ``ValueError`` if the shapes do not fit."""
        vectors = np.array(points, dtype=np.float64, ndmin=2)
        values = np.array(costs, dtype=np.float64, ndmin=1)
        if vectors.ndim != 2 or values.shape != (vectors.shape[0],):
            raise ValueError(f"points of shape {vectors.shape} and costs of shape {values.shape}")
        vectors.flags.writeable = values.flags.writeable = False
        return cls(vectors, values, stage)
