"""``series.csv``: the estimates of online estimators over time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.online.series import TimeSeriesEstimate

FLAGS = ("", "filling", "singular", "missing", "skipped")
"""Words for :class:`~fmident.estimation.online.series.Flag`, by number."""


def series_table(series: Iterable[TimeSeriesEstimate]) -> pd.DataFrame:
    """Return one row per sample: experiment, time, flag, value and standard error of each."""
    import pandas as pd  # here, since it is slow to import and seldom needed

    parts = []
    for s in series:
        columns: dict[str, object] = {
            "experiment": s.experiment,
            "time": s.times,
            "flag": [FLAGS[f] for f in s.flags],
        }
        for j, name in enumerate(s.names):
            columns[name] = s.values[:, j]
            columns[f"{name} standard error"] = s.standard_errors[:, j]
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
