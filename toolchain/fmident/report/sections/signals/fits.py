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

MOST_PLOTS = 60


@dataclass(frozen=True)
class _Plot:
    experiment: str
    name: str
    chart: Markup
    rms_initial: str
    rms: str
    relative_error: str
    excluded: str


def fits_section(result: EstimationResult, most: int | None = None) -> str:
    """Return one plot for each measured output.

    Parameters
    ----------
    result
        What the run found.
    most
        Samples of a line; by default all.
    """
    drawn = result.fits[:MOST_PLOTS]
    return fragment(
        "fits",
        plots=[_plot(fit, most) for fit in drawn],
        left_out=len(result.fits) - len(drawn),
        assumed_units=result.assumed_units,
    )


def _plot(fit: OutputFit, most: int | None) -> _Plot:
    unit = f" {unit_text(fit.unit)}".rstrip()
    return _Plot(
        experiment=fit.experiment,
        name=fit.name,
        # The time axes of one experiment move together, whatever the output.
        chart=fit_chart(fit, link=time_link(fit.experiment)).html(most),
        rms_initial=plain(fit.rms_initial, 4) + unit,
        rms=plain(fit.rms, 4) + unit,
        relative_error=percent(fit.relative_error),
        excluded=", ".join(str(e) for e in fit.excluded),
    )
