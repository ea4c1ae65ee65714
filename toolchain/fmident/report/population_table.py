"""``population.csv``: every vector that a population method evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from fmident.estimation.population import Generation


def population_table(generations: Sequence[Generation], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per vector: generation, cost and parameters.

    Generation 0 is the initial point; infinite cost means that the simulation failed. A run in
    stages has a column with the stage's name, too, and counts the generations of each.

    Parameters
    ----------
    generations
        In order.
    names
        Of the free parameters.
    """
    import pandas as pd  # here, since it is slow to import and seldom needed

    parts = []
    count: Counter[str] = Counter()
    staged = any(g.stage for g in generations)
    for generation in generations:
        columns: dict[str, object] = {"stage": generation.stage} if staged else {}
        columns["generation"] = np.full(generation.costs.size, count[generation.stage])
        columns["cost"] = generation.costs
        count[generation.stage] += 1
        for j, name in enumerate(names):
            columns[f"p:{name}"] = generation.points[:, j]
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
