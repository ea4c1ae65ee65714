"""The vectors that a population method evaluated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fmident.arrays import F64


@dataclass(frozen=True)
class Generation:
    """Vectors of one generation that were simulated, in their order.

    Parameters
    ----------
    points
        Free parameters in physical units, shape (k, n).
    costs
        Shape (k,); infinite where the simulation failed.
    stage
        Name of the stage; empty in a problem without stages.
    """

    points: F64
    costs: F64
    stage: str = ""

    @classmethod
    def of(cls, points: F64, costs: F64, stage: str = "") -> Generation:
        """Return a generation with copies that cannot be written to.

        Raises
        ------
        ValueError
            The shapes do not fit.
        """
        kept = np.array(points, dtype=np.float64, ndmin=2)
        values = np.array(costs, dtype=np.float64, ndmin=1)
        if kept.ndim != 2 or values.shape != (kept.shape[0],):
            raise ValueError(f"points of shape {kept.shape} and costs of shape {values.shape}")
        kept.flags.writeable = values.flags.writeable = False
        return cls(kept, values, stage)
