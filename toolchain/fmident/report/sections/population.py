"""The generations of population methods; stages have costs of their own, so own plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.report.sections.html import fragment, image_of

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


@dataclass(frozen=True)
class _Population:
    stage: str
    history: str
    pairs: str
    left_out: int


def population_section(result: EstimationResult) -> str:
    """Return costs over the generations and all vectors; empty without generations."""
    if not result.generations:
        return ""
    from fmident.report.plots import population

    found = []
    for stage, generations, searched in population.by_stage(result):
        history = image_of(population.generations_plot(generations))
        pairs = image_of(population.pairs_plot(generations, searched))
        left_out = max(0, len(searched) - population.MOST_PARAMETERS)
        if history or pairs:
            found.append(_Population(stage, history, pairs, left_out))
    return fragment("population", populations=found) if found else ""
