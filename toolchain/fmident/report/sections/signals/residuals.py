"""Distribution of the residuals, and the cost over the iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.search.iterations import cost_chart
from fmident.report.charts.signals.histogram import histogram_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


def residuals_section(result: EstimationResult) -> str:
    """Return both plots; empty where there is neither."""
    histogram, history = histogram_chart(result.fits), cost_chart(result.history)
    if histogram is None and history is None:
        return ""
    return fragment(
        "residuals",
        histogram=histogram and histogram.html(),
        history=history and history.html(),
    )
