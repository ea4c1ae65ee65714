"""What an estimate held at the start, since the data do not determine it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.numbers import plain
from fmident.report.sections.content import Section, Table, Text
from fmident.report.terminal import TRUNCATION_HEADER, truncation_rows

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult

_MOST_STARTS = 12
"""Parameters up to which the bias of each by each start is shown."""


def truncation_section(result: EstimationResult) -> str:
    """Return resolution and bias; empty where nothing was held."""
    found = result.truncation
    if found is None:
        return ""
    about = (
        "From data: how much of the value the data determine; the rest is where the parameter"
        " started. +- of start: error of the value if each start is wrong by one scale, which no"
        " interval counts. +- of noise: standard error if the start is right along what was held."
    )
    parts: list[Text | Table] = [Text(found.sentence), Text(about)]
    parts.append(Table(TRUNCATION_HEADER, truncation_rows(result)))
    held = [name for name in found.held if name not in found.untouched]
    if 0 < len(held) <= _MOST_STARTS:
        parts.append(Text("Change of each value if the start of one of them changes by 1:"))
        rows = [[name, *(plain(found.bias[name][of], 3) for of in held)] for name in held]
        parts.append(Table(["value", *(f"start of {name}" for name in held)], rows))
    return Section("What was held at the start", parts).html()
