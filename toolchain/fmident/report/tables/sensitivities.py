"""``sensitivities.csv``: which samples determine which parameter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fmident.report.tables.csv_file import Column, Columns

if TYPE_CHECKING:
    from fmident.estimation.result import OutputSensitivity


def sensitivities_table(sensitivities: Iterable[OutputSensitivity]) -> list[Columns]:
    """Return the table in parts, a row per sample: experiment, output, time, ``p:NAME`` for each.

    A run in stages has a column with the stage's name, too.
    """
    every = list(sensitivities)
    staged = any(s.stage for s in every)
    parts: list[Columns] = []
    for s in every:
        count = s.times.size
        columns: dict[str, Column] = {"stage": [s.stage] * count} if staged else {}
        columns["experiment"] = [s.experiment] * count
        columns["output"] = [s.name] * count
        columns["time"] = s.times
        for j, name in enumerate(s.parameters):
            columns[f"p:{name}"] = s.values[:, j]
        parts.append(columns)
    return parts
