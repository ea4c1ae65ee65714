"""A bootstrap, from its ``bootstrap.json`` and the tables beside it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from fmident._json import JsonTable
from fmident.arrays import F64
from fmident.report.stored.bands import FILE_NAME as BANDS
from fmident.report.stored.bands import NamedBand, read_bands
from fmident.report.stored.json_file import matrix, read_json, word, written_by
from fmident.report.stored.tables import column, whole_table
from fmident.resampling import BootstrapParameter, BootstrapResult, Method, Weights
from fmident.resampling.result import FailedReplicate, Status

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["BANDS", "FILE_NAME", "REPLICATES", "read_bootstrap"]

FILE_NAME, REPLICATES = "bootstrap.json", "replicates.csv"
_COMMAND = "bootstrap"
_OPEN, _UNKNOWN = (-math.inf, math.inf), (math.nan, math.nan)


def read_bootstrap(folder: Path) -> BootstrapResult:
    """Read the folder of a bootstrap.

    Parameters
    ----------
    folder
        With all of its tables.

    Raises
    ------
    fmident.errors.EstimationError
        A file is missing, broken or was not written by fmident.
    """

    def convert(content: JsonTable) -> BootstrapResult:
        return _result(content, folder)

    return read_json(folder / FILE_NAME, convert, "a bootstrap of fmident", written_by(_COMMAND))


def _result(content: JsonTable, folder: Path) -> BootstrapResult:
    stored = content.table("parameters")
    parameters = tuple(_parameter(n, stored.table(n)) for n in stored.keys())  # noqa: SIM118
    names, count = [p.name for p in parameters], content.count("replicates")
    weights = content.maybe_text("weights")
    lengths = content.table("block_lengths")

    def replicates(table: pd.DataFrame) -> tuple[F64, F64, F64]:
        if len(table) != count:
            raise ValueError(f"it has {len(table)} replicates, not {count} as the result")
        values = np.column_stack([column(table, n) for n in names])
        return column(table, "replicate"), values, column(table, "cost")

    numbers, values, costs = whole_table(folder / REPLICATES, replicates, _COMMAND)
    return BootstrapResult(
        status=cast(Status, word(content, "status", get_args(Status))),
        method=cast(Method, word(content, "method", get_args(Method))),
        reason=content.text("method_reason"),
        level=content.number("level"),
        wanted=content.count("replicates_wanted"),
        seed=content.count("seed"),
        parameters=parameters,
        covariance=matrix(content, "covariance", len(names)),
        correlation=matrix(content, "correlation", len(names)),
        numbers=numbers.astype(np.intp),
        replicates=values,
        costs=costs,
        failed=tuple(content.each("failed", _failed)),
        bands=read_bands(folder, content.each("bands", NamedBand.of), _COMMAND),
        weights=None
        if weights is None
        else cast(Weights, word(content, "weights", get_args(Weights))),
        block_lengths={name: lengths.count(name) for name in lengths.keys()},  # noqa: SIM118
        simulations=content.count("simulations"),
        jacobians=content.count("jacobians"),
        seconds=content.number("wall_time_s"),
        notes=content.texts("notes"),
        settings=content.table("settings").values(),
        modelled=content.flag("noise_modelled", False),
    )


def _failed(stored: JsonTable) -> FailedReplicate:
    return FailedReplicate(stored.count("replicate"), stored.text("reason"))


def _parameter(name: str, stored: JsonTable) -> BootstrapParameter:
    error = stored.number("standard_error")
    # JSON has one null for both: what the data do not determine is open, and has no error.
    missing = _OPEN if math.isnan(error) else _UNKNOWN
    linearised = _OPEN if stored.flag("linearised_known", math.isnan(error)) else _UNKNOWN
    counted = _OPEN if stored.flag("result_interval_known", math.isnan(error)) else _UNKNOWN
    return BootstrapParameter(
        name=name,
        unit=stored.maybe_text("unit"),
        value=stored.number("value"),
        bounds=stored.pair("bounds", _OPEN),
        standard_error=error,
        bias=stored.number("bias"),
        percentile=stored.pair("percentile", missing),
        bca=stored.pair("bca", missing),
        linearised_error=stored.number("linearised_standard_error"),
        linearised=stored.pair("linearised", linearised),
        acceleration=stored.number("acceleration"),
        result_error=stored.number("result_standard_error"),
        result_interval=stored.pair("result_interval_95", counted),
    )
