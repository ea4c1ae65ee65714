"""CSV files of result folders, which somebody may have changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from fmident.errors import Code, EstimationError
from fmident.report.stored.json_file import BROKEN

if TYPE_CHECKING:
    import pandas as pd

    from fmident.arrays import F64

_Read = TypeVar("_Read")

_TEXTS = ("experiment", "output", "stage", "flag", "reason", "unit", "model", "fold", "parameter")
"""Columns that hold no numbers."""


def read_table(
    file: Path,
    convert: Callable[[pd.DataFrame], _Read],
    *,
    required: bool = False,
    command: str = "estimate",
) -> _Read | None:
    """Return what a table holds, ``None`` where there is none that must be there.

    Parameters
    ----------
    file
        The CSV file.
    convert
        Makes it of the table; whatever is wrong with that is one of `BROKEN`.
    required
        Whether the table must be there.
    command
        That writes it.

    Raises
    ------
    fmident.errors.EstimationError
        It is missing, or is none that fmident wrote.
    """
    import pandas as pd  # slow to import

    if not file.exists():
        if not required:
            return None
        raise EstimationError(
            f"there is no '{file}'",
            hint=f"pictures are made from the whole folder that 'fmident {command}' wrote",
            code=Code.UNKNOWN_NAME,
        )
    try:
        # A name such as "NA" or "1" is a name, not a gap or a number.
        table = pd.read_csv(file, keep_default_na=False, dtype=str)
        for column in [c for c in table.columns if c not in _TEXTS]:
            table[column] = table[column].replace("", "nan").astype(np.float64)
        return convert(table)
    except (OSError, *BROKEN, pd.errors.ParserError) as error:
        raise EstimationError(
            f"'{file}' is not a table of fmident: {error}",
            hint=f"give the folder as 'fmident {command}' wrote it",
            code=Code.UNUSABLE_FILE,
        ) from error


def whole_table(file: Path, convert: Callable[[pd.DataFrame], _Read], command: str) -> _Read:
    """Return what a table holds that must be there; see :func:`read_table`."""
    found = read_table(file, convert, required=True, command=command)
    assert found is not None
    return found


def column(table: pd.DataFrame, name: str) -> F64:
    """Return one column of numbers."""
    found: F64 = table[name].to_numpy(dtype=np.float64)
    return found


def points(table: pd.DataFrame, names: Sequence[str]) -> F64:
    """Return the columns of parameters, shape (rows, n)."""
    return np.column_stack([column(table, f"p:{n}") for n in names])
