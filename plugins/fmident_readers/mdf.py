"""Measurement data of ASAM MDF (``.mf4``), by asammdf."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident_readers.columns import Signal, on_one_axis, titled

if TYPE_CHECKING:
    import pandas as pd


def read_mdf(path: Path) -> pd.DataFrame:
    """Return all signals of numbers, each at its own instants."""
    import asammdf

    signals: list[Signal] = []
    with asammdf.MDF(path) as file:
        for found in file.iter_channels():
            values = np.asarray(found.samples)
            if values.dtype.kind not in "iufb" or values.ndim != 1 or not values.size:
                continue
            times = np.asarray(found.timestamps, dtype=np.float64)
            title = titled(found.name, found.unit)
            signals.append(Signal(title, times, values.astype(np.float64)))
    return on_one_axis(path, signals)
