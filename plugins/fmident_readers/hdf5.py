"""HDF5, and MATLAB files of version 7.3, which are HDF5, with h5py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fmident.arrays import F64
from fmident_readers.columns import of_equal_length, titled

if TYPE_CHECKING:
    import pandas as pd

_OF_MATLAB = ("#refs#", "#subsystem#")


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
            if item.dtype.kind not in "iufb" or item.attrs.get("MATLAB_class") == b"char":
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
