"""A problem file proposed for an FMU and measured data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fmident.api.problems import loaded, warn
from fmident.data import CsvOptions, Table, read_table, time_axis, time_column
from fmident.data.description import DataDescription, describe
from fmident.errors import Code, ProblemError, unknown_name
from fmident.fmu import read_description
from fmident.plugins import Host
from fmident.problem.proposal import DataFile, proposed_problem, searchable
from fmident.toml_file import Section, Source


def read_data(
    path: str | os.PathLike[str],
    keys: Mapping[str, Any] | None = None,
    *,
    host: Host | None = None,
) -> tuple[Table, DataDescription]:
    """Read a data file and describe it.

    Parameters
    ----------
    path
        CSV, or a format of a plugin.
    keys
        Keys of ``[[experiments]]`` that say how it is read, such as ``decimal``; ``time`` names the
        column of the time.
    host
        Plugins; loaded when not given.

    Raises
    ------
    fmident.errors.FmidentError
        The file cannot be read so, or a key is unknown.
    """
    spec = dict(keys or {})
    time = spec.pop("time", None)
    layout = Section(Source(Path("keys"), ""), ("experiments", 0), spec).read(CsvOptions)
    table = read_table(Path(path), spec, reader=loaded(host, warn).read_data, layout=layout)
    column = time_column(table, time)
    return table, describe(table, time_axis(table, column), column)


def propose(
    fmu: str | os.PathLike[str],
    *data: str | os.PathLike[str],
    parameters: Sequence[str] = (),
    folder: str | os.PathLike[str] = ".",
    host: Host | None = None,
) -> str:
    """Return a problem file to start from: columns as inputs and outputs, ranges to search.

    Columns are matched by names and units, and the bounds of a parameter are its limits or a
    decade to both sides of its value. What is uncertain is a comment.

    Parameters
    ----------
    fmu
        An FMU of any tool.
    data
        Data files, an experiment each.
    parameters
        Names of the searched ones; the others are comments.
    folder
        Where the file will be: its paths are relative to it.
    host
        Plugins; loaded when not given.

    Raises
    ------
    fmident.errors.FmidentError
        A file cannot be read, or the FMU has no such parameter.
    """
    description = read_description(fmu)
    known = [v.name for v in searchable(description)]
    for name in parameters:
        if name not in known:
            raise ProblemError(
                f"'{name}' is not a parameter of '{description.name}' that could be searched",
                code=Code.UNKNOWN_NAME,
                hint=unknown_name(name, known, "parameter")["hint"],
            )
    host = loaded(host, warn)
    files = []
    for path in data:
        table, described = read_data(path, host=host)
        columns = {c.name: c.unit for c in described.columns if c.problem is None}
        keys = (
            {} if described.time.column == time_column(table) else {"time": described.time.column}
        )
        files.append(DataFile(_relative(path, folder), columns, keys))
    return proposed_problem(description, _relative(fmu, folder), files, parameters)


def _relative(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # another drive of Windows
        return Path(path).absolute().as_posix()
