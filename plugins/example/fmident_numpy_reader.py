"""Reads NumPy archives, one array per signal: the smallest reader of data files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pandas as pd

from fmident.errors import DataError, Location
from fmident.plugins import hookimpl


@hookimpl
def fmident_read_data(path: Path, spec: dict[str, Any]) -> pd.DataFrame | None:
    """Return one column per array of an ``.npz`` file; its name may end with a unit: ``f [N]``."""
    if path.suffix != ".npz":
        return None  # another plugin's, or CSV
    place = Location(str(path))
    try:
        with np.load(path) as archive:
            columns = {name: archive[name] for name in archive.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise DataError(f"this is not an archive of NumPy: {error}", location=place) from error
    shapes = {name: values.shape for name, values in columns.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise DataError(f"the arrays must be of one equal length, not {shapes}", location=place)
    return pd.DataFrame(columns)
