"""Parquet and Feather (Arrow), with pyarrow."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from fmident_readers.columns import titled


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a table, with units from the metadata ``unit`` of its fields."""
    import pyarrow.parquet

    return _frame(pyarrow.parquet.read_table(path))


def read_feather(path: Path) -> pd.DataFrame:
    """Return a table in Arrow's file format."""
    import pyarrow.feather

    return _frame(pyarrow.feather.read_table(path))


def _frame(table: object) -> pd.DataFrame:
    frame: pd.DataFrame = table.to_pandas()  # type: ignore[attr-defined]
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    units = {
        field.name: (field.metadata or {}).get(b"unit", b"").decode()
        for field in table.schema  # type: ignore[attr-defined]
    }
    frame.columns = pd.Index([titled(str(c), units.get(str(c))) for c in frame.columns])
    return frame
