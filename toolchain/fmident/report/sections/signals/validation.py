"""Experiments that were not fitted, beside those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.ranges import time_link
from fmident.report.charts.signals.fits import fit_chart
from fmident.report.sections.html import fragment
from fmident.report.terminal import VALIDATION_HEADER, residual_facts, validation_rows

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

MOST_PLOTS = 24


def validation_section(result: EstimationResult, most: int | None = None) -> str:
    """Return a table of all outputs and a plot of each that was not fitted; empty without any.

    Parameters
    ----------
    result
        What the run found.
    most
        Samples of a line; by default all.
    """
    if result.validation is None:
        return ""
    drawn = result.validation.fits[:MOST_PLOTS]
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
                fit_chart(f, link=time_link(f.experiment)).html(most),
            )
            for f in drawn
        ],
        left_out=len(result.validation.fits) - len(drawn),
    )
