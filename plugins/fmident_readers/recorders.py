"""Tables and recordings of other tools: Parquet, Feather, HDF5, ASAM MDF, LabVIEW's TDMS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmident.arrays import F64
from fmident_readers.columns import (
    Signal,
    is_numeric,
    of_equal_length,
    on_one_axis,
    titled,
)

_OF_MATLAB = ("#refs#", "#subsystem#")


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a table, with units from the metadata ``unit`` of its fields."""
    import pyarrow.parquet

    return _frame(pyarrow.parquet.read_table(path))


def read_feather(path: Path) -> pd.DataFrame:
    """Return a table in Arrow's file format."""
    import pyarrow.feather

    return _frame(pyarrow.feather.read_table(path))


def _frame(table: Any) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    units = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}
    frame.columns = pd.Index([titled(str(c), units.get(str(c))) for c in frame.columns])
    return frame


def read_hdf5(path: Path) -> pd.DataFrame:
    """Return all numeric datasets, named by their paths with dots.

    Units are the attributes ``unit`` or ``units``. MATLAB stores matrices by columns: there
    a dataset of shape (m, n) is a matrix of n rows.
    """
    import h5py

    arrays: dict[str, F64] = {}
    with h5py.File(path, "r") as file:

        def visit(name: str, item: Any) -> None:
            if not isinstance(item, h5py.Dataset) or name.startswith(_OF_MATLAB):
                return
            if not is_numeric(item) or item.attrs.get("MATLAB_class") == b"char":
                return
            values = np.asarray(item, dtype=np.float64)
            if "MATLAB_class" in item.attrs:
                values = values.T
            if values.ndim == 2 and 1 in values.shape:
                values = values.ravel()
            if values.ndim in (1, 2) and values.size > 1:
                unit = item.attrs.get("unit", item.attrs.get("units"))
                text = unit.decode() if isinstance(unit, bytes) else unit
                arrays[titled(name.replace("/", "."), text)] = values

        file.visititems(visit)
    return of_equal_length(path, arrays)


def read_mdf(path: Path) -> pd.DataFrame:
    """Return all numeric signals, each at its own instants."""
    import asammdf

    with asammdf.MDF(path) as file:
        return on_one_axis(
            path,
            [
                Signal.of(titled(c.name, c.unit), c.timestamps, c.samples)
                for c in file.iter_channels()
                if is_numeric(c.samples) and c.samples.ndim == 1
            ],
        )


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
        if not is_numeric(values):
            continue
        name = channel.name
        if names.count(name) > 1:
            name = f"{channel.group_name}.{name}"
        title = titled(name, channel.properties.get("unit_string"))
        if "wf_increment" in channel.properties:
            signals.append(Signal.of(title, channel.time_track(), values))
        else:
            arrays[title] = values.astype(np.float64)
    return on_one_axis(path, signals) if signals else of_equal_length(path, arrays)
