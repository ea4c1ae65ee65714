"""What the data determine, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.uncertainty.identifiability import identifiability_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


def identifiability_section(result: EstimationResult) -> str:
    """Return singular values and weakest directions; empty with fewer than two parameters."""
    judged = result.identifiability
    chart = identifiability_chart(judged)
    if judged is None or chart is None:
        return ""
    return fragment(
        "identifiability",
        chart=chart.html(),
        verdict=judged.verdict,
        directions=bool(judged.weakest),
        stage=result.stages[-1].name if result.stages else "",
    )
