"""Measurement data in ASAM MDF (``.mf4``), with asammdf."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident_readers.columns import Signal, on_one_axis, titled

if TYPE_CHECKING:
    import pandas as pd


def read_mdf(path: Path) -> pd.DataFrame:
    """Return all numeric signals, each at its own instants."""
    import asammdf

    signals: list[Signal] = []
    with asammdf.MDF(path) as file:
        for channel in file.iter_channels():
            values = np.asarray(channel.samples)
            if values.dtype.kind not in "iufb" or values.ndim != 1 or not values.size:
                continue
            times = np.asarray(channel.timestamps, dtype=np.float64)
            title = titled(channel.name, channel.unit)
            signals.append(Signal(title, times, values.astype(np.float64)))
    return on_one_axis(path, signals)
