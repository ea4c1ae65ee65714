"""Types of arrays, the root mean square, and linear least squares."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F64: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]


def root_mean_square(values: npt.ArrayLike) -> float:
    """Return the root mean square; 0 for an empty array."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.sqrt(np.mean(array**2))) if array.size else 0.0


def scaled_least_squares(columns: F64, values: F64) -> F64:
    """Return the least-squares solution, (m, n) and (m,) -> (n,), whatever the columns' lengths."""
    norms = np.linalg.norm(columns, axis=0)
    safe = np.where(norms > 0.0, norms, 1.0)
    solution: F64 = np.linalg.lstsq(columns / safe, values, rcond=1e-8)[0] / safe
    return solution
