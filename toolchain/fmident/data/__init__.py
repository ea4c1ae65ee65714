"""Measured data: from files to :class:`Experiment`."""

from fmident.data.experiment import Decimation, Experiment, Measurement, NumberOrParameter
from fmident.data.filters import decimate, differentiate, kept_samples, low_pass
from fmident.data.table import Reader, Table, read_table, split_header
from fmident.data.time import merge, time_axis, time_column

__all__ = [
    "Decimation",
    "Experiment",
    "Measurement",
    "NumberOrParameter",
    "Reader",
    "Table",
    "decimate",
    "differentiate",
    "kept_samples",
    "low_pass",
    "merge",
    "read_table",
    "split_header",
    "time_axis",
    "time_column",
]
