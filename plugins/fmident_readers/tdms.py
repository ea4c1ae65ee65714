"""LabVIEW's TDMS, with npTDMS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fmident.arrays import F64
from fmident_readers.columns import Signal, of_equal_length, on_one_axis, titled

if TYPE_CHECKING:
    import pandas as pd


def read_tdms(path: Path) -> pd.DataFrame:
    """Return all numeric channels.

    Waveforms have their own instants; other channels have those of the one called time.
    Names that occur in several groups become ``group.name``.
    """
    import nptdms

    signals: list[Signal] = []
    arrays: dict[str, F64] = {}
    file = nptdms.TdmsFile.read(path)
    channels = [c for group in file.groups() for c in group.channels()]
    names = [c.name for c in channels]
    for channel in channels:
        values = np.asarray(channel[:])
        if values.dtype.kind not in "iufb" or not values.size:
            continue
        name = channel.name
        if names.count(name) > 1:
            name = f"{channel.group_name}.{name}"
        title = titled(name, channel.properties.get("unit_string"))
        if "wf_increment" in channel.properties:
            times = np.asarray(channel.time_track(), dtype=np.float64)
            signals.append(Signal(title, times, values.astype(np.float64)))
        else:
            arrays[title] = values.astype(np.float64)
    return on_one_axis(path, signals) if signals else of_equal_length(path, arrays)
