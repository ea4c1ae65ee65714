"""Sections on the search: iterations and starts, generations of a population, stages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.report.figures import search
from fmident.report.numbers import duration, plain
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from markupsafe import Markup

    from fmident.estimation.result import EstimationResult, StageResult


_MOST_PARAMETERS = 24
"""So many parameters are drawn."""


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
    for stage, generations, searched in search.by_stage(result):
        history = search.generations_chart(generations)
        pairs = search.population_chart(generations, searched)
        left_out = max(0, len(searched) - search.MOST_PARAMETERS)
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


def iterations_section(result: EstimationResult) -> str:
    """Return the path of each parameter; empty where there is one point only."""
    path = search.path_chart(result, _MOST_PARAMETERS)
    return "" if path is None else fragment("iterations", chart=path.html(), **_counts(result))


def starts_section(result: EstimationResult) -> str:
    """Return costs and parameters at the end of each start; empty without several starts."""
    starts = search.starts_chart(result, _MOST_PARAMETERS)
    return "" if starts is None else fragment("starts", chart=starts.html(), **_counts(result))


def _counts(result: EstimationResult) -> dict[str, int]:
    return {"left_out": max(0, sum(e.searched for e in result.estimates) - _MOST_PARAMETERS)}


def stages_section(result: EstimationResult) -> str:
    """Return the table of the stages; empty without any."""
    if not result.stages:
        return ""
    rows = [
        [
            s.name,
            s.estimator,
            s.cost,
            f"{plain(s.cost_initial)} → {plain(s.cost_final)}",
            s.status,
            str(s.simulations),
            duration(s.seconds),
            ", ".join(f"{n} = {plain(v)}" for n, v in s.parameters.items()),
            _held(s),
        ]
        for s in result.stages
    ]
    return fragment("stages", rows=rows)


def _held(stage: StageResult) -> str:
    """Return what of the values that a stage held its intervals count."""
    found = stage.uncertainty
    if found is None:
        return ""
    counted = f"{', '.join(found.counted)} (uncertainty counted)"
    known = f"{', '.join(found.taken_for_known)} (taken for exactly known)"
    parts = [(found.counted, counted), (found.taken_for_known, known)]
    return "; ".join(text for names, text in parts if names)
