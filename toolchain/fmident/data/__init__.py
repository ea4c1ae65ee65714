"""Measured data: from files to :class:`Experiment`."""

from fmident.data.csv import CsvOptions
from fmident.data.description import ColumnDescription, DataDescription, TimeDescription, describe
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
