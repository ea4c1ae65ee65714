"""MATLAB files, with SciPy, including the results of Dymola and OpenModelica.

A result of Modelica tools holds the texts ``Aclass``, ``name`` and ``description``, the
matrix ``dataInfo`` (for each variable a table, a column and a sign) and the tables
``data_1`` (constants) and ``data_2`` (trajectories): Dymola User Manual, "Dymola result
file format".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.io import loadmat

from fmident.arrays import F64
from fmident.errors import DataError, Location
from fmident.units import unit_or_none
from fmident_readers.columns import is_numeric, nothing, of_equal_length, titled
from fmident_readers.recorders import read_hdf5

_HDF5 = b"\x89HDF\r\n\x1a\n"
_AT = (0, 512)
_UNIT = re.compile(r"\[([^\[\]|]*)(?:\|[^\[\]]*)?\]\s*$")
_TRAJECTORIES = 2
_ROUNDING = 16.0
"""Units in the last place by which two stamps of one instant may differ."""


def read_mat(path: Path) -> pd.DataFrame:
    """Return the signals of a file of any version."""
    with path.open("rb") as stream:
        head = stream.read(520)
    if any(head[at : at + 8] == _HDF5 for at in _AT):
        return read_hdf5(path)
    content = loadmat(str(path), chars_as_strings=False, struct_as_record=False)
    if {"Aclass", "name", "dataInfo", "data_2"} <= content.keys():
        return _trajectories(path, content)
    arrays: dict[str, F64] = {}
    for name, value in content.items():
        if not name.startswith("__"):
            _collect(name, value, arrays)
    return of_equal_length(path, arrays)


def _collect(name: str, value: Any, arrays: dict[str, F64]) -> None:
    """Add the numeric values of a variable, fields of a structure as ``name.field``."""
    if hasattr(value, "_fieldnames"):
        for field in value._fieldnames:
            _collect(f"{name}.{field}", getattr(value, field), arrays)
        return
    if not isinstance(value, np.ndarray):
        return
    if value.dtype == object and value.size == 1:
        _collect(name, value.reshape(-1)[0], arrays)
        return
    if is_numeric(value) and value.size > 1 and value.ndim == 2:
        numbers = value.astype(np.float64)
        arrays[name] = numbers.ravel() if 1 in value.shape else numbers


def _trajectories(path: Path, content: dict[str, Any]) -> pd.DataFrame:
    """Return the trajectories in a result of a Modelica tool, after the event at events."""
    transposed = "binTrans" in _texts(content["Aclass"])
    names = _texts(content["name"].T if transposed else content["name"])
    described = content.get("description")
    notes = _texts(described.T if transposed else described) if described is not None else []
    info = content["dataInfo"].T if transposed else content["dataInfo"]
    table = content["data_2"].T if transposed else content["data_2"]
    if len(info) != len(names) or table.ndim != 2 or table.shape[0] < 2:
        raise DataError(
            "the result of a Modelica tool is damaged: names and tables do not fit",
            location=Location(str(path)),
        )
    times = table[:, 0].astype(np.float64)
    # At events instants are repeated, up to rounding.
    rounding = _ROUNDING * float(np.spacing(np.abs(times).max()))
    last = np.append(np.abs(np.diff(times)) > rounding, True)
    columns: dict[str, F64] = {"time [s]": times[last]}
    for k, name in enumerate(names):
        source, place = int(info[k, 0]), int(info[k, 1])
        if source != _TRAJECTORIES or not name:
            continue
        unit = _unit(notes[k]) if k < len(notes) else None
        values = np.sign(place) * table[:, abs(place) - 1].astype(np.float64)
        columns[titled(name, unit)] = values[last]
    if len(columns) == 1:
        raise nothing(path)
    return pd.DataFrame(columns)


def _unit(description: str) -> str | None:
    """Return the unit at the end of a description, ``[rad]`` or ``[rad|deg]``, if any."""
    match = _UNIT.search(description)
    if match is None or match[1].strip().isdecimal():
        return None
    return match[1] if unit_or_none(match[1]) is not None else None


def _texts(characters: Any) -> list[str]:
    rows = np.atleast_2d(characters)
    return ["".join(str(c) for c in row).replace("\0", " ").strip() for row in rows]
