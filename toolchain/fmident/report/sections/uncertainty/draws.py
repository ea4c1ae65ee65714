"""Draws from the posterior distribution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.uncertainty.draws import MOST_PARAMETERS, pairs_chart, trace_chart
from fmident.report.sections.html import fragment
from fmident.report.terminal import DRAW_HEADER, draw_rows

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


def draws_section(result: EstimationResult) -> str:
    """Return the table of draws, their course and each pair of parameters; empty without any."""
    if result.draws is None:
        return ""
    trace, pairs = trace_chart(result), pairs_chart(result)
    return fragment(
        "draws",
        header=DRAW_HEADER,
        rows=draw_rows(result),
        count=result.draws.count,
        trace=trace.html() if trace else "",
        pairs=pairs.html() if pairs else "",
        left_out=max(0, len(result.draws.parameters) - MOST_PARAMETERS),
    )
