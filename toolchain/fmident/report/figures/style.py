"""Colours of all figures, and ends and labels of their axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fmident.arrays import F64

MEASURED = "#b3c0d0"
INITIAL = "#d98a3d"
FITTED = "#0b5cad"
RESIDUAL = "#7d8b9c"
SPREAD = "#cfe0f2"
RESULT = "#d1242f"
THRESHOLD = "#b93434"
END = "#2b8a4b"
EXCLUDED = "#b4458f"
BARS = "#bccbdc"

SERIES = (
    "#0b5cad", "#d98a3d", "#2b8a4b", "#b93434", "#7b5ea7", "#8c6d4f", "#c95fa0", "#4d8f9e",
)  # fmt: skip
"""Of lines that are none of these."""


_SHARE = 0.06
"""Part of the range of an axis that is added beyond the values at each end."""

_LETTERS = 24


def padded(low: float, high: float, share: float = 0.05) -> tuple[float, float]:
    """Return both ends moved outwards by a fraction of their distance."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return 0.0, 1.0
    margin = share * (high - low) or share * abs(high) or 1.0
    return low - margin, high + margin


def log_range(values: F64) -> tuple[tuple[float, float], bool]:
    """Return the axis range for some values, and whether it is logarithmic (all positive)."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return (0.0, 1.0), False
    low, high = float(finite.min()), float(finite.max())
    if low <= 0.0:
        return padded(low, high, _SHARE), False
    factor = max((high / low) ** _SHARE, 1.05)
    return (low / factor, high * factor), True


def with_unit(name: str, unit: str | None) -> str:
    """Return an axis label: name and unit, or one of them."""
    return f"{name} ({unit})" if name and unit else name or unit or ""


def short_names(names: Sequence[str]) -> list[str]:
    """Return names shortened to 24 characters: without common prefix, then without middle.

    A name is, for example, ``"drive.gearbox.friction"``.
    """
    if all(len(name) <= _LETTERS for name in names):
        return list(names)
    shared = _shared([name.split(".") for name in names]) if len(names) > 1 else 0
    begin = "…" if shared else ""
    return [short_name(begin + ".".join(name.split(".")[shared:]), _LETTERS) for name in names]


def _shared(parts: Sequence[Sequence[str]]) -> int:
    """Return the number of leading parts that all names share, excluding their last one."""
    least = min(len(p) for p in parts) - 1
    return next((k for k in range(least) if len({p[k] for p in parts}) > 1), least)


def short_name(name: str, most: int) -> str:
    """Return a long name without its middle, since its end distinguishes it from others."""
    if len(name) <= most:
        return name
    begin = most // 3
    return f"{name[:begin]}…{name[len(name) - (most - begin - 1) :]}"
