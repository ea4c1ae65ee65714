"""Data files of other formats than CSV, registered like a stranger's plugin.

Each module reads one format and imports its library when such a file is read. Reading order:
``columns`` (what all of them return), then any of the others.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmident.plugins import hookimpl
from fmident_readers.columns import library
from fmident_readers.excel import read_excel
from fmident_readers.hdf5 import read_hdf5
from fmident_readers.mat import read_mat
from fmident_readers.mdf import read_mdf
from fmident_readers.parquet import read_feather, read_parquet
from fmident_readers.tdms import read_tdms

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fmident_read_data"]

_READERS: dict[str, tuple[str, Callable[[Path], pd.DataFrame]]] = {
    ".parquet": ("pyarrow", read_parquet),
    ".feather": ("pyarrow", read_feather),
    ".arrow": ("pyarrow", read_feather),
    ".mat": ("scipy", read_mat),
    ".h5": ("h5py", read_hdf5),
    ".hdf5": ("h5py", read_hdf5),
    ".xlsx": ("openpyxl", read_excel),
    ".xlsm": ("openpyxl", read_excel),
    ".mf4": ("asammdf", read_mdf),
    ".mdf": ("asammdf", read_mdf),
    ".tdms": ("nptdms", read_tdms),
}
"""Suffix to the library that is needed, and the reader."""


@hookimpl
def fmident_read_data(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
    """Read a file of one of these formats, known by its suffix."""
    found = _READERS.get(path.suffix.lower())
    if found is None:
        return None
    name, reader = found
    with library(name, path):
        return reader(path)
