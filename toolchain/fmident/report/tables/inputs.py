"""``inputs.csv``: what was applied in the experiments."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fmident.report.tables.csv_file import Column, Columns

if TYPE_CHECKING:
    from fmident.estimation.result import InputSignal


def inputs_table(inputs: Iterable[InputSignal]) -> list[Columns]:
    """Return the table in parts, a row per sample: experiment, time, ``u:NAME`` for each input."""
    parts: dict[str, dict[str, Column]] = {}
    for signal in inputs:
        columns = parts.setdefault(
            signal.experiment,
            {
                "experiment": [signal.experiment] * signal.times.size,
                "time": signal.times,
            },
        )
        columns[f"u:{signal.name}"] = signal.values
    return list(parts.values())
