"""Data files in formats other than CSV, registered like those of any other plugin.

Each module reads one format and imports its library when such a file is read.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.plugins import hookimpl

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fmident_read_data"]

_READERS = {
    ".parquet": ("pyarrow", "recorders", "read_parquet"),
    ".feather": ("pyarrow", "recorders", "read_feather"),
    ".arrow": ("pyarrow", "recorders", "read_feather"),
    ".mat": ("scipy", "mat", "read_mat"),
    ".h5": ("h5py", "recorders", "read_hdf5"),
    ".hdf5": ("h5py", "recorders", "read_hdf5"),
    ".xlsx": ("openpyxl", "excel", "read_excel"),
    ".xlsm": ("openpyxl", "excel", "read_excel"),
    ".mf4": ("asammdf", "recorders", "read_mdf"),
    ".mdf": ("asammdf", "recorders", "read_mdf"),
    ".tdms": ("nptdms", "recorders", "read_tdms"),
}
"""Suffix to the library that is needed, and the module and function that read."""


@hookimpl
def fmident_read_data(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
    """Read a file of one of these formats, recognised by its suffix."""
    entry = _READERS.get(path.suffix.lower())
    if entry is None:
        return None
    # Every command imports this module, and few read such a file.
    from fmident_readers.columns import library

    name, module, function = entry
    reader = getattr(import_module(f"fmident_readers.{module}"), function)
    with library(name, path):
        frame: pd.DataFrame = reader(path)
        return frame
