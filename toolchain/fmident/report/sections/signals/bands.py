"""Outputs with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.report.charts.signals.bands import band_chart
from fmident.report.numbers import percent
from fmident.report.profile_text import percent_text
from fmident.report.sections.html import fragment
from fmident.report.sections.signals.room import band_over, lines_over, most_samples

if TYPE_CHECKING:
    from fmident.prediction import OutputBand


def bands_section(bands: Sequence[OutputBand], level: float) -> str:
    """Return one picture for each output; empty without any."""
    if not bands:
        return ""
    pictures = []
    # The prediction; dots and two bands in both panels.
    most = most_samples(
        one for b in bands for one in (lines_over(b.times, 1), band_over(b.times, 22))
    )
    for band in bands:
        share = ""
        if band.samples:
            share = f"{percent(band.inside / band.samples)} of {band.samples} samples inside"
        words = {"name": band.name, "experiment": band.experiment, "inside": share}
        pictures.append((words, band_chart(band, percent_text(level)).html(most)))
    return fragment("bands", pictures=pictures)
