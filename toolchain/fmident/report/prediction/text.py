"""A prediction as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fmident.report.numbers import duration, percent, plain
from fmident.report.profile_text import percent_text
from fmident.report.terminal import narrow_table, unit_text

if TYPE_CHECKING:
    from fmident.prediction import OutputBand, Prediction

_SOURCES = {
    "linearised": "Uncertainty of the parameters: linearised, by the covariance of the result",
    "bootstrap": "Uncertainty of the parameters: replicates of a bootstrap",
    "posterior": "Uncertainty of the parameters: draws from the posterior distribution",
}


def table_text(result: Prediction, width: int) -> str:
    """Return the table of the outputs, at most so many columns wide."""
    header = ["experiment", "output", "mean +-", "new +-", "unit", "inside"]
    rows = [_row(b, "") for b in result.new] + [_row(b, " (fitted)") for b in result.fitted]
    return narrow_table(header, rows, ["<", "<", ">", ">", "<", ">"], width, ["unit"])


def headline(result: Prediction) -> str:
    """Return how many new samples lie inside of the band."""
    level = percent_text(result.level)
    if result.samples:
        share = percent(result.inside / result.samples)
        return f"{share} of {result.samples} new samples inside the {level} band."
    if result.new:
        return f"No sample of the new experiments was measured; {level} bands are predicted."
    samples = sum(b.samples for b in result.fitted)
    inside = sum(b.inside for b in result.fitted)
    if not samples:
        return f"{level} bands of the fitted outputs."
    return f"{percent(inside / samples)} of {samples} fitted samples inside the {level} band."


def grade_of(result: Prediction) -> str:
    """Return what the bands are worth: ``"good"``, ``"doubtful"`` or ``"bad"``.

    A share of new samples that is lower than the level by more than a third of what is outside of
    the band is doubtful; half of the level is bad.
    """
    if result.samples:
        share = result.inside / result.samples
        if share < 0.5 * result.level:
            return "bad"
        if share < result.level - (1.0 - result.level):
            return "doubtful"
    return "doubtful" if result.notes else "good"


def reasons(result: Prediction) -> list[str]:
    """Return where the uncertainty comes from, a sentence each."""
    drawn = f", {result.draws} of them simulated" if result.draws else ""
    found = [f"{_SOURCES[result.source]}{drawn}."]
    found.append("Noise of new samples: as in the residuals of the experiments that were fitted.")
    if result.samples and result.inside / result.samples < result.level - (1.0 - result.level):
        found.append(
            "Fewer new samples than that lie inside: the model lacks something that the new"
            " experiments show, or their noise is larger."
        )
    return found


def effort(result: Prediction) -> str:
    """Return what it took."""
    return f"{result.simulations} simulations, {duration(result.seconds)}"


def half_widths(band: OutputBand) -> tuple[str, str]:
    """Return the median half widths of the bands of the mean and of new samples, as text."""
    found = []
    for low, high in ((band.mean_low, band.mean_high), (band.new_low, band.new_high)):
        known = 0.5 * (high - low)
        known = known[np.isfinite(known)]
        found.append(plain(float(np.median(known)), 3) if known.size else "n/a")
    return found[0], found[1]


def share_text(band: OutputBand) -> str:
    """Return the share of samples inside of the band of new ones; empty without samples."""
    return percent(band.inside / band.samples) if band.samples else ""


def _row(band: OutputBand, after: str) -> list[str]:
    mean, new = half_widths(band)
    unit = unit_text(band.unit)
    return [f"{band.experiment}{after}", band.name, mean, new, unit, share_text(band)]


def rows_of(bands: Sequence[OutputBand], after: str) -> list[dict[str, str]]:
    """Return the rows of the table of the page."""
    keys = ("experiment", "output", "mean", "new", "unit", "inside")
    return [dict(zip(keys, _row(b, after), strict=True)) for b in bands]
