"""Estimates over time, of online estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts.signals.series import series_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

MOST = 60


def series_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot for each experiment; empty where there is no series.

    Parameters
    ----------
    result
        What the run found.
    most
        Samples of a line; by default all.
    """
    if not result.series:
        return ""
    final = np.array([e.value for e in result.estimates if e.searched])
    plots = [(s.experiment, series_chart(s, final).html(most)) for s in result.series[:MOST]]
    return fragment("series", series=plots)
