"""Intervals by a bootstrap, and the replicates themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.bootstrap.text import texts_of
from fmident.report.charts.uncertainty.bootstrap import pairs_chart, replicates_chart
from fmident.report.profile_text import percent_text
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.resampling import BootstrapResult


def bootstrap_section(result: BootstrapResult) -> str:
    """Return the table of the intervals."""
    rows = [texts_of(p) for p in result.parameters]
    return fragment("bootstrap", level=percent_text(result.level), rows=rows)


def replicates_section(result: BootstrapResult) -> str:
    """Return the pictures of the replicates."""
    pairs = pairs_chart(result)
    return fragment(
        "replicates",
        histograms=replicates_chart(result).html(),
        pairs="" if pairs is None else pairs.html(),
    )
