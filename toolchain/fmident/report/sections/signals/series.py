"""Estimates over time, of online estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fmident.report.charts.signals.series import series_chart
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

_MOST, _SHARE = 60, 0.15


def series_section(result: EstimationResult) -> str:
    """Return one plot for each experiment; empty where there is no series."""
    if not result.series:
        return ""
    final = np.array([e.value for e in result.estimates if e.searched])
    drawn = result.series[:_MOST]
    share = _SHARE / len(drawn)
    plots = [(s.experiment, series_chart(s, final).html(share)) for s in drawn]
    return fragment("series", series=plots)
