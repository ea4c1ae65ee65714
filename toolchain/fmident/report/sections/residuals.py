"""Distribution of the residuals, and the cost over the iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.sections.html import fragment, image_of

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult


def residuals_section(result: EstimationResult) -> str:
    """Return both plots; empty where there is neither."""
    from fmident.report.plots.fits import cost_history, residual_histogram

    histogram = image_of(residual_histogram(result.fits))
    history = image_of(cost_history(result.history))
    if not (histogram or history):
        return ""
    return fragment("residuals", histogram=histogram, history=history)
