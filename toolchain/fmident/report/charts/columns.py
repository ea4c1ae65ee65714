"""Columns of numbers as JSON: short ones as they are, long ones as base64 of their bytes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from fmident.arrays import F64

_SHORT = 64
"""Of more samples, values are kept with seven digits: enough for any screen."""

_REGULAR = 1e-6
"""A time axis whose samples are off a regular one by less than this part of a step is regular."""


def column_json(values: F64, *, is_place: bool = False) -> Any:
    """Return one column.

    Parameters
    ----------
    values
        Shape (n,); NaN and infinity are missing.
    is_place
        They say where samples are, in ascending order: a regular grid is kept as such, another one
        with all digits.
    """
    values = np.asarray(values, dtype=np.float64)
    if values.size <= _SHORT:
        return [v if np.isfinite(v) else None for v in values.tolist()]
    if is_place:
        return regular_grid(values) or {"f8": _text(values, "<f8")}
    offset = _offset(values)
    with np.errstate(over="ignore"):  # what single precision cannot hold is far outside of any plot
        return {"f4": _text(values - offset, "<f4"), "offset": offset}


def regular_grid(values: F64) -> dict[str, float] | None:
    """Return start, step and count of places of equal distance; of others ``None``."""
    if values.size < 2:
        return None
    step = (values[-1] - values[0]) / (values.size - 1)
    regular = values[0] + step * np.arange(values.size)
    if not (step > 0.0 and np.all(np.abs(values - regular) <= _REGULAR * step)):
        return None
    return {"start": float(values[0]), "step": float(step), "count": int(values.size)}


def _offset(values: F64) -> float:
    """Return what to take off a signal that varies little about a large value."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0.0
    low, high = float(finite.min()), float(finite.max())
    middle = low + 0.5 * (high - low)
    return middle if abs(middle) > 10.0 * (high - low) else 0.0


def _text(values: F64, kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
