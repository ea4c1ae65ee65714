"""The generations of population methods; stages have costs of their own, so own plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.report.charts.search import population
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from markupsafe import Markup

    from fmident.estimation.result import EstimationResult


@dataclass(frozen=True)
class _Population:
    stage: str
    history: Markup | str
    pairs: Markup | str
    colors: str
    left_out: int


def population_section(result: EstimationResult) -> str:
    """Return costs over the generations and all vectors; empty without generations."""
    if not result.generations:
        return ""
    found = []
    for stage, generations, searched in population.by_stage(result):
        history = population.generations_chart(generations)
        pairs = population.pairs_chart(generations, searched)
        left_out = max(0, len(searched) - population.MOST_PARAMETERS)
        if history or pairs:
            found.append(
                _Population(
                    stage,
                    history.html() if history else "",
                    pairs[0].html() if pairs else "",
                    pairs[1] if pairs else "",
                    left_out,
                )
            )
    return fragment("population", populations=found) if found else ""
