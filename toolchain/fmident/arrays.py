"""The type of arrays of numbers, and their root mean square."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F64: TypeAlias = npt.NDArray[np.float64]


def root_mean_square(values: npt.ArrayLike) -> float:
    """Return the root mean square; 0 for an empty array."""
    array = np.asarray(values, dtype=np.float64)
    return float(np.sqrt(np.mean(array**2))) if array.size else 0.0
