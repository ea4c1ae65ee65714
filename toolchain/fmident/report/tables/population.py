"""``population.csv``: every vector that a population method evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.report.tables.csv_file import Columns

if TYPE_CHECKING:
    from fmident.estimation.population import Generation


def population_table(generations: Sequence[Generation], names: Sequence[str]) -> list[Columns]:
    """Return the table in parts, one row per vector: generation, cost and parameters.

    Generation 0 is the initial point; infinite cost means that the simulation failed. A run in
    stages has a column with the stage's name, too, and counts the generations of each.

    Parameters
    ----------
    generations
        In order.
    names
        Of the free parameters.
    """
    parts: list[Columns] = []
    count: Counter[str] = Counter()
    staged = any(g.stage for g in generations)
    for generation in generations:
        columns: dict[str, Sequence[object]] = (
            {"stage": [generation.stage] * generation.costs.size} if staged else {}
        )
        columns["generation"] = [count[generation.stage]] * generation.costs.size
        columns["cost"] = generation.costs.tolist()
        count[generation.stage] += 1
        for j, name in enumerate(names):
            columns[f"p:{name}"] = generation.points[:, j].tolist()
        parts.append(columns)
    return parts
