"""Measured data: from files to :class:`Experiment`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident._lazy import lazy_face

if TYPE_CHECKING:
    from fmident.data.csv import CsvOptions
    from fmident.data.description import (
        ColumnDescription,
        DataDescription,
        TimeDescription,
        describe,
    )
    from fmident.data.experiment import Exclusion, Experiment, Measurement, NumberOrParameter
    from fmident.data.prepare import Decimation, butterworth, kept_samples
    from fmident.data.table import Reader, Table, csv_of, read_table, split_header
    from fmident.data.time import merge, time_axis, time_column

__all__ = [
    "ColumnDescription",
    "CsvOptions",
    "DataDescription",
    "Decimation",
    "Exclusion",
    "Experiment",
    "Measurement",
    "NumberOrParameter",
    "Reader",
    "Table",
    "TimeDescription",
    "butterworth",
    "csv_of",
    "describe",
    "kept_samples",
    "merge",
    "read_table",
    "split_header",
    "time_axis",
    "time_column",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "butterworth": "prepare",
        "ColumnDescription": "description",
        "csv_of": "table",
        "CsvOptions": "csv",
        "DataDescription": "description",
        "Decimation": "prepare",
        "describe": "description",
        "Exclusion": "experiment",
        "Experiment": "experiment",
        "kept_samples": "prepare",
        "Measurement": "experiment",
        "merge": "time",
        "NumberOrParameter": "experiment",
        "read_table": "table",
        "Reader": "table",
        "split_header": "table",
        "Table": "table",
        "time_axis": "time",
        "time_column": "time",
        "TimeDescription": "description",
    },
)
