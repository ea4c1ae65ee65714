"""``draws.csv``: draws from the posterior distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.report.tables.csv_file import Columns

if TYPE_CHECKING:
    from fmident.estimation.result import DrawnPosterior


def draws_table(found: DrawnPosterior | None, names: Sequence[str]) -> list[Columns]:
    """Return the table in parts, one per chain: its number, the draw, density and parameters.

    Parameters
    ----------
    found
        With the draws, if there are any.
    names
        Of the searched parameters.
    """
    if found is None:
        return []
    parts: list[Columns] = []
    for chain, (values, densities) in enumerate(zip(found.values, found.densities, strict=True), 1):
        columns: dict[str, Sequence[object]] = {
            "chain": [chain] * len(values),
            "draw": list(range(1, len(values) + 1)),
            "log_density": densities.tolist(),
        }
        columns |= {f"p:{name}": values[:, j].tolist() for j, name in enumerate(names)}
        parts.append(columns)
    return parts
