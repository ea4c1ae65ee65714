"""Array types that every package shares."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

F64: TypeAlias = npt.NDArray[np.float64]
