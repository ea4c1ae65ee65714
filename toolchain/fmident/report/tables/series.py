"""``series.csv``: the estimates of online estimators over time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from fmident.report.tables.csv_file import Columns

if TYPE_CHECKING:
    from fmident.estimation.online.series import TimeSeriesEstimate

FLAGS = ("", "filling", "singular", "missing", "skipped")
"""Words for :class:`~fmident.estimation.online.series.Flag`, by number."""


def series_table(series: Iterable[TimeSeriesEstimate]) -> list[Columns]:
    """Return the table in parts, a row per sample: experiment, time, flag, values and errors."""
    parts: list[Columns] = []
    for s in series:
        columns: dict[str, Sequence[object]] = {
            "experiment": [s.experiment] * s.times.size,
            "time": s.times.tolist(),
            "flag": [FLAGS[f] for f in s.flags],
        }
        for j, name in enumerate(s.names):
            columns[name] = s.values[:, j].tolist()
            columns[f"{name} standard error"] = s.standard_errors[:, j].tolist()
        parts.append(columns)
    return parts
