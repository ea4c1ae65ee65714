"""The way of the parameters over the iterations, and where several starts ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.search.iterations import path_chart, starts_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

_MOST = 24
"""So many parameters are drawn."""


def iterations_section(result: EstimationResult) -> str:
    """Return the path of each parameter; empty where there is one point only."""
    path = path_chart(result, _MOST)
    return "" if path is None else fragment("iterations", chart=path.html(), **_counts(result))


def starts_section(result: EstimationResult) -> str:
    """Return costs and parameters at the end of each start; empty without several starts."""
    starts = starts_chart(result, _MOST)
    return "" if starts is None else fragment("starts", chart=starts.html(), **_counts(result))


def _counts(result: EstimationResult) -> dict[str, int]:
    return {"left_out": max(0, sum(e.searched for e in result.estimates) - _MOST)}
