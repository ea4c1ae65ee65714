"""``population.csv``: every vector that a population method evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from fmident.estimation.population import Generation


def population_table(generations: Sequence[Generation], names: Sequence[str]) -> pd.DataFrame:
    """Return one row per vector: generation, cost and parameters.

    Generation 0 is the initial point; infinite cost means that the simulation failed.

    Parameters
    ----------
    generations
        In order.
    names
        Of the free parameters.
    """
    parts = []
    for number, generation in enumerate(generations):
        columns: dict[str, object] = {
            "generation": np.full(generation.costs.size, number),
            "cost": generation.costs,
        }
        for j, name in enumerate(names):
            columns[f"p:{name}"] = generation.points[:, j]
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
