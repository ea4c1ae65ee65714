"""Measured against simulated signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fmident.report.charts.ranges import time_link
from fmident.report.charts.signals.fits import fit_chart
from fmident.report.numbers import percent, plain
from fmident.report.sections.html import fragment
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from markupsafe import Markup

    from fmident.estimation.result import EstimationResult, OutputFit

_MOST_PLOTS, _SHARE = 60, 0.4
"""Plots at most, and their share of the page's room for signals."""


@dataclass(frozen=True)
class _Plot:
    experiment: str
    name: str
    chart: Markup
    rms_initial: str
    rms: str
    relative_error: str
    excluded: str


def fits_section(result: EstimationResult) -> str:
    """Return one plot for each measured output."""
    drawn = result.fits[:_MOST_PLOTS]
    return fragment(
        "fits",
        plots=[_plot(fit, _SHARE / len(drawn)) for fit in drawn],
        left_out=len(result.fits) - len(drawn),
        assumed_units=result.assumed_units,
    )


def _plot(fit: OutputFit, share: float) -> _Plot:
    unit = f" {unit_text(fit.unit)}".rstrip()
    return _Plot(
        experiment=fit.experiment,
        name=fit.name,
        # The time axes of one experiment move together, whatever the output.
        chart=fit_chart(fit, link=time_link(fit.experiment)).html(share),
        rms_initial=plain(fit.rms_initial, 4) + unit,
        rms=plain(fit.rms, 4) + unit,
        relative_error=percent(fit.relative_error),
        excluded=", ".join(str(e) for e in fit.excluded),
    )
