"""Intervals by profile likelihood, and the profiles themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.uncertainty.profiles import profile_chart
from fmident.report.charts.uncertainty.regions import region_chart
from fmident.report.profile_text import percent_text, region_reasons, texts_of, threshold_text
from fmident.report.sections.html import fragment

if TYPE_CHECKING:
    from fmident.profiles import ProfileResult


def intervals_section(result: ProfileResult) -> str:
    """Return the table of the intervals."""
    return fragment(
        "intervals",
        level=percent_text(result.level),
        threshold=threshold_text(result),
        rows=[texts_of(p) for p in result.profiles],
    )


def profiles_section(result: ProfileResult) -> str:
    """Return one picture for each profile."""
    pictures = [(texts_of(p), profile_chart(p, result).html()) for p in result.profiles]
    return fragment("profiles", level=percent_text(result.level), pictures=pictures)


def regions_section(result: ProfileResult) -> str:
    """Return one picture for each pair of parameters; empty without any."""
    if not result.regions:
        return ""
    pictures = [
        {
            "names": " and ".join(r.names),
            "verdict": r.verdict.text,
            "reasons": region_reasons(r),
            "chart": region_chart(r).html(),
        }
        for r in result.regions
    ]
    return fragment("regions", level=percent_text(result.level), pictures=pictures)
