"""Measured against simulated signals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.numbers import percent, plain
from fmident.report.sections.html import fragment, image_of
from fmident.report.terminal import unit_text

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult, OutputFit

_MOST_PLOTS, _MOST_EXCERPTS = 60, 12
_STRIPS, _FEWEST_STRIPS, _ALL_STRIPS = 900, 200, 9000
"""Resolution of one plot, and of all together, so that the file stays below 2 MB."""


@dataclass(frozen=True)
class _Plot:
    experiment: str
    name: str
    image: str
    rms_initial: str
    rms: str
    relative_error: str


def fits_section(result: EstimationResult) -> str:
    """Return one plot for each measured output."""
    from fmident.report.plots.fits import fit_plot

    drawn = result.fits[:_MOST_PLOTS]
    strips = int(np.clip(_ALL_STRIPS // max(len(drawn), 1), _FEWEST_STRIPS, _STRIPS))
    excerpt = len(drawn) <= _MOST_EXCERPTS
    return fragment(
        "fits",
        plots=[_plot(fit, fit_plot(fit, strips, excerpt=excerpt)) for fit in drawn],
        left_out=len(result.fits) - len(drawn),
        assumed_units=result.assumed_units,
    )


def _plot(fit: OutputFit, svg: bytes) -> _Plot:
    unit = f" {unit_text(fit.unit)}".rstrip()
    return _Plot(
        experiment=fit.experiment,
        name=fit.name,
        image=image_of(svg),
        rms_initial=plain(fit.rms_initial, 4) + unit,
        rms=plain(fit.rms, 4) + unit,
        relative_error=percent(fit.relative_error),
    )
