"""Outputs with their bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fmident.report.charts.signals.bands import band_chart
from fmident.report.numbers import percent
from fmident.report.profile_text import percent_text
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.prediction import OutputBand


def bands_section(bands: Sequence[OutputBand], level: float) -> str:
    """Return one picture for each output; empty without any."""
    if not bands:
        return ""
    pictures = []
    for band in bands:
        share = ""
        if band.samples:
            share = f"{percent(band.inside / band.samples)} of {band.samples} samples inside"
        words = {"name": band.name, "experiment": band.experiment, "inside": share}
        pictures.append((words, band_chart(band, percent_text(level)).html(1.0 / len(bands))))
    return fragment("bands", pictures=pictures)
