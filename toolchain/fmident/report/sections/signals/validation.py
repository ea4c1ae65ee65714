"""Experiments that were not fitted, beside those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.ranges import time_link
from fmident.report.charts.signals.fits import fit_chart
from fmident.report.sections.html import fragment
from fmident.report.terminal import VALIDATION_HEADER, residual_facts, validation_rows

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

_MOST_PLOTS, _SHARE = 24, 0.15


def validation_section(result: EstimationResult) -> str:
    """Return a table of all outputs and a plot of each that was not fitted; empty without any."""
    if result.validation is None:
        return ""
    drawn = result.validation.fits[:_MOST_PLOTS]
    return fragment(
        "validation",
        header=VALIDATION_HEADER,
        rows=validation_rows(result),
        facts=residual_facts(result),
        failures=result.validation.failures,
        plots=[
            (
                f.experiment,
                f.name,
                ", ".join(str(e) for e in f.excluded),
                fit_chart(f, link=time_link(f.experiment)).html(_SHARE / len(drawn)),
            )
            for f in drawn
        ],
        left_out=len(result.validation.fits) - len(drawn),
    )
