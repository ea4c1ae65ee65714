"""What the data determine, as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fmident.report.charts.uncertainty.identifiability import identifiability_chart
from fmident.report.sections.html import fragment
from fmident.statistics.fixing import collinearity_text

if TYPE_CHECKING:
    from fmident.estimation.result import EstimationResult
    from fmident.statistics.fixing import FixingStep


_MOST_SHIFTS = 4
_LEAST_SHIFT = 1e-3


def _fixing(number: int, step: FixingStep) -> dict[str, str]:
    """Return one step of the ranking as text."""
    moved = sorted(step.shifts.items(), key=lambda one: -abs(one[1]))
    shown = [f"{name} {10.0 * x:+.2g} %" for name, x in moved if abs(x) >= _LEAST_SHIFT]
    more = len(shown) - _MOST_SHIFTS
    return {
        "number": str(number),
        "name": step.name,
        "before": collinearity_text(step.before),
        "after": collinearity_text(step.after),
        "shifts": ", ".join(shown[:_MOST_SHIFTS]) + (f" and {more} others" if more > 0 else ""),
    }


def identifiability_section(result: EstimationResult) -> str:
    """Return singular values and weakest directions; empty with fewer than two parameters."""
    judged = result.identifiability
    chart = identifiability_chart(judged)
    if judged is None or chart is None:
        return ""
    return fragment(
        "identifiability",
        chart=chart.html(),
        verdict=judged.verdict,
        directions=bool(judged.weakest),
        stage=result.stages[-1].name if result.stages else "",
        fixing=[_fixing(number, step) for number, step in enumerate(judged.fixing, 1)],
    )
